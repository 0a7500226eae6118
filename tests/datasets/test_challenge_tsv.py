import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets import graph_challenge, tsv
from datasets.challenge_network import challenge_layers
from hpc.io.errors import InputError
from hpc.io.network import open_network, read_header
from hpc.io.samples import open_samples
from tests.datasets.test_challenge_network import official_text


def write_folder(folder, neurons, texts):
    inside = folder / f"neuron{neurons}"
    inside.mkdir()
    for number, text in enumerate(texts, 1):
        (inside / f"n{neurons}-l{number}.tsv").write_bytes(text)


def run(*arguments):
    graph_challenge.main([str(argument) for argument in arguments])


def test_official_folders_give_the_generated_network(tmp_path):
    layers = list(challenge_layers(1024, 8, "float32"))
    write_folder(tmp_path, 1024, map(official_text, layers))
    network = ("--neurons", 1024, "--layers", 8)
    run(*network, "--from-tsv", tmp_path, "--out", tmp_path / "read.h5")
    run(*network, "--out", tmp_path / "made.h5")
    read, made = (read_header(tmp_path / f"{name}.h5") for name in ("read", "made"))
    assert read.fingerprint == made.fingerprint
    with open_network(tmp_path / "read.h5") as file:
        for found, wanted in zip(file.layers(), layers, strict=True):
            assert (found.weight != wanted.weight).nnz == 0
            np.testing.assert_array_equal(found.bias, np.float32(-0.3))


