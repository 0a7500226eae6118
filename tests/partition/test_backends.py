"""Partitioners are not trusted: known weaknesses, and answers that are wrong."""

import numpy as np
import pytest
from scipy import sparse

from datasets.challenge_network import challenge_layers
from hpc.io.errors import InputError
from partition import backends
from partition.asked import Asked
from partition.backends import CutProblem, Refined, checked
from partition.balance import equal_shares, part_limits
from partition.hypergraph import FREE, Hypergraph, connectivity_cut, layer_hypergraph, part_loads
from partition.kahypar_cut import KaHyPar
from partition.layer_cut import LayerCut
from partition.mtkahypar_cut import MtKaHyPar
from partition.reduce import reduce_hypergraph

pytest.importorskip("kahypar")


def stars(groups):
    """Return the reference's small case: a fixed hub per part, two nets {hub, leaf} each."""
    hubs = 3 * np.arange(groups)
    pins = np.stack([[hub, hub + 1, hub, hub + 2] for hub in hubs]).ravel().astype(np.int32)
    fixed = np.full(3 * groups, FREE, np.int32)
    fixed[hubs] = np.arange(groups)
    return Hypergraph(
        2 * np.arange(2 * groups + 1),
        pins,
        np.where(fixed == FREE, 1, 0),
        np.ones(2 * groups, np.int64),
        fixed,
    )


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_kahypars_weak_case_is_cut_at_no_cost(groups, seed):
    problem = CutProblem(stars(groups), np.full(groups, 2), seed)
    blocks = Refined(KaHyPar(), MtKaHyPar(), 100).cut(problem)
    assert connectivity_cut(problem.hypergraph, blocks) == 0
    assert part_loads(problem.hypergraph, blocks, groups).tolist() == [2] * groups


@pytest.mark.parametrize("seed", range(4))
def test_the_same_case_as_a_layer_is_cut_at_no_cost(seed):
    """Four rows; rows 0, 1 need column 0, which part 0 owns, rows 2, 3 column 1 of part 1."""
    pattern = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1]]))
    cut = LayerCut(Asked(2, "hypergraph", 0.0, seed))
    assert cut.rows(pattern, np.array([0, 1], np.int32)).tolist() == [0, 0, 1, 1]


def challenge_problem(parts, seed=3):
    pattern = list(challenge_layers(1024, 7, np.float32))[6].weight
    owners = np.repeat(np.arange(parts, dtype=np.int32), 1024 // parts)
    full = layer_hypergraph(pattern, owners, parts)
    weights = np.diff(pattern.indptr).astype(np.int64)
    limits = part_limits(weights, equal_shares(parts), 0.01)
    return CutProblem(reduce_hypergraph(full, limits).hypergraph, limits, seed)


def test_both_are_deterministic_balanced_and_silent(capfd):
    problem = challenge_problem(8)
    first = KaHyPar().cut(problem)
    refined = MtKaHyPar().refine(problem, first)
    assert first.tolist() == KaHyPar().cut(problem).tolist()
    assert refined.tolist() == MtKaHyPar().refine(problem, first).tolist()
    assert (part_loads(problem.hypergraph, first, 8) <= problem.limits).all()
    assert capfd.readouterr() == ("", "")


def test_a_vertex_heavier_than_a_part_may_be_is_no_noise(capfd):
    weights = np.array([100, 1, 1, 1, 1, 1])
    graph = Hypergraph(
        np.array([0, 3, 6]),
        np.arange(6, dtype=np.int32),
        weights,
        np.ones(2, np.int64),
        np.full(6, FREE, np.int32),
    )
    blocks = Refined(KaHyPar(), MtKaHyPar(), 100).cut(CutProblem(graph, np.full(3, 100), 0))
    assert part_loads(graph, blocks, 3).max() <= 100
    assert capfd.readouterr() == ("", "")


class Answering:
    """A partitioner that gives the same answer to everything."""

    def __init__(self, blocks):
        self.blocks = np.asarray(blocks, np.int32)

    def cut(self, problem):
        return self.blocks

    def refine(self, problem, blocks):
        return self.blocks


BALANCED, UNEVEN = [0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (BALANCED, UNEVEN, [0, 1, 0, 1, 0, 1]),
        (UNEVEN, BALANCED, [0, 1, 0, 1, 0, 1]),
        (BALANCED, [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]),
        ([1, 0, 0, 0, 1, 1], UNEVEN, [0, 0, 0, 1, 1, 1]),  # fixed vertices are put back
    ],
)
def test_balance_counts_first_and_then_words(first, second, kept):
    problem = CutProblem(stars(2), np.full(2, 2), 0)
    assert Refined(Answering(first), Answering(second), 100).cut(problem).tolist() == kept


def test_large_hypergraphs_are_not_refined():
    problem = CutProblem(stars(2), np.full(2, 2), 0)
    better = Answering([0, 0, 0, 1, 1, 1])
    assert Refined(Answering(BALANCED), better, 5).cut(problem).tolist() == BALANCED


@pytest.mark.parametrize("blocks", [[0, 1, 0, 1, 0, 2], [0, 1, 0, 1, 0, -1], [0, 1]])
def test_a_vertex_without_a_part_is_not_let_through(blocks):
    with pytest.raises(RuntimeError, match=r"outside parts 0\.\.1"):
        checked(CutProblem(stars(2), np.full(2, 2), 0), np.array(blocks, np.int32))


def test_an_uneven_answer_is_repaired(monkeypatch):
    monkeypatch.setattr(
        Refined,
        "cut",
        lambda self, problem: np.where(
            problem.hypergraph.fixed == FREE, 0, problem.hypergraph.fixed
        ).astype(np.int32),
    )
    pattern = next(iter(challenge_layers(1024, 1, np.float32))).weight
    owners = np.repeat(np.arange(8, dtype=np.int32), 128)
    found = LayerCut(Asked(8)).rows(pattern, owners)
    assert np.bincount(found, minlength=8).max() <= 129


def test_a_missing_library_names_the_extra(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(backends.importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"pip install 'relaycut\[partition\]'"):
        KaHyPar()


@pytest.mark.parametrize("preset", ["default", "quality", "highest-quality", "large-k"])
def test_every_preset_gives_a_balanced_cut_with_fixed_vertices_in_place(preset):
    problem = challenge_problem(8)
    graph = problem.hypergraph
    blocks = checked(problem, MtKaHyPar(preset).cut(problem))
    fixed = graph.fixed != FREE
    assert blocks[fixed].tolist() == graph.fixed[fixed].tolist()
    assert (part_loads(graph, blocks, 8) <= problem.limits).all()
    random = np.random.default_rng(0).integers(0, 8, len(blocks)).astype(np.int32)
    random[fixed] = graph.fixed[fixed]
    assert connectivity_cut(graph, blocks) < 0.65 * connectivity_cut(graph, random)


@pytest.mark.parametrize("backend", [KaHyPar, MtKaHyPar])
def test_every_part_may_have_a_limit_of_its_own(backend):
    problem = challenge_problem(4)
    weights = np.array([1, 1, 2, 4])
    limits = (1.05 * problem.hypergraph.vertex_weight.sum() * weights / 8).astype(np.int64)
    uneven = CutProblem(problem.hypergraph, limits, 0)
    loads = part_loads(problem.hypergraph, checked(uneven, backend().cut(uneven)), 4)
    assert (loads <= 1.1 * limits).all() and loads[3] > 3 * loads[0]
