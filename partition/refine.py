"""Better owners by local search: neurons change places where that lowers an objective. Pure.

Level by level, with the owners of the levels around it as they are. The balance
of the layer whose rows move stays within its limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hpc.io.machine import Numbers
from partition.hypergraph import Blocks, Longs
from partition.layer_state import ColumnSide, RowSide
from partition.objective import Objective
from partition.patterns import Patterns

MOST_COSTS = 1 << 18
"""Neurons of a level times parts, above which a level stays as it is: each round counts so many."""
MOST_PARTS = 128
"""Above, nothing is refined: each exchange counts the square."""
ROUNDS = 40
"""Rounds of a level."""
SHORT = (4.0, 2.0, 1.0)
"""What short messages are in each pass over all levels: first whole groups of words move."""

Limits = Callable[[Longs], Longs]


@dataclass(frozen=True)
class Exchange:
    """Moves that keep the balance together, and what they promise to change."""

    moves: tuple[tuple[int, int], ...]
    change: float


def refined(
    objective: Objective,
    patterns: Patterns,
    levels: list[Blocks],
    limits: Limits,
    parts: int,
    on_layer: Callable[[], None],
) -> list[Blocks]:
    """Return owners of every level at no higher cost.

    Parameters
    ----------
    objective : Objective
        What shall become less.
    patterns : Patterns
        The network's layers; two of them are needed at a time.
    levels : list of (n_k,) int32 arrays
        Owners of levels 0..L; left as they are.
    limits : callable
        From the weights of a layer's rows, (n_out,), to the most that each part may hold, (P,).
    parts : int
        P; above MOST_PARTS nothing is refined, nor a level of more than MOST_COSTS / P neurons.
    on_layer : callable
        Called len(SHORT) times for each layer.

    Returns
    -------
    list of (n_k,) int32 arrays
        Levels 0..L.
    """
    better = list(levels)
    for short in SHORT:
        for level in range(len(levels)):
            if parts <= MOST_PARTS and len(better[level]) * parts <= MOST_COSTS:
                search = LevelSearch(objective, patterns, better, level, limits, parts)
                better[level] = search.best(short)
            if level:
                on_layer()
    return better


class LevelSearch:
    """The owners of one level while they change.

    Parameters
    ----------
    objective : Objective
        What shall become less.
    patterns : Patterns
        The network's layers.
    levels : list of (n_k,) int32 arrays
        Owners of levels 0..L; left as they are.
    level : int
        Whose owners change, 0..L.
    limits : callable
        As `refined`'s. A part that is above its limit already may stay as heavy; level 0 has no
        weights, there it is the number of neurons that no part may have more of than one has now.
    parts : int
        P.
    """

    def __init__(
        self,
        objective: Objective,
        patterns: Patterns,
        levels: list[Blocks],
        level: int,
        limits: Limits,
        parts: int,
    ) -> None:
        self._objective = objective
        self.owners = levels[level].copy()
        self._sides: list[RowSide | ColumnSide] = []
        self._weights = np.ones(len(self.owners), np.int64)
        if level:
            below = patterns[level - 1]
            self._sides.append(RowSide(below, self.owners, levels[level - 1], parts))
            self._weights = np.diff(below.indptr).astype(np.int64)
        if level < len(patterns):
            above = patterns[level]
            self._sides.append(ColumnSide(above, levels[level + 1], self.owners, parts))
        self._loads = np.bincount(self.owners, self._weights, parts).astype(np.int64)
        most = limits(self._weights) if level else np.full(parts, self._loads.max())
        self._limits = np.maximum(most, self._loads)

    def best(self, short: float) -> Blocks:
        """Return the cheapest owners that are seen on the way to a low potential.

        Parameters
        ----------
        short : float
            Words of a message that counts for 63 % of one, above 0; see `partition.objective`.

        Returns
        -------
        (n_k,) int32 array
            A copy; at no higher cost than where the search stood.
        """
        best, cost = self.owners.copy(), self._cost()
        for _ in range(ROUNDS):
            if not self._round(short):
                break
            if (now := self._cost()) < cost:
                best, cost = self.owners.copy(), now
        return best

    def _cost(self) -> float:
        """Return the cost of the layers on either side of the level."""
        return sum(self._objective.cost(side.load()) for side in self._sides)

    def _round(self, short: float) -> bool:
        """Make the exchanges that lower the potential, a part in one of them; False if none."""
        changes = np.zeros((len(self.owners), len(self._loads)))
        for side in self._sides:
            marginals = self._objective.marginals(side.load(), short)
            changes += side.changes(self.owners, self._weights, marginals)
        potential = self._potential(short)
        improved = False
        for exchange in _disjoint(self._exchanges(changes), self.owners):
            before = [(neuron, int(self.owners[neuron])) for neuron, _ in exchange.moves]
            self._make(exchange.moves)
            if (now := self._potential(short)) < potential:
                potential, improved = now, True
            else:
                self._make(tuple(before))
        return improved

    def _potential(self, short: float) -> float:
        return sum(self._objective.potential(side.load(), short) for side in self._sides)

    def _make(self, moves: tuple[tuple[int, int], ...]) -> None:
        for neuron, part in moves:
            for side in self._sides:
                side.move(neuron, int(self.owners[neuron]), part)
            self._loads[self.owners[neuron]] -= self._weights[neuron]
            self._loads[part] += self._weights[neuron]
            self.owners[neuron] = part

    def _exchanges(self, changes: Numbers) -> list[Exchange]:
        """Return the best move or swap of each pair of parts, the most promising first."""
        best, change = _best_movers(changes, self.owners)
        weight = np.where(best >= 0, self._weights[best], 0)
        room = self._limits - self._loads
        alone = np.where(weight <= room[None, :], change, np.inf)
        gained = weight - weight.T  # by the second part, and lost by the first
        fits = (gained <= room[None, :]) & (room[:, None] >= gained.T)
        swap = np.where(fits, change + change.T, np.inf)
        found = [
            Exchange(((int(best[p, q]), q),), float(alone[p, q]))
            for p, q in np.argwhere(alone < 0).tolist()
        ]
        found += [
            Exchange(((int(best[p, q]), q), (int(best[q, p]), p)), float(swap[p, q]))
            for p, q in np.argwhere(np.triu(swap < 0, 1)).tolist()
        ]
        return sorted(found, key=lambda exchange: exchange.change)


def _best_movers(changes: Numbers, owners: Blocks) -> tuple[Longs, Numbers]:
    """Return for each pair of parts the neuron of the first that best moves to the second.

    Returns
    -------
    (P, P) the neuron, -1 where there is none, and what the move changes, inf there.
    """
    parts = changes.shape[1]
    best = np.full((parts, parts), -1)
    change = np.full((parts, parts), np.inf)
    for part in range(parts):
        own = np.flatnonzero(owners == part)
        if len(own):
            best[part] = own[changes[own].argmin(axis=0)]
            change[part] = changes[own].min(axis=0)
    np.fill_diagonal(change, np.inf)
    return best, change


def _disjoint(exchanges: list[Exchange], owners: Blocks) -> Iterator[Exchange]:
    """Yield exchanges of which no two touch the same part."""
    taken: set[int] = set()
    for exchange in exchanges:
        (neuron, target), *_ = exchange.moves
        touched = {int(owners[neuron]), target}
        if not touched & taken:
            taken |= touched
            yield exchange
