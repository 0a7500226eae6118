"""Batches of images: every image once an epoch, equal on every rank and however they are read."""

from __future__ import annotations

import io
import threading
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image

from hpc.io.errors import InputError
from hpc.io.images import ImageTraits, create_images, open_images
from hpc.pipebd import augment
from hpc.pipebd.data import ImageBatches, hold_out
from hpc.pipebd.prefetch import prefetched

SIDE, N_IMAGES, BATCH = 6, 11, 4
GRAY = ImageTraits(tuple("abc"), SIDE, (0.5,), (0.25,), 0, False)
COLOUR = ImageTraits(tuple("abc"), SIDE, (0.5, 0.4, 0.3), (0.25, 0.2, 0.1), 2, True)


def jpeg(width, height, seed=0):
    """A smooth picture as a JPEG file."""
    x = np.linspace(0, 200, width)[None, :, None]
    y = np.linspace(0, 50, height)[:, None, None]
    picture = (x + y + np.array([0, 3 * seed, 5])).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(picture).save(out, "JPEG", quality=95)
    return out.getvalue()


@pytest.fixture
def pixel_file(tmp_path):
    """Image i has all pixels i, so that one can see which it is."""
    pixels = np.repeat(np.arange(N_IMAGES, dtype=np.uint8), SIDE**2)
    with create_images(tmp_path / "pixels.h5", GRAY) as writer:
        writer.put_pixels("train", pixels.reshape(N_IMAGES, 1, SIDE, SIDE), np.arange(N_IMAGES) % 3)
    with open_images(tmp_path / "pixels.h5") as file:
        yield file


@pytest.fixture
def jpeg_file(tmp_path):
    contents = [jpeg(SIDE, SIDE, i) if i % 2 else jpeg(20, 15 + i, i) for i in range(N_IMAGES)]
    with create_images(tmp_path / "jpeg.h5", COLOUR) as writer:
        writer.put_encoded("train", contents, np.arange(N_IMAGES) % 3)
    with open_images(tmp_path / "jpeg.h5") as file:
        yield file


def names(batch):
    """Which images of `pixel_file` a batch holds."""
    return (batch.images[:, 0, 0, 0] * 0.25 + 0.5).mul(255).round().int().tolist()


def epoch_of(batches, epoch):
    return [name for step in range(batches.steps) for name in names(batches.load(epoch, step))]


def test_every_epoch_has_its_own_order_and_every_image_at_most_once(pixel_file):
    batches = ImageBatches(pixel_file, "train", BATCH, seed=1, training=True)
    orders = [epoch_of(batches, epoch) for epoch in range(4)]
    assert batches.steps == 2
    assert all(len(set(order)) == 8 for order in orders)
    assert len(set(map(tuple, orders))) == 4
    assert epoch_of(batches, 1) == orders[1]
    other = ImageBatches(pixel_file, "train", BATCH, seed=2, training=True)
    assert epoch_of(other, 0) != orders[0]


def test_evaluation_is_in_order_and_complete(pixel_file):
    batches = ImageBatches(pixel_file, "train", BATCH, seed=1, training=False)
    assert epoch_of(batches, 0) == list(range(N_IMAGES))
    assert len(batches.load(0, 2).labels) == 3


def test_labels_go_with_their_images(pixel_file):
    batch = ImageBatches(pixel_file, "train", BATCH, seed=1, training=True).load(3, 1)
    assert batch.labels.tolist() == [name % 3 for name in names(batch)]
    assert batch.labels.dtype == torch.int64


