"""Networks written for others hold the same numbers, and compute the same without our code."""

from __future__ import annotations

import json
import zipfile
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from hpc.io.errors import InputError
from hpc.io.network import ACTIVATIONS, Layer, open_network, write_network
from hpc.spdnn import export_tsv
from hpc.spdnn.exporting import export, format_of
from tests.launching import run_alone, run_ranks
from tests.spdnn.serial import random_layers, serial_forward

SIZES = (20, 31, 3, 27, 9, 14)


@pytest.fixture
def made(tmp_path):
    """Return layers with every activation, and their file."""
    layers = random_layers(SIZES, 0.3, 21, np.float32, ACTIVATIONS)
    write_network(tmp_path / "net.h5", SIZES[0], layers)
    return layers, tmp_path / "net.h5"


def inputs(n=7, seed=3):
    return np.random.default_rng(seed).uniform(-1, 1, (SIZES[0], n)).astype(np.float32)


def torch_forward(path, x):
    """Run what `--to FILE.pt` wrote: torch alone."""
    torch = pytest.importorskip("torch")
    saved = torch.load(path, weights_only=True)
    state, value = saved["state_dict"], torch.from_numpy(x)
    for layer in saved["metadata"]["layers"]:
        prefix, clip = layer["prefix"], layer["clip"]
        assert state[f"{prefix}.weight"].layout == torch.sparse_csr
        value = state[f"{prefix}.weight"] @ value + state[f"{prefix}.bias"][:, None]
        value = {
            "identity": lambda v: v,
            "relu": torch.relu,
            "clipped-relu": lambda v, c=clip: torch.clamp(v, 0, c),
            "sigmoid": torch.sigmoid,
            "tanh": torch.tanh,
        }[layer["activation"]](value)
    return value.numpy()


def test_torch_computes_the_same(made, tmp_path):
    layers, path = made
    assert export(path, tmp_path / "model.pt") == "torch"
    found = torch_forward(tmp_path / "model.pt", inputs())
    np.testing.assert_allclose(found, serial_forward(layers, inputs())[-1], rtol=2e-6, atol=2e-6)
    assert {p.name for p in tmp_path.iterdir()} == {"net.h5", "model.pt"}


def test_an_archive_holds_the_same_matrices(made, tmp_path):
    layers, path = made
    assert export(path, tmp_path / "net.npz") == "npz"
    with np.load(tmp_path / "net.npz") as file:
        told = json.loads(str(file["metadata"]))
        for k, layer in enumerate(layers):
            arrays = tuple(file[f"{k}.{name}"] for name in ("data", "indices", "indptr"))
            weight = sparse.csr_array(arrays, shape=file[f"{k}.shape"])
            assert_same(Layer(weight, file[f"{k}.bias"], **activation(told["layers"][k])), layer)
    assert told["sizes"] == list(SIZES)
    assert zipfile.ZipFile(tmp_path / "net.npz").testzip() is None


def activation(told):
    return {"activation": told["activation"], "clip": told["clip"] or 1.0}


def test_a_folder_holds_what_scipy_loads(made, tmp_path):
    layers, path = made
    assert export(path, tmp_path / "net", "scipy") == "scipy"
    told = json.loads((tmp_path / "net" / "metadata.json").read_text())
    for k, layer in enumerate(layers):
        weight = sparse.load_npz(tmp_path / "net" / f"layer-{k + 1:04}.npz")
        bias = np.load(tmp_path / "net" / f"bias-{k + 1:04}.npy")
        assert_same(Layer(weight, bias, **activation(told["layers"][k])), layer)


