"""The Pipe-BD engine: blockwise distillation relayed across ranks."""
