"""What a profile counts is checked by hand; what it times, on a clock of the test's own."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch

from hpc.comm.buffers import Transport
from hpc.io.errors import InputError
from hpc.pipebd import block_timing
from hpc.pipebd.block_timing import BlockTimes, Reduction, ShareTimes, is_allocation_failure
from hpc.pipebd.cost import cost_table
from hpc.pipebd.names import choose
from hpc.pipebd.profile_file import read_profile, write_profile
from hpc.pipebd.profiling import combined, measure, relative_speeds, shares_of
from hpc.pipebd.reducer import Alone
from hpc.pipebd.work import Round
from tests.pipebd.small_program import CHANNELS, SIDE, SmallProgram, SmallWork

BATCH = 7
ROUNDS = [Round(number, 0, number) for number in range(3)]


def test_shares_are_those_of_all_group_sizes():
    assert shares_of(256, 4) == [64, 85, 86, 128, 256]
    assert shares_of(2, 4) == [1, 2]


@pytest.mark.mpi
def test_a_real_profile_is_complete_and_can_be_searched(comm, shared_tmp):
    profile = measure(comm, SmallProgram(BATCH), Transport(), ROUNDS, steps=3, workload="small")
    assert comm.bcast(profile) == profile  # the same on all ranks
    path = shared_tmp / "p.json"
    if comm.rank == 0:
        write_profile(path, profile)
    comm.Barrier()
    assert read_profile(path) == profile
    assert [block.name for block in profile.blocks] == ["small0", "small1", "small2"]
    for block in profile.blocks:
        assert sorted(block.teacher_s) == shares_of(BATCH, comm.size)
        assert all(seconds > 0 for seconds in block.teacher_s.values())
    assert sorted(profile.allreduce_s) == list(range(2, comm.size + 1))
    assert len(profile.ranks) == comm.size
    assert profile.relay_s[0] == 0
    assert all(seconds > 0 for seconds in profile.relay_s[1:]) == (comm.size > 1)
    schedule = choose("ahd", 3, comm.size, BATCH, cost_table(profile, comm.size)).schedule
    assert schedule.n_ranks == comm.size


@pytest.fixture
def alone():
    return pytest.importorskip("mpi4py.MPI").COMM_SELF


def test_bytes_are_those_of_the_block(alone):
    profile = measure(alone, SmallProgram(BATCH), Transport(), ROUNDS, steps=1)
    for block, found in enumerate(profile.blocks):
        c_in, c_out = CHANNELS[block : block + 2]
        image = SIDE * SIDE * 4
        weights = (c_in + 1) * c_out + 2 * c_out
        assert found.gradient_bytes == 4 * weights
        assert found.output_bytes == BATCH * c_out * image
        # weights, gradients, momentum, batch norm's statistics and counter, the teacher's
        kept = 4 * (3 * weights + 2 * c_out) + 8 + 4 * (9 * c_in + 1) * c_out
        # input and target; saved: inputs of batch norm and of the loss, batch mean and 1/std
        activations = BATCH * image * (c_in + 3 * c_out) + 8 * c_out
        assert found.memory_bytes == {BATCH: kept + activations}


class Clock:
    """The test's own: time passes only in what the works below say."""

    time_s = 0.0


class Slow(SmallWork):
    """Teacher 2 s, student 5 s and 1 s for its update; the first round 100 s more."""

    started = False

    def teacher(self, x):
        Clock.time_s += 2.0 if self.started else 102.0
        self.started = True
        return super().teacher(x)

    def student(self, x, target):
        Clock.time_s += 5.0
        return super().student(x, target)

    def update(self):
        Clock.time_s += 1.0
        super().update()


def test_teacher_and_student_are_told_apart(alone, monkeypatch):
    monkeypatch.setattr(block_timing, "perf_counter", lambda: Clock.time_s)
    profile = measure(alone, SmallProgram(BATCH, Slow), Transport(), ROUNDS, steps=3)
    for block in profile.blocks:
        assert block.teacher_s == {BATCH: 2.0}
        assert block.student_s == {BATCH: 6.0}


