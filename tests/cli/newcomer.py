"""A folder as the examples of the help find it: small files of the kinds that users bring."""

from __future__ import annotations

import pickle

import numpy as np
import torch
from PIL import Image
from torch import nn

from datasets.cifar10 import TRAIN
from launch.records import Record, write_record
from tests.launching import ROOT

QUEUED = '#!/bin/sh\necho "4711|COMPLETED|1:02|node1|None"\n'


def make(folder):
    """Make MNIST's and CIFAR-10's files, photos, a torch model and a job that has ended."""
    (folder / "hpc").symlink_to(ROOT / "hpc")  # of which examples name the samples
    rng = np.random.default_rng(0)
    _mnist(folder / "mnist", rng)
    _cifar(folder / "cifar-10-batches-py", rng)
    for number, name in enumerate(("train/cat", "train/dog", "val/cat", "val/dog")):
        (folder / "photos" / name).mkdir(parents=True)
        pixels = rng.integers(0, 256, (40, 36, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "photos" / name / f"{number}.jpg")
    model = nn.Sequential(nn.Linear(784, 16), nn.ReLU(), nn.Linear(16, 10))
    torch.save(model, folder / "model.pt")
    _job(folder)


def _mnist(folder, rng):
    folder.mkdir()
    images = rng.integers(0, 256, (120, 28, 28), dtype=np.uint8)
    for name, array in (("images-idx3", images), ("labels-idx1", images[:, 0, 0] % 10)):
        head = bytes((0, 0, 8, array.ndim)) + np.array(array.shape, ">u4").tobytes()
        (folder / f"train-{name}-ubyte").write_bytes(head + array.tobytes())


def _cifar(folder, rng):
    folder.mkdir()
    for name in (*TRAIN, "test_batch"):
        batch = {b"data": rng.integers(0, 256, (6, 3072), dtype=np.uint8), b"labels": [*range(6)]}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
    names = {b"label_names": [b"class%d" % i for i in range(10)]}
    (folder / "batches.meta").write_bytes(pickle.dumps(names, protocol=2))


def _job(folder):
    (folder / "runs").mkdir()
    command = ["spdnn", "infer", "net.h5", "x.h5"]
    submitted = "2026-01-01T00:00:00+00:00"
    record = Record("4711", "spdnn-infer", command, 2, 1, None, [], submitted, str(folder))
    write_record(folder / "runs", record)
    (folder / "runs" / "4711.out").write_text("2000 images on 2 rank(s)\n")
    (folder / "runs" / "4711.exit").write_text("0\n")
    (folder / "bin").mkdir()
    (folder / "bin" / "squeue").write_text(QUEUED)
    (folder / "bin" / "squeue").chmod(0o755)
