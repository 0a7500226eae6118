"""The methods of assigning neurons to parts: hypergraph, random, block, behind one interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from hpc.io.ownership import block_owners
from partition.backends import Backend, CutProblem, Refiner, best_cut
from partition.balance import part_limit, spread
from partition.hypergraph import Blocks, layer_hypergraph
from partition.inputs import fill_up, input_owners
from partition.kahypar_cut import KaHyPar
from partition.mtkahypar_refine import MtKaHyPar
from partition.reduce import reduce_hypergraph
from partition.repair import repair


@dataclass(frozen=True)
class Asked:
    """What the user wants: parts P, a method by name, imbalance ε, seed."""

    parts: int
    method: str
    epsilon: float = 0.01
    seed: int = 0


class Method(Protocol):
    """Assigns the neurons of one level after another; a row's owner owns its neuron."""

    def first(self, pattern: sparse.csr_array) -> tuple[Blocks, Blocks]:
        """Return the owners of levels 0 and 1 from the first layer, (n_0,) and (n_1,) int32."""
        ...

    def next(self, level: int, pattern: sparse.csr_array, owners_in: Blocks) -> Blocks:
        """Return the owners of `level`, (n_out,) int32, given those of the level below."""
        ...


class HypergraphCut:
    """The paper's multi-phase model: each layer cut at least volume, knowing the one below."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._backend: Backend = KaHyPar()
        self._refiner: Refiner = MtKaHyPar()

    def first(self, pattern: sparse.csr_array) -> tuple[Blocks, Blocks]:
        """See `Method.first`."""
        owners_out = self._rows(pattern, None)
        return input_owners(pattern, owners_out, self._asked.parts), owners_out

    def next(self, level: int, pattern: sparse.csr_array, owners_in: Blocks) -> Blocks:
        """See `Method.next`."""
        return self._rows(pattern, owners_in)

    def _rows(self, pattern: sparse.csr_array, owners_in: Blocks | None) -> Blocks:
        """Cut the rows that have weights; the empty ones even out how many each part has."""
        owners = np.full(pattern.shape[0], -1, np.int32)
        filled = np.flatnonzero(np.diff(pattern.indptr))
        if len(filled):
            some = pattern if len(filled) == len(owners) else pattern[filled]
            owners[filled] = self._cut(some, owners_in)
        return fill_up(owners, self._asked.parts)

    def _cut(self, pattern: sparse.csr_array, owners_in: Blocks | None) -> Blocks:
        asked = self._asked
        weights = np.diff(pattern.indptr).astype(np.int64)
        limit = part_limit(weights, asked.parts, asked.epsilon)
        full = layer_hypergraph(pattern, owners_in, asked.parts)
        reduced = reduce_hypergraph(full, asked.parts, limit)
        if asked.parts == 1 or not reduced.hypergraph.n_nets:
            return spread(weights, asked.parts)
        problem = CutProblem(reduced.hypergraph, asked.parts, limit, asked.seed)
        blocks = reduced.expand(best_cut(problem, self._backend, self._refiner))
        return repair(full, blocks, asked.parts, limit)[: len(weights)]


class ByNumber:
    """A method that looks at neurons' numbers only.

    assign : (level, number of neurons) → owners.
    """

    def __init__(self, assign: Callable[[int, int], Blocks]) -> None:
        self._assign = assign

    def first(self, pattern: sparse.csr_array) -> tuple[Blocks, Blocks]:
        """See `Method.first`."""
        n_out, n_in = pattern.shape
        return self._assign(0, n_in), self._assign(1, n_out)

    def next(self, level: int, pattern: sparse.csr_array, owners_in: Blocks) -> Blocks:
        """See `Method.next`."""
        return self._assign(level, pattern.shape[0])


def random_cut(asked: Asked) -> Method:
    """Return the paper's baseline: neurons dealt out at random, equally many to each part."""

    def assign(level: int, n: int) -> Blocks:
        rng = np.random.default_rng([asked.seed, level])
        return rng.permutation(block_owners(n, asked.parts))

    return ByNumber(assign)


def block_cut(asked: Asked) -> Method:
    """Return contiguous blocks, which is also what runs without a plan."""
    return ByNumber(lambda level, n: block_owners(n, asked.parts))


METHODS: dict[str, Callable[[Asked], Method]] = {
    "hypergraph": HypergraphCut,
    "random": random_cut,
    "block": block_cut,
}
