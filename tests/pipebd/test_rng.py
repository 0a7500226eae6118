"""Draws depend on their whole key and on nothing else."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch

from hpc.pipebd.rng import Draw, numpy_generator, seeded

KEYS = [
    (Draw.PATH, 0, 1, 2, 3),
    (Draw.PATH, 1, 1, 2, 3),
    (Draw.PATH, 0, 2, 1, 3),
    (Draw.PATH, 0, 1, 2, 4),
    (Draw.ARCHITECTURE_PATH, 0, 1, 2, 3),
    (Draw.PATH, 0, 1, 2),
]


def torch_draw(key):
    with seeded(*key):
        return torch.rand(4)


def test_every_part_of_a_key_matters():
    numpy_draws = [numpy_generator(*key).integers(0, 2**62, 4) for key in KEYS]
    torch_draws = [torch_draw(key) for key in KEYS]
    for a, b in combinations(range(len(KEYS)), 2):
        assert not np.array_equal(numpy_draws[a], numpy_draws[b]), (KEYS[a], KEYS[b])
        assert not torch.equal(torch_draws[a], torch_draws[b]), (KEYS[a], KEYS[b])


def test_equal_keys_give_equal_draws_whatever_was_drawn_before():
    expected = torch_draw(KEYS[0])
    torch.rand(100)
    np.random.default_rng(0).random(7)
    assert torch.equal(torch_draw(KEYS[0]), expected)


def test_draws_are_those_of_this_version_of_the_format():
    """A new torch or numpy must not silently change what a seed means."""
    assert numpy_generator(Draw.SHUFFLE, 5, 1).permutation(6).tolist() == [3, 5, 4, 2, 0, 1]


def test_seeded_layers_and_the_global_generator_afterwards():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    with seeded(Draw.STUDENT_WEIGHTS, 0, 1):
        first = torch.nn.Linear(3, 3)
    assert torch.equal(torch.rand(2), expected)
    with seeded(Draw.STUDENT_WEIGHTS, 0, 1):
        again = torch.nn.Linear(3, 3)
    with seeded(Draw.STUDENT_WEIGHTS, 0, 2):
        other = torch.nn.Linear(3, 3)
    assert torch.equal(first.weight, again.weight)
    assert not torch.equal(first.weight, other.weight)
