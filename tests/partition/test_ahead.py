"""Windows: never more words than one layer at a time, as even, and better where there is a gain."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from datasets.challenge_network import challenge_layers
from datasets.random_network import random_layers
from hpc.io.network import Layer, open_network
from partition.asked import Asked
from partition.build import build_plan, steps
from tests.cuts import brute_words
from tests.partition.networks import challenge_file, network_file
from tests.spdnn.serial import random_layers as ragged_layers

pytest.importorskip("kahypar")


def plans(path, parts, epsilon=0.01, **asked):
    """Return the plan of one layer at a time and the one with windows."""
    with open_network(path) as network:
        return [
            build_plan(network, Asked(parts, epsilon=epsilon, window=window, **asked)).plan
            for window in (1, 6)
        ]


def banded(sizes, reach, seed=0):
    """Return layers whose rows need inputs nearby, as convolutions do; rectangular ones too."""
    layers = []
    for n_in, n_out in itertools.pairwise(sizes):
        at = np.arange(n_out) * n_in // n_out
        near = np.abs(at[:, None] - np.arange(n_in)[None, :]) <= reach
        weight = sparse.csr_array(near.astype(np.float32))
        layers.append(Layer(weight, np.zeros(n_out, np.float32), "relu"))
    return layers


@pytest.mark.parametrize(("parts", "gain"), [(8, 0.0), (4, 0.05)])
def test_windows_of_the_challenge_cost_less(tmp_path, parts, gain):
    one, ahead = plans(challenge_file(tmp_path, 8), parts)
    assert ahead.traffic.words.sum() <= (1 - gain) * one.traffic.words.sum()
    assert ahead.traffic.imbalance.max() <= 0.01


def test_base_layers_of_4096_neurons(tmp_path):
    """The issue's figure for four parts: 4,032 words, 6,864 one layer at a time."""
    path = network_file(tmp_path, list(challenge_layers(4096, 8, np.float32)))
    _, ahead = plans(path, 4)
    assert ahead.traffic.words.sum() <= 4032


@pytest.mark.parametrize("sizes", [(64,) * 6, (96, 64, 64, 32, 32)])
def test_neighbourhoods_are_kept_over_layers(tmp_path, sizes):
    one, ahead = plans(network_file(tmp_path, banded(sizes, 2)), 4, epsilon=0.1)
    assert ahead.traffic.words.sum() <= one.traffic.words.sum()
    assert ahead.traffic.imbalance.max() <= max(0.1, one.traffic.imbalance.max()) + 1e-9


@settings(max_examples=15)
@given(
    st.lists(st.integers(2, 12), min_size=3, max_size=6),
    st.floats(0.1, 1),
    st.integers(0, 2**32 - 1),
    st.integers(2, 3),
)
def test_never_more_words_whatever_the_network(tmp_path, sizes, density, seed, parts):
    layers = ragged_layers(sizes, density, seed)
    for layer in layers[1:]:  # a diagonal on some, so that windows are tried
        if len(set(layer.weight.shape)) == 1:
            layer.weight.setdiag(1.0)
    one, ahead = plans(network_file(tmp_path, layers), parts)
    assert ahead.traffic.words.sum() <= one.traffic.words.sum()
    counted = sum(
        brute_words(layer.weight, ahead.owners[k], ahead.owners[k + 1], parts).sum()
        for k, layer in enumerate(layers)
    )
    assert counted == ahead.traffic.words.sum()


def test_windows_over_rows_of_unequal_weight_are_even_in_every_layer(tmp_path):
    patterns = [  # a diagonal, so that windows are tried
        sparse.csr_array(random.weight + sparse.eye_array(60, dtype=np.float32))
        for random in random_layers((60, 60, 60, 60), 6, "powerlaw", 2)
    ]
    layers = [Layer(weight, np.zeros(60, np.float32), "relu") for weight in patterns]
    one, ahead = plans(network_file(tmp_path, layers), 3, epsilon=0.05)
    assert ahead.traffic.words.sum() <= one.traffic.words.sum()
    limit = np.maximum(one.traffic.imbalance, 0.05)
    assert (ahead.traffic.imbalance <= limit + 1e-9).all()


def test_the_steps_announced_are_the_steps_taken(tmp_path):
    for asked in (Asked(4), Asked(4, window=1), Asked(1), Asked(4, "random")):
        taken = []
        with open_network(challenge_file(tmp_path, 3)) as network:
            build_plan(network, asked, lambda taken=taken: taken.append(1))
        assert len(taken) == steps(3, asked)
