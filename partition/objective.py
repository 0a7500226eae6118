"""What a plan shall have least of: words, messages or time. Pure.

Besides its cost, an objective has a *potential* for local search: it falls too
where a message gets shorter, which the number of messages does not see, and
where a rank gets faster that is not the slowest. There `short` is how many words a
message has that counts for 63 % of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hpc.io.machine import Costs, Numbers, Rates, work
from partition.hypergraph import Longs
from partition.load import Load

WORDS_PER_MESSAGE = 1 << 40
"""Outweighs all words of a network: of as few messages, the fewest words."""
TIE = 1e-3
"""Of a message: what a word adds to the potential of messages."""
NORM = 16
"""Power of the mean over ranks that stands for the slowest rank in a potential."""


@dataclass(frozen=True)
class Marginals:
    """What small changes add to a potential.

    more, less : (P, P) a word more, what a word less saves, by sender and receiver, 0 on the
    diagonal. edge, row : (P,) a weight, a row more.
    """

    more: Numbers
    less: Numbers
    edge: Numbers
    row: Numbers


class Objective(Protocol):
    """What a layer costs; the costs of layers add up."""

    def cost(self, load: Load) -> float:
        """Return the cost of a layer.

        Parameters
        ----------
        load : Load
            Of the layer.

        Returns
        -------
        float
            In a unit of the objective's own: words, messages or seconds.
        """
        ...

    def potential(self, load: Load, short: float) -> float:
        """Return what local search makes small.

        Parameters
        ----------
        load : Load
            Of the layer.
        short : float
            Words, above 0; see the module.

        Returns
        -------
        float
            In a unit of the objective's own.
        """
        ...

    def marginals(self, load: Load, short: float) -> Marginals:
        """Return what small changes add to the potential.

        Parameters
        ----------
        load : Load
            Of the layer.
        short : float
            Words, above 0; see the module.

        Returns
        -------
        Marginals
            In the unit of the potential.
        """
        ...


class Volume:
    """Words, each times the price of its way.

    Parameters
    ----------
    price : (P, P) float64 array or None
        By sender and receiver; None where all ways cost 1.
    """

    def __init__(self, price: Numbers | None = None) -> None:
        self._price = price

    def cost(self, load: Load) -> float:
        """Return the words of a layer, weighed.

        Parameters
        ----------
        load : Load
            Of the layer.

        Returns
        -------
        float
            Words; a whole number where all ways cost 1.
        """
        if self._price is None:
            return int(load.links.sum())
        return float((load.links * self._price).sum())

    def potential(self, load: Load, short: float) -> float:
        """Return the cost.

        Parameters
        ----------
        load : Load
            Of the layer.
        short : float
            Not looked at: the length of a message does not matter.

        Returns
        -------
        float
            Weighed words.
        """
        return self.cost(load)

    def marginals(self, load: Load, short: float) -> Marginals:
        """Return the prices.

        Parameters
        ----------
        load : Load
            Of the layer; only the number of parts is looked at.
        short : float
            Not looked at.

        Returns
        -------
        Marginals
            Weighed words; 0 for weights and rows.
        """
        parts = len(load.edges)
        price = np.ones((parts, parts)) if self._price is None else self._price
        away = _off_diagonal(price)
        return Marginals(away, away, np.zeros(parts), np.zeros(parts))


class Messages:
    """Messages; of as few, the fewest words."""

    def cost(self, load: Load) -> float:
        """Return the messages of a layer, in words of WORDS_PER_MESSAGE, and its words.

        Parameters
        ----------
        load : Load
            Of the layer.

        Returns
        -------
        float
            A whole number: messages · WORDS_PER_MESSAGE + words.
        """
        return int((load.links > 0).sum()) * WORDS_PER_MESSAGE + int(load.links.sum())

    def potential(self, load: Load, short: float) -> float:
        """Return the messages, short ones for less, and a little for each word.

        Parameters
        ----------
        load : Load
            Of the layer.
        short : float
            Words of a message that counts for 63 % of one, above 0.

        Returns
        -------
        float
            Messages.
        """
        return float(_shares(load.links, short).sum() + TIE * load.links.sum())

    def marginals(self, load: Load, short: float) -> Marginals:
        """Return what a word adds to its message's share.

        Parameters
        ----------
        load : Load
            Of the layer.
        short : float
            Words of a message that counts for 63 % of one, above 0.

        Returns
        -------
        Marginals
            Messages; 0 for weights and rows.
        """
        more, less = _share_steps(load.links, short)
        none = np.zeros(len(load.edges))
        return Marginals(_off_diagonal(more + TIE), _off_diagonal(less + TIE), none, none)


class Time:
    """Seconds of a batch, as `predict` counts them: a layer is done when its slowest rank is.

    Parameters
    ----------
    costs : Costs
        What work costs a rank, as `hpc machine` measured it.
    batch : int
        Inputs at a time, 1 or more.
    """

    def __init__(self, costs: Costs, batch: int) -> None:
        self._costs, self._batch = costs, batch
        self._known: dict[float, Rates] = {}

    def cost(self, load: Load) -> float:
        """Return the seconds of a layer.

        Parameters
        ----------
        load : Load
            Of the layer.

        Returns
        -------
        float
            Seconds of a batch on the slowest rank.
        """
        return float(self._seconds(load, (load.links > 0).sum(axis=1)).max())

    def potential(self, load: Load, short: float) -> float:
        """Return a mean over ranks that is close to the slowest; short messages for less.

        Parameters
        ----------
        load : Load
            Of the layer.
        short : float
            Words of a message that counts for 63 % of one, above 0.

        Returns
        -------
        float
            Seconds of a batch: the power mean over ranks with exponent NORM.
        """
        seconds = self._seconds(load, _shares(load.links, short).sum(axis=1))
        slowest = seconds.max()
        return float(slowest * np.mean((seconds / slowest) ** NORM) ** (1 / NORM))

    def marginals(self, load: Load, short: float) -> Marginals:
        """Return seconds, those of the slowest ranks for more.

        Parameters
        ----------
        load : Load
            Of the layer.
        short : float
            Words of a message that counts for 63 % of one, above 0.

        Returns
        -------
        Marginals
            Seconds of a batch.
        """
        seconds = self._seconds(load, _shares(load.links, short).sum(axis=1))
        powers = (seconds / seconds.max()) ** (NORM - 1)
        weight = powers / powers.sum()
        rates, batch = self._rates(load), self._batch
        more, less = (
            _off_diagonal(weight[:, None] * (rates.message_s * step + rates.word_s * batch))
            for step in _share_steps(load.links, short)
        )
        edge = weight * rates.edge_column_s * batch
        return Marginals(more, less, edge, weight * rates.row_column_s * batch)

    def _seconds(self, load: Load, messages: Numbers | Longs) -> Numbers:
        amounts = work(self._batch, load.edges, load.rows, messages, load.links.sum(axis=1))
        seconds: Numbers = self._rates(load).array() @ amounts
        return np.maximum(seconds, np.finfo(float).tiny)

    def _rates(self, load: Load) -> Rates:
        rows = float(load.rows.mean())
        if rows not in self._known:
            self._known[rows] = self._costs.at(rows, self._batch)
        return self._known[rows]


def _shares(links: Longs, short: float) -> Numbers:
    """Return how much of a message each counts for: 0 for none, nearly 1 for a long one."""
    shares: Numbers = 1 - np.exp(-links / short)
    return shares


def _share_steps(links: Longs, short: float) -> tuple[Numbers, Numbers]:
    """Return what a word more adds to each share, and a word less takes from it."""
    now = _shares(links, short)
    return _shares(links + 1, short) - now, now - _shares(np.maximum(links - 1, 0), short)


def _off_diagonal(values: Numbers) -> Numbers:
    return values * (1 - np.eye(len(values)))
