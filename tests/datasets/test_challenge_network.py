import hashlib

import numpy as np
import pytest

from datasets.challenge_network import BIASES, STREAM_START, challenge_layers
from hpc.io.errors import InputError

OFFICIAL = {
    1: "48f8c5363f7f6579b4a186b0d03a27b13d5d9e3e41e17af884569d754248903a",
    7: "2c63b12ddca93f266438c44210bc333cdc975f25df2b5886455ef52d6e41331d",
    120: "c37c426fefe34411c1e98352d6d59921cffaf84a2421b8ed2a0576b72d47c73e",
}
OFFICIAL_ALL = "275d0937d95ec98b267e1f3d4751655f1d3bb5f944ecd6e458b390e15d9df07e"


def official_text(layer):
    """Write a layer as the official files have it: input, output, value, by output then input."""
    weight = layer.weight
    outputs = np.repeat(np.arange(weight.shape[0]), np.diff(weight.indptr))
    lines = zip(weight.indices.tolist(), outputs.tolist(), weight.data.tolist(), strict=True)
    return "".join(f"{i + 1}\t{o + 1}\t{value:.6e}\n" for i, o, value in lines).encode()


def test_layers_are_the_official_files_byte_for_byte():
    everything = hashlib.sha256()
    for number, layer in enumerate(challenge_layers(1024, 120, "float32"), 1):
        text = official_text(layer)
        everything.update(text)
        if number in OFFICIAL:
            assert hashlib.sha256(text).hexdigest() == OFFICIAL[number]
    assert everything.hexdigest() == OFFICIAL_ALL


@pytest.mark.parametrize("neurons", [4096, 16384])
def test_larger_layers_follow_the_definition(neurons):
    n_base = int(np.log2(neurons // 16))
    weights = [layer.weight for layer in challenge_layers(neurons, n_base + 2, "float64")]
    inputs = np.arange(neurons)
    for k in (0, n_base - 1):
        for output in (0, 77, neurons - 1):
            wanted = np.isin((inputs - output) % (neurons // 16), (0, 2**k)) / 16
            np.testing.assert_array_equal(weights[k][[output]].toarray()[0], wanted)
    # One renumbering leads from the base layers to those of the second group.
    stream = np.random.RandomState(5489).random_sample({4096: 330_752, 16384: 1_321_984}[neurons])
    renumbered = np.argsort(stream[-neurons:])
    for base, layer in zip(weights[:2], weights[n_base:], strict=True):
        assert (layer[:, renumbered] != base).nnz == 0


def test_stream_starts_follow_from_1920_layers_of_the_smaller_sizes():
    drawn = 0
    for neurons in sorted(BIASES):
        assert STREAM_START[neurons] == drawn
        groups = -(-1920 // int(np.log2(neurons // 16)))
        drawn += (groups - 1) * neurons


def test_bias_activation_and_dtype():
    layer = next(iter(challenge_layers(4096, 1, "float64")))
    assert (layer.bias == -0.35).all()
    assert layer.bias.dtype == layer.weight.dtype == np.float64
    assert (layer.activation, layer.clip) == ("clipped-relu", 32)


@pytest.mark.parametrize(("neurons", "n_layers"), [(1000, 3), (1024, 1921)])
def test_sizes_that_the_challenge_lacks(neurons, n_layers):
    with pytest.raises(InputError, match=r"expected 1024, 4096, 16384, 65536 neurons, 1\.\.1920"):
        next(iter(challenge_layers(neurons, n_layers, "float32")))
