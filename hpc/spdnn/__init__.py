"""The sparse engine: SpFF and SpBP on row-wise cut sparse networks."""
