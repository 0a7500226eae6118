import numpy as np
import pytest

from datasets import random_network
from datasets.random_network import random_layers
from hpc.io.errors import InputError
from hpc.io.network import open_network


def run(*arguments):
    random_network.main([str(argument) for argument in arguments])


def test_the_file_holds_what_was_asked_for(tmp_path):
    out = tmp_path / "net.h5"
    options = ("--kind", "block", "--activation", "relu,tanh,identity", "--bias", "0.25")
    run("--sizes", "30,50,40,7", "--degree", 4, *options, "--dtype", "float64", "--out", out)
    with open_network(out) as file:
        header, layers = file.header, list(file.layers())
    assert header.sizes == (30, 50, 40, 7)
    assert header.activations == ("relu", "tanh", "identity")
    assert header.dtype == np.float64
    for layer in layers:
        np.testing.assert_array_equal(layer.bias, 0.25)
        assert np.abs(layer.weight.data).max() <= 1
        assert np.ptp(np.diff(layer.weight.indptr)) > 0


def test_the_same_seed_gives_the_same_bytes_and_another_another_network(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run("--sizes", "40,40,40", "--degree", 3, "--seed", seed, "--out", tmp_path / name)
    first, again, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == again
    assert first != other


def test_uniform_weights_fill_the_paper_s_interval():
    (layer,) = random_layers([500, 500], 20, "er", 3, dtype="float64")
    data = layer.weight.data
    assert (data.mean(), data.var()) == pytest.approx((0, 1 / 3), abs=0.02)
    assert (data.min(), data.max()) == pytest.approx((-1, 1), abs=0.01)


@pytest.mark.parametrize(("activation", "gain"), [("identity", 1), ("relu", 2)])
def test_scaled_weights_keep_the_second_moment(activation, gain):
    layers = random_layers(
        [2000] * 6, 20, "powerlaw", 3, activations=[activation], init="scaled", dtype="float64"
    )
    x = np.random.default_rng(0).normal(size=(2000, 64))
    for layer in layers:
        fan_in = np.diff(layer.weight.indptr)
        bound = np.repeat(np.sqrt(3 * gain / np.maximum(fan_in, 1)), fan_in)
        assert (np.abs(layer.weight.data) <= bound).all()
        z = layer.weight @ x
        x = np.maximum(z, 0) if activation == "relu" else z
    assert (z**2).mean() / gain == pytest.approx(1, rel=0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sizes", "8,9,4", "--degree", 9), "--degree 9: a layer has only 8 inputs"),
        (("--sizes", "8", "--degree", 1), "expected two or more"),
        (("--sizes", "8,8", "--degree", 1, "--activation", "gelu"), "--activation gelu: expected"),
        (("--sizes", "8,8", "--degree", 1, "--activation", "relu,relu"), "expected one or 1 of"),
        (("--sizes", "8,8", "--degree", 1, "--bias", "nan"), "bias is nan, not finite"),
    ],
)
def test_bad_input_leaves_no_file(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        run(*options, "--out", tmp_path / "net.h5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [("--degree", "0"), ("--degree", "x"), ("--seed", "-1")])
def test_bad_numbers_are_bad_usage(tmp_path, bad):
    with pytest.raises(InputError, match=f"argument {bad[0]}: "):
        run("--sizes", "8,8", "--degree", 2, *bad, "--out", tmp_path / "net.h5")
