"""Distillation that is broken off and goes on: the same bits, or to rounding when cut otherwise."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch

from hpc.comm.world import AgreedError
from hpc.io.checkpoint import index_path, part_path, read_index
from hpc.io.checkpoint_folder import checkpoint_path, numbers
from hpc.io.checkpoint_options import CheckpointOptions, Every
from hpc.pipebd.checkpoint_run import Keeping
from hpc.pipebd.distillation import distill
from tests.pipebd.small_runs import NAS, VGG, image_folder, job_of, opened_program
from tests.pipebd.test_step import TOLERANCE, relative_error

pytestmark = pytest.mark.mpi
BATCH = 7
FIRST = {
    1: {VGG: "0-12@0", NAS: "0-5@0"},
    2: {VGG: "0-4@0 5-12@1", NAS: "0-1@0 2-5@1"},
    3: {VGG: "0-3@0-1 4-12@2", NAS: "0@0 1-5@1-2"},
    4: {VGG: "0@0 1-8@1-2 9-12@3", NAS: "0-1@0-1 2-5@2-3"},
}
OTHER = {1: "0-12@0", 2: "0-12@0-1", 3: "0-1@0 2-5@1 6-12@2", 4: "0-5@0-1 6-12@2-3"}
"""By ranks."""
EPOCHS = {VGG: 5, NAS: 4}
"""Of 6 steps, and of 4 and later 2 architecture rounds."""


class Crash(Exception):
    """Raised by all ranks after the same round."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return image_folder(tmp_path_factory)


def distilled(comm, folder, name, asked, root=None, crash_at=None, run=None, queue=2, best=False):
    """Distil, or break off when so many rounds are done in all; return what came out.

    best : keep the best epoch of each block; where epochs tie, rounding decides.
    """
    done = 0

    def advance(steps, note):
        nonlocal done
        done += steps
        if crash_at is not None:
            time.sleep(0.02)
        if done == crash_at:
            raise Crash

    epochs = EPOCHS[name]
    with opened_program(
        f"{folder}/{name}.h5", name, torch.float64, BATCH, epochs, max_steps=None
    ) as (program, head):
        job = job_of(comm, program, asked, queue)
        job.advance = advance
        if root is not None:
            options = CheckpointOptions(root, Every(steps=2))
            job.keeping = Keeping(options, run or {"workload": name})
        try:
            return distill(job, head, best, lambda report: None)
        except Crash:
            job.transport.finish()
            job.transport.abandon()
            return None


def same_bits(ours, theirs):
    assert ours.best_epochs == theirs.best_epochs
    np.testing.assert_array_equal(ours.history.losses, theirs.history.losses)
    np.testing.assert_array_equal(ours.history.validation_losses, theirs.history.validation_losses)
    assert ours.history.accuracies == theirs.history.accuracies
    if ours.students is not None:
        for mine, other in zip(ours.students, theirs.students, strict=True):
            assert mine.keys() == other.keys()
            assert all(torch.equal(mine[key], other[key]) for key in mine)


@pytest.mark.parametrize(("name", "queue"), [(VGG, 1), (VGG, 2), (NAS, 1)])
def test_the_same_bits_as_without_a_stop(comm, folder, shared_tmp, name, queue):
    if name == NAS and comm.size > 2:
        return  # it takes too long
    asked, root, options = FIRST[comm.size][name], shared_tmp / "c", {"queue": queue, "best": True}
    expected = distilled(comm, folder, name, asked, **options)
    for crash_at in (15, 20)[name == NAS :]:
        assert distilled(comm, folder, name, asked, root, crash_at, **options) is None
        comm.Barrier()
    assert any(index_path(checkpoint_path(root, number)).exists() for number in numbers(root))
    comm.Barrier()
    found = distilled(comm, folder, name, asked, root, **options)
    same_bits(found, expected)
    assert found.times.done_before > 0


@pytest.mark.parametrize("turns", [1, -1])
def test_another_schedule(comm, folder, shared_tmp, turns):
    schedules = [FIRST[comm.size][VGG], OTHER[comm.size], "tr", "ir"][::turns]
    expected = distilled(comm, folder, VGG, "ir")
    for crash_at, asked in zip((14, 19, 25, None), schedules, strict=True):
        found = distilled(comm, folder, VGG, asked, shared_tmp / "c", crash_at)
        comm.Barrier()
    np.testing.assert_allclose(found.history.losses, expected.history.losses, rtol=1e-9)
    if comm.rank == 0:
        error = relative_error(found.students, expected.students)
        assert error <= TOLERANCE[torch.float64]
        newest = checkpoint_path(shared_tmp / "c", numbers(shared_tmp / "c")[0])
        assert read_index(newest).position["schedule"]


@pytest.mark.parametrize("grows", [True, False])
def test_other_ranks(comm, folder, shared_tmp, grows):
    """All ranks, or all but the last, go on with what the others have left."""
    fewer = comm.Split(comm.rank < max(1, comm.size - 1), comm.rank)
    few = comm.rank < max(1, comm.size - 1)
    expected = distilled(comm, folder, VGG, "ir")
    for some, crash_at in ((fewer, 20), (comm, None)) if grows else ((comm, 20), (fewer, None)):
        if some is comm or few:
            found = distilled(some, folder, VGG, "tr+dpu", shared_tmp / "c", crash_at)
        comm.Barrier()
    if comm.rank == 0:
        error = relative_error(found.students, expected.students)
        assert error <= TOLERANCE[torch.float64]
    fewer.Free()


def test_idle_ranks_take_part(comm, folder, shared_tmp):
    asked = "0-12@0" if comm.size == 1 else f"0-12@0 ({comm.size} ranks, {comm.size - 1} idle)"
    expected = distilled(comm, folder, VGG, asked)
    assert distilled(comm, folder, VGG, asked, shared_tmp / "c", 14) is None
    comm.Barrier()
    same_bits(distilled(comm, folder, VGG, asked, shared_tmp / "c"), expected)
    if comm.rank == 0:
        assert len(list((shared_tmp / "c").glob("*/part-*"))) == len(numbers(shared_tmp / "c"))


def test_another_run_and_damage(comm, folder, shared_tmp, capfd):
    asked, root = FIRST[comm.size][VGG], shared_tmp / "c"
    assert distilled(comm, folder, VGG, asked, root, 20) is None
    comm.Barrier()
    with pytest.raises(AgreedError, match=f"is of another run: workload {VGG}, here other"):
        distilled(comm, folder, VGG, asked, root, run={"workload": "other"})
    newest = max(n for n in numbers(root) if index_path(checkpoint_path(root, n)).exists())
    comm.Barrier()
    if comm.rank == 0:
        path = part_path(checkpoint_path(root, newest), 0)
        path.write_bytes(path.read_bytes()[:-1])
    comm.Barrier()
    capfd.readouterr()
    expected = distilled(comm, folder, VGG, asked)
    same_bits(distilled(comm, folder, VGG, asked, root), expected)
    if comm.rank == 0:
        assert f"checkpoint-{newest:06d} is skipped: " in capfd.readouterr().err
