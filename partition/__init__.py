"""The offline partition tool. No MPI, no torch."""
