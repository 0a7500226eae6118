"""Validation through the pipeline against plain networks in one process; best epochs."""

from __future__ import annotations

import copy
import tracemalloc

import pytest
import torch
from torch import nn

from hpc.io.errors import InputError
from hpc.io.images import open_images
from hpc.pipebd.best_states import BestStates
from hpc.pipebd.compress import accuracy, assemble
from hpc.pipebd.data import ImageBatches
from hpc.pipebd.distillation import distill
from hpc.pipebd.training_data import split_images
from tests.pipebd.small_runs import SEED, VGG, job_of, opened_program, write_images

BATCH, N_TEST = 7, 17
SCHEDULES = {
    1: ["0-12@0", "dp"],
    2: ["0-4@0 5-12@1", "0-12@0-1", "ls"],
    3: ["0-3@0-1 4-12@2", "0@0 1-12@1-2", "dp"],
    4: ["0-2@0-2 3-12@3", "0@0 1-12@1-3", "0-1@0 2-5@1 6@2 7-12@3"],
}


@pytest.fixture
def path(comm, shared_tmp):
    if comm.rank == 0:
        write_images(shared_tmp / "x.h5", n_train=16, n_test=N_TEST)
    comm.Barrier()
    return shared_tmp / "x.h5"


def plain(program, students, head):
    """Return accuracy of the assembled students, of the teacher, and the mean loss per block."""
    batches = ImageBatches(
        program.images.file, "test", N_TEST, SEED, training=False, dtype=torch.float64
    )
    everything = [batches.load(0, 0)]
    teachers = [pair.teacher for pair in program.pairs]
    losses, x = [], everything[0].images
    with torch.no_grad():
        for teacher, student in zip(teachers, students, strict=True):
            target = teacher(x)
            losses.append(float(nn.functional.mse_loss(student.eval()(x), target)))
            x = target
    found = [accuracy(assemble(blocks, head), everything) for blocks in (students, teachers)]
    return *found, losses


@pytest.mark.mpi
def test_as_in_one_process_with_a_short_last_batch(comm, path):
    for asked in SCHEDULES[comm.size]:
        told = []
        with opened_program(path, VGG, torch.float64, BATCH, epochs=2, max_steps=4) as (
            program,
            head,
        ):
            packing = [range(rank, 13, comm.size) for rank in range(comm.size)]
            job = job_of(comm, program, asked, 2, packing)
            found = distill(job, head, False, told.append)
            if comm.rank == 0:
                students = [copy.deepcopy(pair.student) for pair in program.pairs]
                for student, state in zip(students, found.students, strict=True):
                    student.load_state_dict(state)
                expected = plain(program, students, head)
                assert (found.final.accuracy, found.final.teacher_accuracy) == expected[:2]
                assert found.final.losses == pytest.approx(expected[2], rel=1e-10)
                last = found.history.validation_losses[-1]
                assert last.tolist() == pytest.approx(expected[2], rel=1e-10)
        epochs = [report for report in told if report.block is None]
        if "@" in asked:
            assert [report.epoch for report in epochs] == [0, 1]
            assert epochs[-1].validation.accuracy == found.final.accuracy


@pytest.mark.mpi
def test_images_held_out_are_not_trained_on_and_are_validated_on(comm, path):
    with open_images(path) as file:
        images = split_images(file, 3, SEED, torch.float32, validation=0.25, architecture=0.4)
    parts = [images.training, images.architecture, images.validation[1]]
    assert images.validation[0] == "train"
    assert sorted(index for part in parts for index in part) == list(range(16))
    assert [len(part) for part in parts] == [7, 5, 4]


def test_without_a_share_no_image_trains_an_architecture(tmp_path):
    with open_images(write_images(tmp_path / "x.h5", n_train=16, n_test=4)) as file:
        images = split_images(file, 3, SEED, torch.float32, validation=0.25)
        with pytest.raises(InputError, match="no images are kept to train an architecture"):
            images.architecture_batches()


def test_pixels_are_held_once(tmp_path):
    with open_images(write_images(tmp_path / "x.h5", n_train=400, n_test=4)) as file:
        images = split_images(file, 3, SEED, torch.float32, validation=0.25, architecture=0.4)
        tracemalloc.start()
        held = [images.training_batches(), images.architecture_batches()]
        held.append(images.validation_batches())
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(held) == 3 and size < 1.5 * file.pixels("train").nbytes


class Scored:
    """A block whose student is a number that says in which epoch it was."""

    index = 3

    def __init__(self):
        self.pair = type("Pair", (), {"student": nn.Linear(1, 1)})

    def set(self, epoch):
        with torch.no_grad():
            self.pair.student.weight.fill_(epoch)


@pytest.mark.parametrize(
    ("losses", "kept"), [([3.0, 1.0, 2.0, 1.0], 1), ([float("nan"), 2.0, 1.5, 3.0], 2)]
)
def test_the_best_epoch_is_kept(losses, kept):
    best, work = BestStates(), Scored()
    for epoch, loss in enumerate(losses):
        work.set(epoch)
        best.offer(epoch, [work], {3: loss})
    assert best.epoch == {3: kept}
    assert best.state[3]["weight"].item() == kept


def test_without_losses_the_last_epoch_is_kept():
    best, work = BestStates(), Scored()
    for epoch in range(3):
        work.set(epoch)
        best.offer(epoch, [work], None)
    assert best.state[3]["weight"].item() == 2
