"""When to look for equal columns: often while it pays, ever more seldom while it does not."""

from __future__ import annotations

REST = 32
"""Batches that pass unseen at most."""


class Looks:
    """Decides at which levels to look, from whether looks have paid; the same on all ranks.

    On its way down, after two looks in vain, each next one is twice as far away. A batch whose
    looks were all in vain lets one batch pass unseen, the next such batch two, up to REST. The
    next one is only probed, half the way down: what is equal stays equal. Where that pays,
    looks are frequent again.

    Parameters
    ----------
    n_layers : int
        Of the network.
    """

    def __init__(self, n_layers: int) -> None:
        self._n_layers = n_layers
        self._in_vain, self._merged = 0, False
        self._rest, self._unseen = 0, 0

    def next_after(self, level: int) -> int:
        """Return the next level to look at, or the last.

        Parameters
        ----------
        level : int
            Where the batch is, 0-based.

        Returns
        -------
        int
            Above `level`; n_layers: no more looks.
        """
        probe = self._n_layers // 2
        if self._unseen:
            return self._n_layers
        if self._rest and not self._merged:
            return probe if level < probe else self._n_layers
        return min(level + (1 << max(0, self._in_vain - 1)), self._n_layers)

    def saw(self, merged: bool) -> None:
        """Note whether a look paid.

        Parameters
        ----------
        merged : bool
            Equal columns were found worth merging; the same on all ranks.
        """
        self._in_vain = 0 if merged else self._in_vain + 1
        self._merged |= merged

    def end_batch(self) -> None:
        """Begin the next batch."""
        if self._unseen:
            self._unseen -= 1
        elif self._merged or not self._in_vain:
            self._rest = 0
        else:
            self._rest = min(max(1, 2 * self._rest), REST)
            self._unseen = self._rest
        self._in_vain, self._merged = 0, False