def assert_same(found, expected):
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found.weight, name), getattr(expected.weight, name))
    assert found.weight.shape == expected.weight.shape
    assert found.weight.dtype == found.bias.dtype == expected.bias.dtype
    np.testing.assert_array_equal(found.bias, expected.bias)
    assert (found.activation, found.clip) == (expected.activation, expected.clip)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_challenges_files_come_back(tmp_path, dtype):
    layers = random_layers((16,) * 6, 0.3, 8, dtype, ACTIVATIONS)
    layers[2] = Layer(layers[2].weight, np.full(16, -0.1, dtype), "clipped-relu", 32.0)
    write_network(tmp_path / "net.h5", 16, layers)
    assert export(tmp_path / "net.h5", tmp_path / "tsv") == "tsv"
    assert not (tmp_path / "tsv" / "neuron16" / "n16-l3-bias.tsv").exists()
    ran = run_alone(
        "-m", "datasets", "graph-challenge", "--neurons", 16, "--layers", 5,
        "--from-tsv", tmp_path / "tsv", "--out", tmp_path / "back.h5",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    with open_network(tmp_path / "back.h5") as file:
        for found, expected in zip(file.layers(), layers, strict=True):
            assert_same(found, expected)


def test_the_challenges_files_are_the_official_ones(tmp_path):
    """Weights as published: input neuron, output neuron, value, counted from 1."""
    weight = sparse.csr_array(np.array([[0, 0.0625], [0.5, 0]], np.float32))
    write_network(tmp_path / "net.h5", 2, [Layer(weight, np.full(2, -0.3, np.float32), "relu")])
    export(tmp_path / "net.h5", tmp_path / "tsv")
    text = (tmp_path / "tsv" / "neuron2" / "n2-l1.tsv").read_text()
    assert text == "1\t2\t0.5\n2\t1\t0.0625\n"


def test_a_pruned_model_goes_in_is_trained_and_comes_out(tmp_path):
    torch = pytest.importorskip("torch")
    from torch.nn.utils import prune

    torch.manual_seed(2)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32), torch.nn.Tanh(),
        torch.nn.Linear(32, 10),
    )  # fmt: skip
    for module in model[::2]:
        prune.l1_unstructured(module, "weight", amount=0.8)
        prune.remove(module, "weight")
    torch.save(model, tmp_path / "pruned.pt")
    digits = "hpc/samples/digits.h5"
    net, trained = tmp_path / "net.h5", tmp_path / "trained.h5"
    scores, out = tmp_path / "scores.tsv", tmp_path / "model.pt"
    spdnn = ("-m", "hpc", "spdnn")
    for size, command in (
        (1, ("-m", "datasets", "from-torch", tmp_path / "pruned.pt", "--input", 784, "--out", net)),
        (2, (*spdnn, "train", net, digits, "--epochs", 1, "--lr", 0.1, "--out", trained)),
        (2, (*spdnn, "infer", trained, digits, "--scores", "--out", scores)),
        (1, (*spdnn, "export", trained, "--to", out, "--quiet")),
    ):
        ran = run_ranks(size, *command) if size > 1 else run_alone(*command)
        assert ran.returncode == 0, ran.stderr
    from hpc.io.samples import open_samples

    with open_samples(digits) as samples:
        x = samples.inputs(0, 100, np.arange(784), np.float32)
    before = [module.weight.detach().clone() for module in model[::2]]
    state = torch.load(out, weights_only=True)["state_dict"]
    model.load_state_dict({key: value.to_dense() for key, value in state.items()})
    with torch.no_grad():
        found = model(torch.from_numpy(x.T)).numpy()
    expected = np.loadtxt(scores, max_rows=100)[:, 1:]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    for module, old in zip(model[::2], before, strict=True):
        new = module.weight.detach()
        assert not torch.equal(new, old), "nothing was trained"
        assert torch.equal(new == 0, old == 0), "the pattern has changed"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("net.h5", "--to", "net.onnx"), "suffix '.onnx' names no format; expected .pt, .npz or"),
        (("net.h5", "--to", "x", "--format", "onnx"), "--format onnx: expected one of torch, npz"),
        (("net.h5", "--to", "net.h5", "--format", "npz"), "would replace the file"),
        (("net.h5", "--to", "tsv"), "levels of 3 to 31 neurons"),
        (("net.h5", "--to", "full", "--format", "scipy"), "expected a new folder or an empty one"),
        (("none.h5", "--to", "a.pt"), "no such file"),
        (("digits.h5", "--to", "a.pt"), "format is 'relaycut-samples'"),
    ],
)
def test_bad_requests(made, tmp_path, options, message):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("kept")
    (tmp_path / "digits.h5").symlink_to(
        __import__("pathlib").Path("hpc/samples/digits.h5").resolve()
    )
    there = {path.name for path in tmp_path.iterdir()}
    names = [tmp_path / text if k in (0, 2) else text for k, text in enumerate(options)]
    ran = run_alone("-m", "hpc", "spdnn", "export", *names)
    assert ran.returncode == 2 and message in ran.stderr, ran.stderr
    assert ran.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == there
    assert (tmp_path / "full" / "mine").read_text() == "kept"


def test_damage_leaves_nothing_half_written(made, tmp_path):
    _, path = made
    data = bytearray(path.read_bytes())
    weights = np.concatenate([layer.weight.data for layer in made[0]]).tobytes()
    data[data.index(weights[-64:]) + 60] ^= 0xFF
    path.write_bytes(bytes(data))
    for to, form in (("a.pt", None), ("a.npz", None), ("a", "scipy")):
        with pytest.raises(InputError, match="damaged"):
            export(path, tmp_path / to, form)
    assert [p.name for p in tmp_path.iterdir()] == ["net.h5"]


def test_a_full_disk_is_said(made, tmp_path):
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "size = int(sys.argv.pop(1));"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size, size));"
        "from hpc.command_line import main; sys.exit(main(sys.argv[1:]))"
    )
    tried = [(2000, "a.pt", "torch"), (2000, "a.npz", "npz"), (2000, "a", "scipy")]
    for size, to, form in (*tried, (6000, "a.pt", "torch")):  # torch.save comes to the 6,000 bytes
        ran = run_alone(
            "-c", code, size, "spdnn", "export", made[1], "--to", tmp_path / to, "--format", form
        )
        assert ran.returncode == 2, ran.stderr
        assert "cannot be written (File too large)" in ran.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["net.h5"]


def test_formats_by_suffix():
    assert [format_of(to, None) for to in ("a.pt", "b.pth", "c.npz", "d/e")] == [
        "torch", "torch", "npz", "tsv",
    ]  # fmt: skip
    assert format_of("a.pt", "npz") == "npz"


def test_numbers_are_written_with_all_their_digits():
    rng = np.random.default_rng(0)
    for dtype, digits in export_tsv.DIGITS.items():
        values = rng.standard_normal(1000).astype(dtype)
        assert [np.dtype(dtype).type(f"{v:.{digits}g}") for v in values.tolist()] == list(values)


def test_prefixes_are_those_of_a_sequential():
    torch = pytest.importorskip("torch")
    from hpc.spdnn.export_torch import prefixes

    kinds = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "identity": None}
    names = ("relu", "identity", "tanh", "identity")
    modules = []
    for (n_in, n_out), name in zip(pairwise((3, 4, 5, 6, 7)), names, strict=True):
        modules += [torch.nn.Linear(n_in, n_out)] + ([kinds[name]()] if kinds[name] else [])
    keys = [key for key in torch.nn.Sequential(*modules).state_dict() if key.endswith("weight")]
    assert [f"{prefix}.weight" for prefix in prefixes(names)] == keys
