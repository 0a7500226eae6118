"""`datasets imagefolder`: class folders in a folder or in a tar archive, kept as they are."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pytest
from PIL import Image

from datasets import imagefolder
from hpc.io.errors import FormatError, InputError
from hpc.io.images import open_images


def picture(seed, kind="JPEG", size=(9, 7), mode="RGB"):
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(out, kind)
    return out.getvalue()


TREE = {
    "train/dog/b.jpg": picture(0),
    "train/dog/a.JPEG": picture(1),
    "train/ant/0.jpg": picture(2, mode="L"),
    "train/cat/0.jpeg": picture(3, kind="PNG"),
    "val/cat/9.jpg": picture(4),
    "val/ant/7.jpg": picture(5),
    "train/dog/notes.txt": b"not an image",
    "train/dog/._b.jpg": b"what some systems leave behind",
}
EXPECTED = {
    "train": {("ant", TREE["train/ant/0.jpg"]), ("cat", TREE["train/cat/0.jpeg"])}
    | {("dog", TREE["train/dog/a.JPEG"]), ("dog", TREE["train/dog/b.jpg"])},
    "test": {("cat", TREE["val/cat/9.jpg"]), ("ant", TREE["val/ant/7.jpg"])},
}


def as_folder(root, tree):
    for path, content in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def as_tar(path, tree, mode):
    with tarfile.open(path, mode) as archive:
        for name, content in tree.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def convert(source, out, *more):
    imagefolder.main(["--source", str(source), "--side", "32", "--out", str(out), *more])


def content_of(path):
    with open_images(path) as file:
        return file.traits, {
            split: {
                (file.traits.classes[label], file.encoded(split, index))
                for index, label in enumerate(file.labels(split))
            }
            for split in file.sizes
        }


@pytest.mark.parametrize("kind", ["folder", "w", "w:gz", "w:xz"])
def test_all_images_with_their_classes(tmp_path, kind):
    if kind == "folder":
        source = as_folder(tmp_path / "tree", TREE)
    else:
        source = as_tar(tmp_path / "tree.tar", TREE, kind)
    convert(source, tmp_path / "x.h5")
    traits, found = content_of(tmp_path / "x.h5")
    assert traits.classes == ("ant", "cat", "dog")
    assert found == EXPECTED


def test_moments_are_those_of_the_training_images(tmp_path):
    flat = {f"train/c/{level}.jpg": _flat(level) for level in (0, 51, 102, 255)} | {
        "test/c/x.jpg": _flat(200)
    }
    convert(as_folder(tmp_path / "tree", flat), tmp_path / "x.h5")
    traits, _ = content_of(tmp_path / "x.h5")
    levels = np.array([0, 0.2, 0.4, 1])
    assert np.allclose(traits.mean, levels.mean(), atol=1e-12)
    assert np.allclose(traits.std, levels.std(), atol=1e-12)


def _flat(level):
    out = io.BytesIO()
    Image.new("RGB", (8, 8), (level,) * 3).save(out, "JPEG", quality=100)
    return out.getvalue()


def test_a_tree_without_splits_is_all_training(tmp_path):
    tree = {path.removeprefix("train/"): data for path, data in TREE.items() if "train" in path}
    convert(as_folder(tmp_path / "tree", tree), tmp_path / "x.h5")
    assert content_of(tmp_path / "x.h5")[1] == {"train": EXPECTED["train"]}


def test_folders_by_name(tmp_path):
    source = as_folder(tmp_path / "tree", TREE)
    convert(source, tmp_path / "x.h5", "--train", "val", "--test", "none")
    assert content_of(tmp_path / "x.h5")[1] == {"train": EXPECTED["test"]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train/cat/1.jpg": b"no image"}, "train/cat/1.jpg"),
        ({"train/cat/1.jpg": picture(1, kind="GIF")}, "train/cat/1.jpg: is GIF, expected JPEG"),
        ({"val/emu/1.jpg": picture(1)}, "test class emu has no training images"),
        ({"train/cat/deep/er/1.jpg": picture(1)}, "does not lie in CLASS/ or SPLIT/CLASS/"),
    ],
)
def test_trees_that_cannot_be_used(tmp_path, change, words):
    source = as_folder(tmp_path / "tree", TREE | change)
    with pytest.raises(InputError, match=words):
        convert(source, tmp_path / "x.h5")
    assert not (tmp_path / "x.h5").exists()


def test_sources_that_are_none(tmp_path):
    (tmp_path / "bad.tar").write_bytes(b"not an archive" * 100)
    (tmp_path / "empty").mkdir()
    for name, words in {
        "absent": "no such folder or archive",
        "bad.tar": "not a tar archive",
        "empty": "has no images",
    }.items():
        with pytest.raises(InputError, match=words):
            convert(tmp_path / name, tmp_path / "x.h5")


def test_truncated_archive(tmp_path):
    tree = {f"train/c/{i}.jpg": picture(i, size=(40, 40)) for i in range(20)}
    path = as_tar(tmp_path / "tree.tar", tree, "w:gz")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(FormatError, match=r"tree.tar"):
        convert(path, tmp_path / "x.h5")


@pytest.mark.parametrize("kind", ["w:gz", "w:xz", "w:bz2"])
def test_damage_amid_a_compressed_archive(tmp_path, kind):
    tree = {f"train/c/{i}.jpg": picture(i, size=(40, 40)) for i in range(20)}
    path = as_tar(tmp_path / "tree.tar", tree, kind)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 100] = bytes(100)
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"tree.tar"):
        convert(path, tmp_path / "x.h5")


@pytest.mark.parametrize("member", [10, 20])
@pytest.mark.parametrize("change", ["damaged", "cut off"])
def test_an_archive_that_breaks_off_at_a_header(tmp_path, member, change):
    """Python's tarfile would give the files before it, as if they were all."""
    tree = {f"train/c/{i}.jpg": picture(i) for i in range(20)}
    path = as_tar(tmp_path / "tree.tar", tree, "w")
    with tarfile.open(path) as archive:
        place = [*(one.offset for one in archive.getmembers()), archive.offset][member]
    content = path.read_bytes()
    rest = b"?" + content[place + 1 :] if change == "damaged" else b""
    path.write_bytes(content[:place] + rest)
    with pytest.raises(FormatError, match=f"at byte {place:,} is neither a file nor the end"):
        convert(path, tmp_path / "x.h5")


def test_an_image_larger_than_any(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
    source = as_folder(tmp_path / "tree", TREE)
    with pytest.raises(FormatError, match="decompression bomb"):
        convert(source, tmp_path / "x.h5")


def test_no_training_folder(tmp_path):
    source = as_folder(tmp_path / "tree", {"a/c/1.jpg": picture(0), "b/c/1.jpg": picture(1)})
    with pytest.raises(InputError, match="has a, b; expected a folder 'train'"):
        convert(source, tmp_path / "x.h5")


@pytest.mark.slow
def test_real_images(shared_data, tmp_path):
    convert(shared_data / "cifar10" / "cifar10-jpeg.tar.xz", tmp_path / "x.h5")
    with open_images(tmp_path / "x.h5") as file:
        assert file.sizes == {"train": 50_000, "test": 10_000}
        for split, each in (("train", 5_000), ("test", 1_000)):
            assert np.bincount(file.labels(split)).tolist() == [each] * 10
        # The published moments of CIFAR-10, to what JPEG and a sample of 2,000 change in them.
        assert np.allclose(file.traits.mean, (0.4914, 0.4822, 0.4465), atol=0.01)
        assert np.allclose(file.traits.std, (0.2470, 0.2435, 0.2616), atol=0.01)
