"""Converted networks give what torch gives."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets import from_torch
from hpc.io.errors import InputError
from hpc.io.network import open_network
from hpc.io.samples import create_samples
from partition import cli
from tests.launching import run_alone, run_ranks
from tests.spdnn.serial import serial_forward

torch = pytest.importorskip("torch")
nn = torch.nn
from datasets.torch_layers import sparse_layers  # noqa: E402 - needs torch


def assert_same(model, shape, seed=0):
    """Compare a converted model's values with torch's on four random inputs."""
    torch.manual_seed(seed)
    x = torch.randn(4, *shape)
    with torch.no_grad():
        expected = model.eval()(x).reshape(4, -1).numpy()
    found = serial_forward(sparse_layers(model, shape), x.reshape(4, -1).numpy().T)[-1].T
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@settings(max_examples=60)
@given(st.data())
def test_any_convolution(data):
    draw = data.draw
    groups = draw(st.sampled_from([1, 1, 2, 4]))
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    convolution = nn.Conv2d(
        groups * draw(st.integers(1, 2)),
        groups * draw(st.integers(1, 2)),
        draw(pair),
        stride=draw(pair),
        padding=draw(st.tuples(st.integers(0, 2), st.integers(0, 2))),
        dilation=draw(pair),
        groups=groups,
        bias=draw(st.booleans()),
    )
    size = draw(st.tuples(st.integers(7, 9), st.integers(7, 9)))
    assert_same(nn.Sequential(convolution), (convolution.in_channels, *size))


@settings(max_examples=40)
@given(st.data())
def test_any_average(data):
    draw = data.draw
    kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    pool = nn.AvgPool2d(
        kernel,
        stride=draw(st.none() | st.integers(1, 3)),
        padding=tuple(draw(st.integers(0, k // 2)) for k in kernel),
        count_include_pad=draw(st.booleans()),
        divisor_override=draw(st.none() | st.integers(1, 5)),
    )
    assert_same(nn.Sequential(pool), (2, *draw(st.tuples(st.integers(3, 6), st.integers(3, 6)))))


def small_network():
    """Return a model with every kind of module, trained statistics and pruned weights."""
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding="same", bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(1, stride=2),
        nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4), nn.Tanh(), nn.BatchNorm2d(8)
        ),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(32, 10),
        nn.Sigmoid(),
    )
    model.train()(torch.randn(32, 3, 8, 8))
    with torch.no_grad():
        model[0].weight[torch.rand_like(model[0].weight) < 0.5] = 0
    return model.eval()


def test_every_kind_of_module_together():
    assert_same(small_network(), (3, 8, 8))


def test_pruned_weights_and_folded_normalisations_take_no_room():
    model = small_network()
    layers = sparse_layers(model, (3, 8, 8))
    assert [layer.activation for layer in layers] == [
        "relu", "identity", "tanh", "identity", "identity", "sigmoid",
    ]  # fmt: skip
    assert all((layer.weight.data != 0).all() for layer in layers)
    middle = layers[0].weight[8 * 4 + 4].nnz  # a pixel of channel 0 that sees no padding
    assert middle == int((model[0].weight[0] != 0).sum())


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """Return a folder with a converted network, inputs, and the values that torch gives."""
    folder = tmp_path_factory.mktemp("converted")
    model, images = small_network(), np.random.default_rng(0).random((20, 192), np.float32)
    torch.save(model, folder / "model.pt")
    made = run_alone(
        "-m", "datasets", "from-torch", folder / "model.pt", "--input", "3x8x8",
        "--out", folder / "net.h5",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    with create_samples(folder / "x.h5", *images.shape, "float32") as writer:
        writer.put_inputs(0, images.T)
    with torch.no_grad():
        return folder, model(torch.from_numpy(images).reshape(-1, 3, 8, 8)).numpy()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_converted_network_gives_torchs_values_on_any_number_of_ranks(converted, size):
    folder, expected = converted
    plan, out = folder / f"p{size}.h5", folder / f"s{size}.tsv"
    cli.main(["build", str(folder / "net.h5"), "--parts", str(size), "--out", str(plan)])
    ran = run_ranks(
        size, "-m", "hpc", "spdnn", "infer", folder / "net.h5", folder / "x.h5",
        "--plan", plan, "--kernel", "scipy", "--scores", "--out", out,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_allclose(np.loadtxt(out)[:, 1:], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "shape", "message"),
    [
        (nn.Sequential(nn.MaxPool2d(2)), (1, 4, 4), r"module 0 \(MaxPool2d.*not linear"),
        (nn.Sequential(nn.Linear(4, 4), nn.GELU()), (4,), r"module 1 \(GELU.*expected one of Avg"),
        (nn.Sequential(nn.Sequential(nn.Linear(4, 4))), (5,), r"module 0.0 .*takes 4 numbers"),
        (nn.Sequential(nn.Conv2d(3, 3, 3)), (2, 8, 8), "takes 3 channels, found 2"),
        (nn.Sequential(nn.Conv2d(3, 3, 3)), (192,), r"takes an image \(C, H, W\)"),
        (nn.Sequential(nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect")), (1, 8, 8), "reflec"),
        (nn.Sequential(nn.AvgPool2d(2, ceil_mode=True)), (1, 5, 5), "ceil_mode"),
        (nn.Sequential(nn.Flatten(2)), (1, 5, 5), "all dimensions"),
        (nn.Sequential(nn.BatchNorm2d(1, track_running_stats=False)), (1, 5, 5), "statistics"),
        (nn.Sequential(nn.Flatten()), (1, 5, 5), "has no layer"),
    ],
)
def test_what_is_not_exact_is_refused_by_name(model, shape, message):
    with pytest.raises(InputError, match=message):
        sparse_layers(model, shape)


def convert(path, out):
    from_torch.main([str(path), "--input", "4", "--out", str(out)])


def test_only_known_classes_are_loaded(tmp_path):
    torch.save(nn.Sequential(nn.Linear(4, 4), nn.GELU()), tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"GELU, which has no sparse counterpart"):
        convert(tmp_path / "m.pt", tmp_path / "n.h5")


def test_other_files_are_refused(tmp_path):
    torch.save({"weight": torch.zeros(2)}, tmp_path / "state.pt")
    (tmp_path / "text.pt").write_text("hello")
    for name, message in (
        ("state.pt", r"holds a (dict|OrderedDict), expected a model"),
        ("text.pt", "not a file of torch.save"),
        ("none.pt", "No such file"),
    ):
        with pytest.raises(InputError, match=message):
            convert(tmp_path / name, tmp_path / "n.h5")
    assert not (tmp_path / "n.h5").exists()


def test_a_lone_layer_is_a_network(tmp_path):
    torch.save(nn.Linear(4, 3), tmp_path / "m.pt")
    convert(tmp_path / "m.pt", tmp_path / "n.h5")
    with open_network(tmp_path / "n.h5") as network:
        assert network.header.sizes == (4, 3)


def test_a_module_that_stands_in_two_places():
    activation, linear = nn.ReLU(), nn.Linear(6, 6)
    assert_same(nn.Sequential(nn.Linear(6, 8), activation, nn.Linear(8, 5), activation), (6,))
    assert_same(nn.Sequential(linear, nn.Sigmoid(), nn.Sequential(linear)), (6,))


@pytest.mark.parametrize(
    ("model", "shape", "message"),
    [
        (nn.Sequential(nn.Conv2d(3, 4, 7)), (3, 4, 4), r"module 0 .* larger than the padded image"),
        (nn.Sequential(nn.AvgPool2d(5)), (3, 4, 4), r"module 0 .* larger than the padded image"),
        (nn.Sequential(nn.Linear(4, 3).bfloat16()), (4,), "0.weight is torch.bfloat16, expected"),
        (nn.Sequential(nn.Linear(4, 3).half()), (4,), "0.weight is torch.float16, expected"),
        (nn.Sequential(nn.Linear(4, 3, device="meta")), (4,), "0.weight has no values"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(model, shape, message):
    with pytest.raises(InputError, match=message):
        sparse_layers(model, shape)


def test_masks_say_how_to_make_them_weights(tmp_path):
    prune = pytest.importorskip("torch.nn.utils.prune")
    linear = nn.Linear(4, 3)
    prune.l1_unstructured(linear, "weight", 0.5)
    torch.save(nn.Sequential(linear), tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"prune\.remove"):
        from_torch.main([str(tmp_path / "m.pt"), "--input", "4", "--out", str(tmp_path / "n.h5")])


def test_a_flipped_byte_anywhere_is_found_or_harmless(tmp_path):
    model, path, out = nn.Sequential(nn.Linear(9, 5)), tmp_path / "m.pt", tmp_path / "n.h5"
    torch.save(model, path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    expected = sparse_layers(model, (9,))[0]
    for at in rng.integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            from_torch.main([str(path), "--input", "9", "--out", str(out)])
        except InputError:
            continue
        with open_network(out) as network:
            found = network.layer(0)
        assert (found.weight != expected.weight).nnz == 0
        np.testing.assert_array_equal(found.bias, expected.bias)


def test_damage_to_a_file_of_old_torch_is_said_in_our_words(tmp_path):
    path = tmp_path / "m.pt"
    torch.save(nn.Linear(4, 3), path, _use_new_zipfile_serialization=False)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for at in rng.integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with contextlib.suppress(InputError):
            convert(path, tmp_path / "n.h5")
