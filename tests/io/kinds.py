"""Every kind of file that is read: how one is made, and how all that is in it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hpc.io.categories import read_categories, write_categories
from hpc.io.checkpoint import (
    Index,
    check_part,
    index_path,
    opened_part,
    part_path,
    read_index,
    write_index,
    write_part,
)
from hpc.io.container import read
from hpc.io.images import ImageTraits, create_images, open_images
from hpc.io.machine import Costs, Machine, Rates, read_machine, write_machine
from hpc.io.network import open_network, read_header, write_network
from hpc.io.plan import Plan, read_plan, write_plan
from hpc.io.samples import create_samples, open_samples
from hpc.io.shard import build_shard
from hpc.io.sharded import read_shard, write_sharded
from hpc.pipebd.models.proxyless import CELLS
from hpc.pipebd.nas import read_architecture, write_architecture
from hpc.pipebd.profile_file import parse_profile, read_profile, write_profile
from hpc.pipebd.recipe import Recipe, build_student
from hpc.pipebd.student_file import read_student, write_student
from hpc.pipebd.teacher import read_teacher
from hpc.report.trace import Span, Trace, read_trace, write_trace
from tests.pipebd.profile_cases import plain
from tests.spdnn.serial import random_layers, random_plan

SIZES = (30, 40, 20)
RUN = {"network": "abc", "batch": 50, "lr": 0.1}
RNG = np.random.default_rng


@dataclass(frozen=True)
class Kind:
    """make : writes one into a folder and returns its path. content : reads all of a file.

    of_text : for people to edit, so without a checksum: a changed number is another file.
    """

    make: Callable[[Path], Path]
    content: Callable[[Path], Any]
    of_text: bool = False


def network_file(folder):
    write_network(folder / "network.h5", SIZES[0], random_layers(SIZES, 0.3, 1, np.float32))
    return folder / "network.h5"


def network_content(path):
    with open_network(path) as file:
        header = file.header
        layers = [
            (layer.weight.indptr, layer.weight.indices, layer.weight.data, layer.bias)
            for layer in file.layers()
        ]
    return header.sizes, header.activations, header.clips, header.fingerprint, layers


def plan_file(folder):
    free = random_plan(SIZES, 3, 1)
    write_plan(folder / "plan.h5", Plan(3, free.owners, "f" * 32, {"seed": 1}))
    return folder / "plan.h5"


def plan_content(path):
    plan = read_plan(path)
    return plan.parts, plan.owners, plan.fingerprint, plan.asked


def bits_file(folder):
    with create_samples(folder / "bits.h5", 50, 20, "bits") as writer:
        writer.put_inputs(0, RNG(1).random((20, 50)) < 0.5)
        writer.put_labels(np.arange(50) % 7, 7)
        writer.put_categories(np.arange(1, 20, 3))
    return folder / "bits.h5"


def samples_file(folder):
    with create_samples(folder / "x.h5", 50, 20, "uint8", scale=1 / 255) as writer:
        writer.put_inputs(0, RNG(1).integers(0, 256, (20, 50), np.uint8))
    return folder / "x.h5"


def samples_content(path):
    with open_samples(path) as samples:
        header = samples.header
        facts = (header.n_samples, header.width, header.packed, header.scale, header.classes)
        labels = samples.labels() if header.classes else None
        categories = samples.categories() if header.has_categories else None
        return facts, samples.raw(0, 50), labels, categories


def sharded_file(folder):
    network = network_file(folder)
    layers = random_layers(SIZES, 0.3, 1, np.float32)
    header = read_header(network)
    plan = Plan(2, random_plan(SIZES, 2, 1).owners, header.fingerprint, {})
    shards = [build_shard(layers, plan, rank) for rank in range(2)]
    write_sharded(folder / "sharded.h5", header, plan, shards)
    return folder / "sharded.h5"


def sharded_content(path):
    found = []
    for rank in range(2):
        shard, _ = read_shard(path, rank)
        found.append((shard.sizes, shard.ids, shard.fingerprint))
        for layer in shard.layers:
            parts = [(p.source, p.rows, p.indptr, p.indices, p.data) for p in layer.parts]
            core = (layer.core.indptr, layer.core.indices, layer.core.data)
            found.append((core, parts, layer.needs, layer.sends, layer.bias, layer.activation))
    return found


def images_file(folder):
    traits = ImageTraits(("cat", "dog"), 5, (0.5, 0.25, 0.1), (1.0, 0.5, 0.2), 2, True)
    with create_images(folder / "images.h5", traits) as writer:
        writer.put_pixels(
            "train", RNG(2).integers(0, 256, (7, 3, 5, 5), np.uint8), np.arange(7) % 2
        )
        writer.put_encoded("test", iter([b"abc", b"d", b"efghij"]), np.array([0, 1, 1]))
    return folder / "images.h5"


def images_content(path):
    with open_images(path) as file:
        labels = [file.labels(split) for split in ("train", "test")]
        encoded = [file.encoded("test", index) for index in range(file.sizes["test"])]
        return vars(file.traits), file.sizes, file.pixels("train"), encoded, labels


def checkpoint(folder, number=1, parts=2):
    """Write a checkpoint and return its folder."""
    path = folder / f"checkpoint-{number:06d}"
    files = tuple(write_part(path, part, part_arrays(part).items()) for part in range(parts))
    write_index(Index(path, 7, RUN, {"epoch": 2, "loss": 0.1}, {"history": np.eye(2)}, files))
    return path


def part_arrays(part):
    rng = RNG(part)
    return {
        "weights": rng.random(3000),
        "rows": np.arange(part, dtype=np.int32),
        "none": rng.random(0),
    }


def checkpoint_content(path):
    """Return all of the checkpoint of which this is a file, checked as when a run goes on."""
    index = read_index(path.parent)
    found = [index.step, index.run, index.position, sorted(index.arrays.items())]
    for part in range(len(index.parts)):
        check_part(index, part)
        with opened_part(index, part) as file:
            found.append({name: read(file[name]) for name in file})
    return found


RECIPE = Recipe(blocks="tests.pipebd.paced_blocks:pairs", seed=3)


def student_file(folder):
    write_student(folder / "student.pt", RECIPE, build_student(RECIPE))
    return folder / "student.pt"


def student_content(path):
    recipe, model = read_student(path, torch.float32)
    return recipe == RECIPE, numbers(model.state_dict())


def teacher_file(folder):
    torch.save({"features.0.weight": torch.arange(300.0), "n": torch.ones(1)}, folder / "t.pt")
    return folder / "t.pt"


def numbers(state):
    return {key: value.numpy() for key, value in state.items()}


def machine_file(folder):
    costs = Costs((1, 8), (4,), (Rates(1.0, 0.01, 0.001, 10.0, 0.5),) * 2)
    write_machine(folder / "machine.json", Machine(costs, costs, {"kernel": "test"}))
    return folder / "machine.json"


def profile_file(folder):
    write_profile(folder / "profile.json", parse_profile(plain(batch=3), "made"))
    return folder / "profile.json"


def architecture_file(folder):
    write_architecture(folder / "a.json", tuple(("k3e3",) * n for n in CELLS))
    return folder / "a.json"


def trace_file(folder):
    spans = tuple(
        Span(rank, "student", step, rank, step, step + 0.5) for rank in (0, 1) for step in range(3)
    )
    write_trace(folder / "trace.json", Trace(spans, {"schedule": "0@0 1@1"}))
    return folder / "trace.json"


def categories_file(folder):
    write_categories(folder / "c.tsv", range(1, 300, 7))
    return folder / "c.tsv"


KINDS = {
    "network": Kind(network_file, network_content),
    "plan": Kind(plan_file, plan_content),
    "bits": Kind(bits_file, samples_content),
    "samples": Kind(samples_file, samples_content),
    "sharded": Kind(sharded_file, sharded_content),
    "images": Kind(images_file, images_content),
    "index": Kind(lambda folder: index_path(checkpoint(folder)), checkpoint_content),
    "part": Kind(lambda folder: part_path(checkpoint(folder), 1), checkpoint_content),
    "student": Kind(student_file, student_content),
    "teacher": Kind(teacher_file, lambda path: numbers(read_teacher(path))),
    "machine": Kind(machine_file, read_machine, of_text=True),
    "profile": Kind(profile_file, read_profile, of_text=True),
    "architecture": Kind(
        architecture_file, lambda path: read_architecture(path, "cifar", 0.05), of_text=True
    ),
    "trace": Kind(trace_file, read_trace, of_text=True),
    "categories": Kind(categories_file, read_categories, of_text=True),
}


def same(ours, theirs):
    """Return whether two contents are equal."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return np.array_equal(ours, theirs)
