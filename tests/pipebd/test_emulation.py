"""The emulation on a clock of the test's own: how long it sleeps, what it passes on."""

from __future__ import annotations

import pytest
import torch

from hpc.pipebd import emulation
from hpc.pipebd.emulation import CARRIED_S, GAP_S, SLICE_S, EmulatedProgram, Sleeper
from hpc.pipebd.reducer import Alone
from hpc.pipebd.work import Round
from tests.pipebd.profile_cases import plain, profile_of


class Clock:
    """Time passes only asleep; every sleep takes `late_s` longer than asked for."""

    def __init__(self, late_s=0.0):
        self.time_s, self.late_s, self.sleeps, self.polls = 10.0, late_s, [], 0

    def sleep(self, seconds):
        self.sleeps.append(seconds)
        self.time_s += seconds + self.late_s

    def poll(self):
        self.polls += 1


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(emulation, "perf_counter", lambda: clock.time_s)
    monkeypatch.setattr(emulation, "sleep", clock.sleep)
    return clock


def test_a_long_sleep_is_cut_into_slices_with_polls_between(clock):
    _, seconds = spent(clock, lambda: Sleeper(clock.poll).spend(10.5 * SLICE_S))
    assert max(clock.sleeps) <= SLICE_S
    assert clock.polls >= 11
    assert seconds == pytest.approx(10.5 * SLICE_S)


def test_what_was_slept_too_long_is_made_up_for(clock):
    clock.late_s = 1e-4
    sleeper = Sleeper(clock.poll)
    begin = clock.time_s
    for _ in range(50):
        sleeper.spend(0.9 * SLICE_S)
    assert clock.time_s - begin == pytest.approx(50 * 0.9 * SLICE_S, abs=2e-4)


def test_a_long_delay_is_not_made_up_for_by_skipping_work(clock):
    sleeper = Sleeper(clock.poll)
    clock.late_s = 1.0
    sleeper.spend(SLICE_S)
    clock.late_s = 0.0
    begin = clock.time_s
    sleeper.spend(2 * CARRIED_S)
    assert clock.time_s - begin == pytest.approx(CARRIED_S)


@pytest.mark.parametrize(("gap_s", "waited_s"), [(GAP_S / 2, 0.0), (2 * GAP_S, 2 * GAP_S)])
def test_the_hosts_own_work_between_sleeps_counts_but_waiting_does_not(clock, gap_s, waited_s):
    sleeper, begin = Sleeper(clock.poll), clock.time_s
    sleeper.spend(SLICE_S)
    clock.time_s += gap_s
    sleeper.spend(SLICE_S)
    assert clock.time_s - begin == pytest.approx(2 * SLICE_S + waited_s)


class Group:
    rank = 0

    def __init__(self, size, clock=None, takes_s=0.0):
        self.size, self.summed, self.clock, self.takes_s = size, [], clock, takes_s

    def sum(self, tensor):
        self.summed.append(tensor.nbytes)
        if self.clock:
            self.clock.time_s += self.takes_s
        return tensor


def program(clock, rank=0, **changes):
    """Blocks of `plain`: block b takes b + 1 ms a sample, a quarter of it the teacher."""
    data = plain() | changes
    return EmulatedProgram(profile_of(data).for_ranks(3), rank, clock.poll)


def spent(clock, action):
    begin = clock.time_s
    result = action()
    return result, clock.time_s - begin


def test_teacher_and_student_take_what_is_profiled_at_the_share(clock):
    work = program(clock).work(1, Group(3))
    x = torch.zeros(4, 5)
    target, teacher_s = spent(clock, lambda: work.teacher(x))
    assert teacher_s == pytest.approx(4 * 2 * 0.00025)
    work.begin(Round(0, 0, 0))
    loss, student_s = spent(clock, lambda: work.student(x, target))
    assert student_s == pytest.approx(4 * 2 * 0.00075)
    assert float(loss) == 0


def test_a_rank_of_half_the_speed_takes_twice_as_long(clock):
    ranks = [{"speed": 1.0}, {"speed": 0.5}, {"speed": 1.0}]
    work = program(clock, 1, ranks=ranks).work(0, Alone())
    _, seconds = spent(clock, lambda: work.teacher(torch.zeros(12, 1)))
    assert seconds == pytest.approx(12 * 0.00025 / 0.5)


def test_messages_have_the_real_sizes(clock):
    data = plain()
    for block, count in enumerate((4096, 100, 7)):  # 7 bytes of 12 samples: rounded up
        data["blocks"][block]["output_bytes"] = count
    found = EmulatedProgram(profile_of(data).for_ranks(3), 0, clock.poll)
    works = [found.work(block, Group(1)) for block in range(3)]
    sizes = [works[b].teacher(torch.zeros(12, 1)).nbytes for b in range(3)]
    assert sizes == [12 * 342, 12 * 9, 12 * 1]
    assert [found.boundary(b).shape for b in (1, 2)] == [(342,), (9,)]
    assert works[0].teacher(torch.zeros(5, 1)).shape == (5, 342)
    assert works[0].teacher(torch.zeros(5, 1)).is_contiguous()


@pytest.mark.parametrize(("real_s", "expected"), [(0.0001, 0.0005), (0.002, 0.002)])
def test_a_reduction_sums_the_gradients_bytes_and_takes_at_least_its_time(clock, real_s, expected):
    group = Group(2, clock, real_s)
    work = program(clock).work(0, group)
    _, seconds = spent(clock, work.reduce)
    assert group.summed == [40]
    assert seconds == pytest.approx(expected)


def test_loading_takes_its_part_of_the_time(clock):
    feed = program(clock).feed(range(4, 8))
    inputs = feed.inputs(Round(number, 0, number) for number in range(3))
    shapes, seconds = spent(clock, lambda: [x.shape for x in inputs])
    assert shapes == [(4, 1)] * 3
    assert seconds == pytest.approx(3 * 0.006 * 4 / 12)


def test_architecture_rounds_take_their_own_time(clock):
    data = plain() | {"architecture_every": 5}
    for block in data["blocks"]:
        block["architecture_s"] = {"12": 0.5}
    found = EmulatedProgram(profile_of(data).for_ranks(3), 0, clock.poll)
    work = found.work(2, Alone())
    x = torch.zeros(12, 1)
    for architecture, expected in ((True, 0.5), (False, 12 * 3 * 0.00075)):
        work.begin(Round(0, 0, 0, 0.0, architecture))
        _, seconds = spent(clock, lambda: work.student(x, x))
        assert seconds == pytest.approx(expected)
