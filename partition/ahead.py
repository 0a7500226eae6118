"""Look ahead: windows of layers that share owners, where that costs less than one at a time.

Beyond the paper, which cuts layer k knowing layer k-1 only. A first pass does
that; then the boundaries of windows are found by dynamic programming over the
levels. Any path can return to the first pass at the price of one layer (see
`rejoin`), so the plan never costs more than the first pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from partition.align import partners
from partition.asked import Asked
from partition.hypergraph import Blocks, Longs
from partition.inputs import input_owners
from partition.layer_cut import LayerCut, heaviest_excess, row_weights
from partition.load import layer_load
from partition.objective import Objective
from partition.patterns import Patterns
from partition.rejoin import renaming
from partition.window import slot_weights, slots_of, window_hypergraph

OnLayer = Callable[[], None]


@dataclass(frozen=True)
class Path:
    """A way of cutting the first layers.

    cost : of them all. owners : of the levels that the last step added, ascending.
    name : (P,), where the path is on the first pass, the names of its parts; else None.
    """

    cost: float
    owners: tuple[Blocks, ...]
    before: Path | None
    name: Blocks | None = None

    def levels(self) -> list[Blocks]:
        """Return the owners of every level from 0.

        Returns
        -------
        list of (n_k,) int32 arrays
            Levels 0 to the last one that the path has reached.
        """
        steps: list[tuple[Blocks, ...]] = []
        path: Path | None = self
        while path is not None:
            steps.append(path.owners)
            path = path.before
        return [level for step in reversed(steps) for level in step]


@dataclass(frozen=True)
class FirstPass:
    """One layer at a time.

    levels : L+1 owners. partner : per layer what `partners` returns.
    """

    levels: list[Blocks]
    partner: list[Longs | None]


def first_pass(cut: LayerCut, patterns: Patterns, on_layer: OnLayer) -> FirstPass:
    """Cut one layer after another, each knowing the one below.

    Paper: sparse-dnn-partitioning, the multi-phase model.

    Parameters
    ----------
    cut : LayerCut
        Cuts each layer, within its limits of balance.
    patterns : Patterns
        The network's layers; each is read once.
    on_layer : callable
        Called after each layer, L times.

    Returns
    -------
    FirstPass
        The owners of levels 0..L, (n_k,) int32, and which neurons a window would join.
    """
    levels: list[Blocks] = []
    partner: list[Longs | None] = []
    for k in range(len(patterns)):
        pattern = patterns[k]
        above = cut.rows(pattern, levels[-1] if levels else None)
        levels = levels or [input_owners(pattern, above, cut.parts)]
        levels.append(above)
        partner.append(partners(pattern, above, levels[-2]))
        on_layer()
    return FirstPass(levels, partner)


def searched(
    asked: Asked,
    cut: LayerCut,
    patterns: Patterns,
    first: FirstPass,
    objective: Objective,
    on_layer: OnLayer,
) -> list[Blocks]:
    """Return the owners of every level, with windows where they cost less than the first pass.

    Parameters
    ----------
    asked : Asked
        With `window` 1 the first pass is returned as it is.
    cut : LayerCut
        Cuts the windows; for as many parts as `asked.parts`.
    patterns : Patterns
        The network's layers; `asked.window` of them are needed at a time.
    first : FirstPass
        Of these layers.
    objective : Objective
        By which the ways are compared.
    on_layer : callable
        Called after each layer, L times, if there are to be windows.

    Returns
    -------
    list of (n_k,) int32 arrays
        Levels 0..L, never at a higher cost than the first pass.
    """
    if asked.window == 1:
        return first.levels
    return Search(asked, cut, patterns, first, objective, on_layer).levels()


class Search:
    """Dynamic programming over the levels: for each, the best path on and off the first pass.

    Parameters
    ----------
    asked : Asked
        Parts, their shares, and the widest window.
    cut : LayerCut
        Cuts the windows; for as many parts as `asked.parts`.
    patterns : Patterns
        The network's layers.
    first : FirstPass
        To which any path can return.
    objective : Objective
        What a path has least of.
    on_layer : callable
        Called after each layer, L times.
    """

    def __init__(
        self,
        asked: Asked,
        cut: LayerCut,
        patterns: Patterns,
        first: FirstPass,
        objective: Objective,
        on_layer: OnLayer,
    ) -> None:
        self._asked, self._cut, self._patterns, self._first = asked, cut, patterns, first
        self._objective, self._on_layer = objective, on_layer
        names = np.arange(asked.parts, dtype=np.int32)
        self._on: list[Path | None] = [Path(0, (first.levels[0],), None, names)]
        self._off: list[Path | None] = [None] * (len(patterns) + 1)

    def levels(self) -> list[Blocks]:
        """Return the owners of every level of the best path.

        Returns
        -------
        list of (n_k,) int32 arrays
            Levels 0..L. Can be asked for once.
        """
        for k in range(len(self._patterns)):
            self._on.append(self._onto_first_pass(k))
            start = self._better(k)
            for width in self._widths(k, start):
                self._offer(k + width, self._windowed(start, k, width))
            self._on_layer()
        return self._better(len(self._patterns)).levels()

    def _better(self, level: int) -> Path:
        paths = [path for path in (self._on[level], self._off[level]) if path is not None]
        return min(paths, key=lambda path: path.cost)

    def _offer(self, level: int, path: Path | None) -> None:
        best = self._off[level]
        if path is not None and (best is None or path.cost < best.cost):
            self._off[level] = path

    def _onto_first_pass(self, k: int) -> Path:
        """Return the best path through layer k whose last step is the first pass's."""
        first, on, off = self._first, self._on[k], self._off[k]
        candidates: list[Path] = []
        if on is not None and on.name is not None:
            above = on.name[first.levels[k + 1]]
            cost = on.cost + self._cost(k, first.levels[k + 1], first.levels[k])
            candidates.append(Path(cost, (above,), on, on.name))
        if off is not None:
            candidates.append(self._rejoined(off, k))
        return min(candidates, key=lambda path: path.cost)

    def _rejoined(self, path: Path, k: int) -> Path:
        pattern, below = self._patterns[k], path.owners[-1]
        above = self._first.levels[k + 1]
        name = renaming(pattern, above, below, self._asked.shares)
        cost = path.cost + self._cost(k, name[above], below)
        return Path(cost, (name[above],), path, name)

    def _widths(self, k: int, start: Path) -> Iterator[int]:
        """Yield the widths of windows from layer k that are worth a try.

        A single layer is cut anew only after a window, where the way back is not the only one.
        """
        if start.name is None and len(start.owners) > 1:
            yield 1
        most = min(self._asked.window, len(self._patterns) - k)
        for width in range(2, most + 1):
            if self._first.partner[k + width - 1] is None:
                return
            yield width

    def _windowed(self, start: Path, k: int, width: int) -> Path | None:
        """Return the path that goes on with a window; None where a layer gets too uneven."""
        below = start.owners[-1] if k else None
        owners = self._owners(k, width, below)
        levels = [input_owners(self._patterns[k], owners[0], self._asked.parts)] if not k else []
        levels += owners
        inputs = ([below] if below is not None else []) + levels
        cost = start.cost
        for at in range(width):
            pattern, above = self._patterns[k + at], inputs[at + 1]
            excess = heaviest_excess(pattern, above, self._cut.limits(row_weights(pattern)))
            if excess > self._first_excess(k + at):
                return None
            cost += self._cost(k + at, above, inputs[at])
        return Path(cost, tuple(levels), start if k else None)

    def _cost(self, k: int, above: Blocks, below: Blocks) -> float:
        return self._objective.cost(layer_load(self._patterns[k], above, below, self._asked.parts))

    def _owners(self, k: int, width: int, below: Blocks | None) -> list[Blocks]:
        """Cut a window and mend each of its layers."""
        patterns = [self._patterns[k + at] for at in range(width)]
        if width == 1:
            return [self._cut.rows(patterns[0], below)]
        known = [self._first.partner[k + at] for at in range(1, width)]
        slots = slots_of(patterns[0].shape[0], [p for p in known if p is not None])
        limits = self._cut.limits(slot_weights(patterns, slots))
        window = window_hypergraph(patterns, slots, below, limits)
        owners = window.expand(self._cut.solve(window.hypergraph, limits))
        for at, pattern in enumerate(patterns):
            owners[at] = self._cut.mended(pattern, owners[at], below)
            below = owners[at]
        return owners

    def _first_excess(self, k: int) -> int:
        pattern = self._patterns[k]
        return heaviest_excess(
            pattern, self._first.levels[k + 1], self._cut.limits(row_weights(pattern))
        )