def test_normalised_as_defined(pixel_file):
    batch = ImageBatches(
        pixel_file, "train", BATCH, seed=1, training=False, dtype=torch.float64
    ).load(0, 0)
    expected = (torch.arange(4, dtype=torch.float64) / 255 - 0.5) / 0.25
    torch.testing.assert_close(batch.images[:, 0, 2, 2], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("training", [True, False])
def test_shares_make_up_the_batch_augmentation_included(jpeg_file, training):
    def load(rows):
        batches = ImageBatches(jpeg_file, "train", BATCH, 5, training=training, rows=rows)
        return [batches.load(1, step).images for step in range(batches.steps)]

    shares = [load(range(*bounds)) for bounds in pairwise([0, 1, 2, 4])]
    for whole, *parts in zip(load(None), *shares, strict=True):
        assert torch.equal(torch.cat(parts), whole)


def test_augmentation_changes_by_epoch_and_not_by_place_in_the_order(jpeg_file):
    def of_image(epoch, index):
        only = ImageBatches(jpeg_file, "train", 1, 5, training=True, indices=np.array([index]))
        return only.load(epoch, 0).images[0]

    batches = ImageBatches(jpeg_file, "train", BATCH, 5, training=True)
    order = batches._epoch_order(2)
    for row, index in enumerate(order[:BATCH]):
        assert torch.equal(batches.load(2, 0).images[row], of_image(2, index))
        assert len({of_image(epoch, index).numpy().tobytes() for epoch in range(6)}) > 1


def test_indices_restrict_what_is_drawn(pixel_file):
    batches = ImageBatches(
        pixel_file, "train", 2, seed=1, training=True, indices=np.array([2, 5, 7])
    )
    assert set(epoch_of(batches, 0)) <= {2, 5, 7}
    assert batches.steps == 1


def test_fewer_images_than_a_batch(pixel_file):
    with pytest.raises(InputError, match=r"pixels.h5: 11 train images, a batch takes 12"):
        ImageBatches(pixel_file, "train", 12, seed=1, training=True)


def test_hold_out_splits_all_images():
    kept, held = hold_out(20, 0.25, seed=3)
    assert len(held) == 5
    assert sorted([*kept, *held]) == list(range(20))
    assert not np.array_equal(held, hold_out(20, 0.25, seed=4)[1])
    with pytest.raises(InputError, match="leaves nothing"):
        hold_out(3, 0.1, seed=0)


def test_evaluation_sees_the_centre_of_a_photograph(jpeg_file):
    batches = ImageBatches(jpeg_file, "train", 1, seed=1, training=False)
    shown = (batches.load(0, 0).images[0] * torch.tensor(COLOUR.std).view(3, 1, 1)) + torch.tensor(
        COLOUR.mean
    ).view(3, 1, 1)
    with Image.open(io.BytesIO(jpeg(20, 15))) as image:
        scaled = image.resize((9, 7), Image.Resampling.BILINEAR)  # shorter side 8/7 of 6
        centre = np.asarray(scaled)[:6, 1:7].transpose(2, 0, 1) / 255
    assert np.abs(shown.numpy() - centre).max() < 0.1  # scaled and cut in one go or in two
    assert np.abs(shown.numpy() - centre[..., ::-1]).max() > 0.3


def test_damaged_image_is_named(tmp_path):
    with create_images(tmp_path / "bad.h5", COLOUR) as writer:
        writer.put_encoded("train", [jpeg(6, 6), jpeg(6, 6)[:150], b"no"], np.zeros(3, int))
    with open_images(tmp_path / "bad.h5") as file:
        batches = ImageBatches(file, "train", 1, seed=0, training=False)
        batches.load(0, 0)
        for step in (1, 2):
            with pytest.raises(InputError, match=f"bad.h5: train image {step}: cannot be decoded"):
                batches.load(0, step)


def test_random_boxes_lie_in_the_image_and_vary():
    generator = np.random.default_rng(0)
    for width, height in [(40, 30), (3, 200), (1, 1)]:
        boxes = {augment.random_box(width, height, generator) for _ in range(50)}
        for left, upper, right, lower in boxes:
            assert 0 <= left < right <= width
            assert 0 <= upper < lower <= height
    areas = [
        (r - a) * (b - u) / 10_000
        for a, u, r, b in (augment.random_box(100, 100, generator) for _ in range(300))
    ]
    assert min(areas) > 0.07
    assert max(areas) > 0.7
    assert 0.4 < np.mean(areas) < 0.6


def test_shifts_and_mirror_images_are_all_drawn():
    generator = np.random.default_rng(0)
    image = np.arange(1, 10, dtype=np.uint8).reshape(1, 3, 3)
    corners = {augment.shifted(image, 1, generator).tobytes() for _ in range(200)}
    assert len(corners) == 9
    mirrored = {augment.mirrored(image, generator).tobytes() for _ in range(50)}
    assert mirrored == {image.tobytes(), image[..., ::-1].tobytes()}


def test_prefetching_changes_nothing(jpeg_file):
    batches = ImageBatches(jpeg_file, "train", BATCH, 5, training=True)
    keys = [(epoch, step) for epoch in range(3) for step in range(batches.steps)]
    plain = [batches.load(*key) for key in keys]
    ahead = list(prefetched(lambda key: batches.load(*key), keys, depth=3))
    assert len(ahead) == len(plain)
    for a, b in zip(plain, ahead, strict=True):
        assert torch.equal(a.images, b.images)
        assert torch.equal(a.labels, b.labels)


def test_prefetching_is_bounded_and_in_the_background():
    loaded, third = [], threading.Event()

    def load(key):
        loaded.append((key, threading.current_thread()))
        if key == 2:
            third.set()
        return key

    values = prefetched(load, range(100), depth=2)
    assert next(values) == 0
    assert third.wait(30)
    assert next(values) == 1
    values.close()
    assert len(loaded) <= 4
    assert threading.current_thread() not in {thread for _, thread in loaded}


def test_what_loading_raises_comes_at_its_place():
    def load(key):
        if key == 2:
            raise InputError("image 2 is damaged")
        return key

    seen = []
    with pytest.raises(InputError, match="image 2"):
        seen.extend(prefetched(load, range(9)))
    assert seen == [0, 1]
    assert list(prefetched(load, [0, 1])) == [0, 1]
