"""Small runs of both workloads: images, programs, and what the reference loop makes of them."""

from __future__ import annotations

import contextlib
import copy
import math

import numpy as np
import torch

from hpc.comm.buffers import Transport
from hpc.io.images import ImageTraits, create_images, open_images
from hpc.pipebd.blocks import check_pairs
from hpc.pipebd.execution import Job
from hpc.pipebd.names import choose
from hpc.pipebd.nas import ArchitectureSettings
from hpc.pipebd.program import Boundary
from hpc.pipebd.recorder import Tally
from hpc.pipebd.rng import Draw
from hpc.pipebd.rounds import run_rounds
from hpc.pipebd.training_data import split_images
from hpc.pipebd.training_program import TrainingProgram
from hpc.pipebd.workloads import workload
from tests.pipebd.reference_loop import compress, search

SEED = 5
VGG, NAS = "vgg16-dsconv", "mobilenetv2-proxyless"
WIDTH = {VGG: 1 / 32, NAS: 0.05}
SIDE = {VGG: 32, NAS: 16}


def write_images(path, n_train=45, n_test=5, side=32):
    """Write images that are noise, labelled in turn."""
    generator = np.random.default_rng(0)
    traits = ImageTraits(tuple("0123456789"), side, (0.5,) * 3, (0.3,) * 3, 2, True)
    with create_images(path, traits) as writer:
        for split, n_images in (("train", n_train), ("test", n_test)):
            pixels = generator.integers(0, 256, (n_images, *traits.shape), np.uint8)
            writer.put_pixels(split, pixels, np.arange(n_images) % 10)
    return path


def image_folder(tmp_path_factory):
    """Return a folder, the same on all ranks, with images of every workload. Collective."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    found = world.bcast(str(tmp_path_factory.mktemp("images")))
    if world.rank == 0:
        for name, side in SIDE.items():
            write_images(f"{found}/{name}.h5", side=side)
    world.Barrier()
    return found


@contextlib.contextmanager
def opened_program(path, name, dtype, batch, epochs=3, max_steps=10):
    """Yield a program of 10 steps over 3 epochs; NAS has an architecture round every 2nd step."""
    built = workload(name, width=WIDTH[name], dtype=dtype, seed=SEED)
    settings = ArchitectureSettings(first=1 / 3, every=2)
    nas = name == NAS
    with open_images(path) as file:
        images = split_images(file, batch, SEED, dtype, architecture=0.3 if nas else 0.0)
        rounds = run_rounds(epochs, images.steps, settings.due if nas else None, max_steps)
        shape = file.traits.shape
        shapes = check_pairs(built.pairs, torch.zeros(2, *shape, dtype=dtype))
        boundaries = [Boundary(shape, dtype)]
        boundaries += [Boundary(tuple(found[1:]), dtype) for found in shapes]
        program = TrainingProgram(
            built.pairs, boundaries, images, rounds, built.distill, settings,
            torch.device("cpu"), SEED,
        )  # fmt: skip
        yield program, built.head


def job_of(comm, program, asked, queue=2, packing=()):
    """Return the job of a schedule's text or name."""
    choice = choose(asked, program.n_blocks, comm.size, program.batch)
    return Job(comm, choice, program, Transport(), program.epochs, packing, queue, Tally())


def reference_states(program):
    """Return the students' states after the reference loop has run the same rounds."""
    pairs = program.pairs
    students = [copy.deepcopy(pair.student) for pair in pairs]
    teachers = [pair.teacher for pair in pairs]
    feed = program.feed(range(program.batch))
    rounds = [turn for epoch in program.epochs for turn in epoch]
    inputs = list(feed.inputs(rounds))
    if len(pairs) == 13:
        compress(teachers, students, inputs, 0.1, 0.9)
    else:
        sgd = {"lr": 0.005, "momentum": 0.9, "nesterov": True, "weight_decay": 5e-4}
        keyed = [
            (
                Draw.ARCHITECTURE_PATH if turn.architecture else Draw.PATH,
                (turn.epoch, turn.step),
                0.0025 * (1 + math.cos(math.pi * turn.progress)),
                x,
            )
            for turn, x in zip(rounds, inputs, strict=True)
        ]
        search(teachers, students, keyed, SEED, sgd)
    return [student.state_dict() for student in students]
