"""What options about devices may say. Imports no MPI, so that a shell can complete it."""

from __future__ import annotations

DEVICES = ("cpu", "cuda", "auto")
TRANSPORTS = ("host", "staged", "cuda-aware")
"""Ways in which buffers travel; `auto` is one of them."""
