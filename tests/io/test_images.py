"""Images files: what is written comes back, and damaged files are refused by name."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from hpc.io import images
from hpc.io.errors import FormatError, InputError
from hpc.io.images import ImageTraits, create_images, open_images

TRAITS = ImageTraits(("cat", "dog"), 5, (0.5, 0.25, 0.1), (1.0, 0.5, 0.2), 2, True)
PIXELS = np.random.default_rng(0).integers(0, 256, (7, 3, 5, 5), dtype=np.uint8)
LABELS = np.array([0, 1, 1, 0, 1, 0, 0])
FILES = [b"abc", b"d", b"efghij"]


def write(path, traits=TRAITS):
    with create_images(path, traits) as writer:
        writer.put_pixels("train", PIXELS, LABELS)
        writer.put_encoded("test", iter(FILES), LABELS[:3])
    return path


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "x.h5")


def test_round_trip(path):
    with open_images(path) as file:
        assert file.traits == TRAITS
        assert file.sizes == {"train": 7, "test": 3}
        assert [file.is_encoded(split) for split in ("train", "test")] == [False, True]
        assert np.array_equal(file.pixels("train"), PIXELS)
        assert [file.encoded("test", index) for index in range(3)] == FILES
        assert file.labels("train").tolist() == LABELS.tolist()
        assert file.labels("test").tolist() == LABELS[:3].tolist()


def test_encoded_images_read_one_by_one(path, monkeypatch):
    monkeypatch.setattr(images, "HELD_BYTES", 9)
    with open_images(path) as file:
        assert [file.encoded("test", index) for index in (2, 0, 1)] == [FILES[i] for i in (2, 0, 1)]


def test_encoded_images_beyond_one_buffer(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "BUFFER_BYTES", 4)
    with open_images(write(tmp_path / "x.h5")) as file:
        assert [file.encoded("test", index) for index in range(3)] == FILES


def test_a_split_that_is_not_there(tmp_path):
    with create_images(tmp_path / "x.h5", TRAITS) as writer:
        writer.put_pixels("train", PIXELS, LABELS)
    with (
        open_images(tmp_path / "x.h5") as file,
        pytest.raises(InputError, match="has no test images"),
    ):
        file.labels("test")


@pytest.mark.parametrize(
    ("pixels", "labels", "words"),
    [
        (PIXELS[:, :1], LABELS, r"images are \(1, 5, 5\) uint8, expected \(3, 5, 5\)"),
        (PIXELS.astype(float), LABELS, "float64"),
        (PIXELS, LABELS[:6], "6 labels for 7 images"),
        (PIXELS[:0], LABELS[:0], "0 labels for 0 images"),
        (PIXELS, LABELS + 1, "label 2 of sample 1 is outside 0..1"),
    ],
)
def test_what_cannot_be_written(tmp_path, pixels, labels, words):
    with (
        pytest.raises(InputError, match=words),
        create_images(tmp_path / "x.h5", TRAITS) as writer,
    ):
        writer.put_pixels("train", pixels, labels)
    assert not list(tmp_path.iterdir())


def drop(name):
    return lambda file: file.__delitem__(name)


def set_item(name, index, value):
    return lambda file: file[name].__setitem__(index, value)


def set_attribute(name, value):
    return lambda file: file.attrs.__setitem__(name, value)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (drop("train"), "has no training images"),
        (drop("train/labels"), "no dataset 'train/labels'"),
        (drop("train/pixels"), "no dataset 'train/encoded'"),
        (drop("test/offsets"), "no dataset 'test/offsets'"),
        (set_item("train/labels", 3, 2), "label 2 of sample 3"),
        (set_item("test/offsets", 1, 9), "'test/offsets' must ascend from 0 to 10"),
        (set_item("test/offsets", 3, 11), "'test/offsets' must ascend"),
        (set_attribute("side", 6), r"'train/pixels' has shape \(7, 3, 5, 5\)"),
        (set_attribute("std", [1.0, 0.0, 1.0]), "std above 0"),
        (set_attribute("std", [1.0]), "mean .* and std"),
        (set_attribute("classes", "[]"), "at least one class"),
        (set_attribute("format", "relaycut-plan"), "expected 'relaycut-images'"),
        (set_attribute("version", 2), "version 2"),
    ],
)
def test_damaged_files(path, damage, words):
    with h5py.File(path, "r+") as file:
        damage(file)
    with pytest.raises(FormatError, match=words), open_images(path):
        pass


def test_a_flipped_bit_is_found(path):
    with h5py.File(path, "r") as file:
        at = file["train/pixels"].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[at + 5] ^= 1
    path.write_bytes(content)
    with pytest.raises(FormatError, match="checksum"), open_images(path) as file:
        file.pixels("train")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pad", "x"),
        ("pad", -1),
        ("pad", 10**9),
        ("side", float("nan")),
        ("mean", "x"),
        ("std", None),
    ],
)
def test_attributes_that_are_no_numbers(path, name, value):
    with h5py.File(path, "r+") as file:
        if value is None:
            del file.attrs[name]
        else:
            file.attrs[name] = value
    with pytest.raises(FormatError, match=r"x\.h5"), open_images(path):
        pass


def test_what_goes_wrong_beside_the_file_is_not_blamed_on_it(path):
    with pytest.raises(RuntimeError, match=r"^of training$"), open_images(path):
        raise RuntimeError("of training")
