"""Relaycut: deep networks cut across MPI ranks (engines: spdnn, pipebd)."""

__version__ = "0.1.0"
