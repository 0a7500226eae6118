"""`datasets cifar10` on both official layouts, made small here."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from datasets import cifar10
from hpc.io.errors import FormatError, InputError
from hpc.io.images import open_images
from tests.launching import run_alone

N = 6
NAMES = [f"class{i}" for i in range(10)]
FILES = [*cifar10.TRAIN, "test_batch"]


def images_of(number):
    generator = np.random.default_rng(number)
    pixels = generator.integers(0, 256, (N, 3072), dtype=np.uint8)
    return pixels, generator.integers(0, 10, N)


def write_python(folder):
    for number, name in enumerate(FILES):
        data, labels = images_of(number)
        batch = {b"data": data, b"labels": labels.tolist(), b"batch_label": b"x"}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
    names = {b"label_names": [name.encode() for name in NAMES]}
    (folder / "batches.meta").write_bytes(pickle.dumps(names, protocol=2))


def write_binary(folder):
    for number, name in enumerate(FILES):
        data, labels = images_of(number)
        rows = np.hstack([labels[:, None].astype(np.uint8), data])
        (folder / f"{name}.bin").write_bytes(rows.tobytes())
    (folder / "batches.meta.txt").write_text("\n".join([*NAMES, "", ""]))


def convert(source, out):
    cifar10.main(["--source", str(source), "--out", str(out)])


@pytest.mark.parametrize(
    ("write", "below"),
    [(write_python, "cifar-10-batches-py"), (write_binary, "cifar-10-batches-bin")],
)
@pytest.mark.parametrize("inside", [True, False])
def test_both_archives_give_their_images(tmp_path, write, below, inside):
    folder = tmp_path / below
    folder.mkdir()
    write(folder)
    convert(folder if inside else tmp_path, tmp_path / "x.h5")
    batches = [images_of(number) for number in range(6)]
    with open_images(tmp_path / "x.h5") as file:
        assert file.traits.classes == tuple(NAMES)
        pixels = file.pixels("train").reshape(-1, 3072)
        assert np.array_equal(pixels, np.concatenate([data for data, _ in batches[:5]]))
        assert np.array_equal(file.pixels("test").reshape(-1, 3072), batches[5][0])
        assert file.labels("test").tolist() == batches[5][1].tolist()
        channels = pixels.reshape(-1, 3, 1024) / 255
        assert np.allclose(file.traits.mean, channels.mean((0, 2)), rtol=1e-12)
        assert np.allclose(file.traits.std, channels.std((0, 2)), rtol=1e-12)


def test_the_module_name_that_the_published_files_carry(tmp_path):
    """They were pickled before numpy 2 moved numpy.core."""
    write_python(tmp_path)
    content = (tmp_path / "test_batch").read_bytes()
    old = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert b"numpy.core" in old
    (tmp_path / "test_batch").write_bytes(old)
    pixels, _ = cifar10.read_batch(tmp_path / "test_batch")
    assert np.array_equal(pixels.reshape(N, -1), images_of(5)[0])


def remove(name):
    return lambda folder: (folder / name).unlink()


def replace(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def meta(names):
    return pickle.dumps({b"label_names": names})


class RunsCode:
    def __reduce__(self):
        return (print, ("owned",))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (remove("test_batch"), "has no test_batch"),
        (remove("data_batch_3"), "data_batch_3: .*No such file"),
        (replace("data_batch_3", b"what"), "data_batch_3: not a batch"),
        (replace("data_batch_3", pickle.dumps([1])), "holds a list, expected a dict"),
        (replace("data_batch_3", pickle.dumps({b"labels": [1]})), "expected 'data' of 3072 bytes"),
        (replace("data_batch_3", pickle.dumps(RunsCode())), "print has no business in it"),
        (replace("data_batch_3", pickle.dumps({b"data": 1, b"labels": 5})), "expected 'data' of"),
        (replace("data_batch_3", pickle.dumps({b"labels": [[1], [1, 2]]})), "expected 'data' of"),
        (replace("data_batch_3", b"cnumpy\nndarray\n(tR."), "data_batch_3: not a batch"),
        (replace("batches.meta", pickle.dumps({})), "0 class names, expected 10"),
        (replace("batches.meta", meta(NAMES)), "batches.meta: its class names are no text"),
        (replace("batches.meta", meta([b"\xff"] * 10)), "its class names are no text"),
        (replace("batches.meta", meta(7)), "batches.meta: its class names are no text"),
    ],
)
def test_damaged_archives(tmp_path, damage, words, capsys):
    write_python(tmp_path)
    damage(tmp_path)
    with pytest.raises(FormatError, match=words):
        convert(tmp_path, tmp_path / "x.h5")
    assert "owned" not in capsys.readouterr().out
    assert not (tmp_path / "x.h5").exists()


def test_truncated_binary_batch(tmp_path):
    write_binary(tmp_path)
    path = tmp_path / "data_batch_2.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError, match=r"data_batch_2.bin: 18437 bytes, expected a multiple"):
        convert(tmp_path, tmp_path / "x.h5")


@pytest.mark.parametrize(
    ("write", "name", "content"),
    [(write_binary, "batches.meta.txt", b"\xff\xfe"), (write_python, "batches.meta", meta(NAMES))],
)
def test_class_names_that_are_no_text_end_in_one_line(tmp_path, write, name, content):
    write(tmp_path)
    (tmp_path / name).write_bytes(content)
    ran = run_alone("-m", "datasets", "cifar10", "--source", tmp_path, "--out", tmp_path / "x.h5")
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    assert f"{name}: its class names are no text" in ran.stderr


def test_a_pickle_that_raises_anything(tmp_path):
    """Not each damage is an UnpicklingError: here a dtype is given where a shape belongs."""
    write_python(tmp_path)
    for content in (b"cnumpy\ndtype\n(tR.", b"c_codecs\nencode\n(I1\ntR.", b"cnumpy\nnone\n."):
        (tmp_path / "test_batch").write_bytes(content)
        with pytest.raises(FormatError, match="test_batch: not a batch"):
            convert(tmp_path, tmp_path / "x.h5")


def test_unwritable_output_is_found_first(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        convert(tmp_path, tmp_path / "absent" / "x.h5")