@given(st.data())
def test_any_weights_any_order_any_size(tmp_path_factory, data):
    neurons = data.draw(st.integers(1, 12))
    cell = st.tuples(st.integers(0, neurons - 1), st.integers(0, neurons - 1))
    number = st.floats(-1e30, 1e30, allow_nan=False)
    edges = data.draw(st.dictionaries(cell, number, max_size=30))
    folder = tmp_path_factory.mktemp("tsv")
    text = "".join(f"{i + 1}\t{o + 1}\t{v!r}\n" for (i, o), v in edges.items())
    write_folder(folder, neurons, [text.encode()])
    dense = np.zeros((neurons, neurons))
    for (i, o), value in edges.items():
        dense[o, i] = value  # W^k is the transpose of what the file says
    out = folder / "net.h5"
    options = ("--bias", -1.5, "--dtype", "float64", "--out", out)
    run("--neurons", neurons, "--layers", 1, "--from-tsv", folder, *options)
    with open_network(out) as file:
        layer = file.layer(0)
    np.testing.assert_array_equal(layer.weight.toarray(), dense)
    assert layer.weight.nnz == len(edges)
    np.testing.assert_array_equal(layer.bias, -1.5)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0\t1\t1", r"line 3: row 0 is outside 1\.\.4"),
        ("1\t5\t1", r"line 3: col 5 is outside 1\.\.4"),
        ("1\t1\tnan", "line 3: weight nan is not finite"),
        ("1\t1\t1e39", r"line 3: weight 1e\+39 is not finite in float32"),
        ("2\t3\t7", "line 3: this connection was given on a line above"),
        ("1\t1", r"line 3: found '1\t1', expected row, col, value"),
    ],
)
def test_a_bad_line_is_named_and_nothing_written(tmp_path, line, message):
    write_folder(tmp_path, 4, [b"1\t2\t1\n", f"2\t3\t1\n\n{line}\n4\t4\t1\n".encode()])
    with pytest.raises(InputError, match=message.replace("\t", r"\t")) as error:
        run(
            "--neurons",
            4,
            "--layers",
            2,
            "--bias",
            0,
            "--from-tsv",
            tmp_path,
            "--out",
            tmp_path / "n",
        )
    assert str(error.value).startswith(str(tmp_path / "neuron4" / "n4-l2.tsv"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["neuron4"]


def test_a_missing_layer_is_found_first(tmp_path):
    write_folder(tmp_path, 4, [b"not a number"])
    with pytest.raises(InputError, match=r"n4-l2.tsv: no such file; expected 2 layers"):
        run(
            "--neurons",
            4,
            "--layers",
            2,
            "--bias",
            0,
            "--from-tsv",
            tmp_path,
            "--out",
            tmp_path / "n",
        )


def test_bias_is_asked_for_where_there_is_no_official_one(tmp_path):
    write_folder(tmp_path, 4, [b""])
    with pytest.raises(InputError, match="--bias B is needed"):
        run("--neurons", 4, "--layers", 1, "--from-tsv", tmp_path, "--out", tmp_path / "n")


@pytest.fixture
def image_file(tmp_path):
    """Return (dense bits, file): 21 images of 16 pixels, lines in any order."""
    rng = np.random.default_rng(5)
    dense = rng.random((16, 21)) < 0.3
    dense[3, 20] = True
    pixels, images = rng.permutation(np.argwhere(dense)).T
    lines = [f"{i + 1}\t{p + 1}\t1\n" for i, p in zip(images, pixels, strict=True)]
    path = tmp_path / "sparse-images-16.tsv"
    path.write_text("".join(lines))
    return dense, path


@pytest.fixture
def short_blocks(monkeypatch):
    """Let files be read ten lines at a time."""
    whole = tsv.blocks
    monkeypatch.setattr(tsv, "blocks", lambda *args, **kw: whole(*args, **kw, lines=10))


@pytest.mark.parametrize("first", [None, 1, 8, 13, 21])
@pytest.mark.usefixtures("short_blocks")
def test_images_of_an_official_file(image_file, tmp_path, first):
    dense, path = image_file
    truth = tmp_path / "truth.tsv"
    truth.write_text("20\n1\n9\n")
    options = ["--images", path, "--categories", truth, "--out", tmp_path / "x.h5"]
    run("--neurons", 16, *options, *(["--first", first] if first else []))
    kept = first or 21
    with open_samples(tmp_path / "x.h5") as samples:
        assert samples.header.n_samples == kept
        found = samples.inputs(0, kept, np.arange(16), "float32")
        np.testing.assert_array_equal(found, dense[:, :kept])
        raw = samples.raw(0, kept)
        assert samples.categories().tolist() == [n for n in (1, 9, 20) if n <= kept]
    np.testing.assert_array_equal(raw, np.packbits(dense[:, :kept], axis=1, bitorder="little"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1\t17\t1", r"line 26: pixel 17 is outside 1\.\.16"),
        ("0\t1\t1", "line 26: image 0 is outside"),
        ("1\t1\t0.5", "line 26: value 0.5, expected 1"),
    ],
)
@pytest.mark.usefixtures("short_blocks")
def test_bad_image_lines(tmp_path, line, message):
    path = tmp_path / "x.tsv"
    path.write_text("3\t1\t1\n" * 25 + f"{line}\n")
    with pytest.raises(InputError, match=message):
        run("--neurons", 16, "--images", path, "--out", tmp_path / "x.h5")


def test_fewer_images_than_asked_for(tmp_path, image_file):
    with pytest.raises(InputError, match="holds 21 images, --first 22 asks for more"):
        run("--neurons", 16, "--images", image_file[1], "--first", 22, "--out", tmp_path / "x.h5")
    empty = tmp_path / "empty.tsv"
    empty.write_text("")
    with pytest.raises(InputError, match="holds no images"):
        run("--neurons", 16, "--images", empty, "--out", tmp_path / "x.h5")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--layers L is needed"),
        (("--layers", 2, "--bias", 1), "--bias does not apply to the official network"),
        (("--layers", 2, "--images", "f"), "--layers does not apply to --images"),
        (("--layers", 2, "--from-tsv", "d", "--first", 3), "--first does not apply to --from-tsv"),
        (("--images-from", "d", "--dtype", "float64"), "--dtype does not apply to --images-from"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        run("--neurons", 1024, *options, "--out", tmp_path / "x.h5")