class Greedy(SmallWork):
    """Block 1 does not fit a share above 4."""

    def student(self, x, target):
        if self.index == 1 and len(x) > 4:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return super().student(x, target)


def test_what_does_not_fit_is_null_and_not_a_number():
    program = SmallProgram(BATCH, Greedy)
    x = next(program.feed(range(BATCH)).inputs([ROUNDS[0]]))
    for block in range(3):
        times, x = block_timing.time_block(program, block, x, [2, 4, 7], 1, False)
        missing = [share for share, found in times.shares.items() if found is None]
        assert missing == ([7] if block == 1 else [])
        assert len(x) == BATCH
    merged = combined([times], [1.0])
    assert merged.teacher_s[7] is not None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (torch.cuda.OutOfMemoryError("x"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 9 bytes"), True),
        (RuntimeError("shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_allocation_failures_are_told_from_other_errors(error, expected):
    assert is_allocation_failure(error) is expected


class Broken(SmallWork):
    def student(self, x, target):
        raise RuntimeError("shapes cannot be multiplied")


def test_other_errors_are_not_taken_for_a_lack_of_memory(alone):
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        measure(alone, SmallProgram(BATCH, Broken), Transport(), ROUNDS, steps=1)


class Rounds(SmallWork):
    """Remembers which rounds were begun with which reducer."""

    begun: ClassVar[list[tuple[bool, bool]]] = []

    def __init__(self, block, reducer, batch):
        super().__init__(block, reducer, batch)
        self.alone = isinstance(reducer, Alone)

    def begin(self, turn):
        self.begun.append((self.alone, turn.architecture))
        super().begin(turn)


def test_every_share_is_measured_after_warm_up_and_with_architecture_rounds(monkeypatch):
    monkeypatch.setattr(Rounds, "begun", [])
    program = SmallProgram(BATCH, Rounds)
    x = next(program.feed(range(BATCH)).inputs([ROUNDS[0]]))
    block_timing.time_block(program, 0, x, [3, 7], 10, True)
    laps = 10 + block_timing.WARM_UP
    assert Rounds.begun.count((True, True)) == laps
    assert Rounds.begun.count((False, True)) == laps
    assert Rounds.begun.count((True, False)) == laps + 2  # and two for the memory
    assert Rounds.begun.count((False, False)) == laps + 2 + 1  # and one for the reductions


def times_of(teacher_s, share=4, **more):
    gradient = Reduction(10, torch.float32, True)
    statistics = Reduction(6, torch.float64, False)
    shares = {
        share: None if teacher_s is None else ShareTimes(teacher_s, 2 * teacher_s, 99, **more)
    }
    return BlockTimes("b", shares, (statistics, gradient), 123)


def test_speeds_are_relative_to_the_fastest_and_noise_is_none():
    ranks = [[times_of(2.0)], [times_of(1.0)], [times_of(1.03)]]
    assert relative_speeds(ranks) == [0.5, 1.0, 1.0]


def test_combined_is_the_median_at_speed_1():
    found = combined([times_of(2.0), times_of(1.0), times_of(1.2)], [0.5, 1.0, 1.0])
    assert found.teacher_s == {4: 1.0}
    assert found.student_s == {4: 2.0}
    assert found.memory_bytes == {4: 99}
    assert found.gradient_bytes == 40
    assert found.architecture_s is None


def test_a_share_that_fits_one_rank_only_has_its_times():
    found = combined([times_of(None), times_of(1.0, architecture_s=5.0)], [1.0, 1.0])
    assert found.teacher_s == {4: 1.0}
    assert found.architecture_s == {4: 5.0}
    assert combined([times_of(None)], [1.0]).teacher_s == {4: None}


def test_steps_must_be_positive(alone):
    with pytest.raises(InputError, match="--steps 0"):
        measure(alone, SmallProgram(BATCH), Transport(), ROUNDS, steps=0)
