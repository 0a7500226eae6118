"""How the panels of a batch are divided into waves. Pure.

While one wave's messages move, the others are computed (`forward.Forward.run`).
"""

from __future__ import annotations

from hpc.io.errors import InputError
from hpc.io.ownership import owned_range

LEAST_WORK = 10_000_000
"""Weights times columns of a layer on a rank below which a second wave costs more than it hides:
below half a millisecond."""


DEEP_WORK = 1_000_000
"""Weights times columns of a layer that a wave takes at least where it runs deep."""


def deep_waves(panels: int, edges: float, width: int) -> int:
    """Return into how many waves a batch goes that runs wave by wave through many layers.

    A wave is a panel, so that its levels stay in the cache, or several where that is little work.

    Parameters
    ----------
    panels : int
        Of the batch.
    edges : float
        Weights of a layer, on average.
    width : int
        Columns of a panel.

    Returns
    -------
    int
        1..panels.
    """
    together = max(1, round(DEEP_WORK / max(1.0, edges * width)))
    return -(-panels // together)


def wave_spans(panels: int, waves: int) -> list[slice]:
    """Return the panels of each wave: contiguous, sizes differing by one at most, none empty.

    Parameters
    ----------
    panels : int
        Of the batch.
    waves : int
        Cut to 1..panels.

    Returns
    -------
    list of slice
        In order.
    """
    waves = max(1, min(waves, panels))
    return [slice(*owned_range(panels, waves, wave)) for wave in range(waves)]


def check_waves(waves: int | None) -> None:
    """Raise InputError unless `waves` is at least 1, or None: chosen here.

    Parameters
    ----------
    waves : int or None
        As asked for.

    Raises
    ------
    InputError : below 1.
    """
    if waves is not None and waves < 1:
        raise InputError(f"--waves {waves}: expected at least 1")


def wave_count(asked: int | None, ranks: int, edges: float, columns: int) -> int:
    """Return into how many waves a batch goes.

    Parameters
    ----------
    asked : int or None
        By the user; None: two where there are messages and work to hide them behind.
    ranks : int
        That the network is cut across.
    edges : float
        Weights of a layer on a rank, on average.
    columns : int
        Of the batch.

    Returns
    -------
    int
        Not limited by the panels, see `wave_spans`.
    """
    if asked is not None:
        return asked
    return 2 if ranks > 1 and edges * columns >= LEAST_WORK else 1
