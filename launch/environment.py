"""What a rank finds in its environment: threads pinned, ranks that yield, root allowed. Pure."""

from __future__ import annotations

PINNED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
YIELDING = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
"""MPICH: a rank that waits gives its core to others."""
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""Open MPI refuses to run as root without both."""


def rank_environment(threads: int, crowded: bool, root: bool) -> dict[str, str]:
    """Return the variables of a rank.

    Parameters
    ----------
    threads : int
        Of a rank: all variables of PINNED get it.
    crowded : bool
        Whether there are more threads than cores.
    root : bool
        Whether it runs as root.

    Returns
    -------
    dict of str to str
        What is to be added to the environment.
    """
    found = dict.fromkeys(PINNED, str(threads))
    if crowded:
        found |= YIELDING
    return found | AS_ROOT if root else found
