from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpc.io.errors import InputError
from hpc.pipebd.cost import cost_table
from hpc.pipebd.predict import relaying
from hpc.pipebd.schedule import parse
from hpc.pipebd.simulate import simulate
from tests.pipebd.exhaustive import all_schedules, spelled
from tests.pipebd.profile_cases import SHIPPED, plain, profile_of, profiles, shipped

STEPS = 12


@st.composite
def cases(draw, **kind):
    """Draw a profile and a schedule of it that leaves no rank idle."""
    data = draw(profiles(max_ranks=4, infeasible=False, **kind))
    n_ranks = min(len(data["ranks"]), data["batch"])
    groups = draw(st.sampled_from(list(all_schedules(len(data["blocks"]), n_ranks))))
    return profile_of(data), parse(spelled(groups))


def ends_of_steps(events, ranks):
    return [
        max(e.end_s for e in events if e.step == step and e.rank in ranks) for step in range(STEPS)
    ]


def gaps(times):
    return [later - earlier for earlier, later in pairwise(times)]


@settings(max_examples=150, deadline=None)
@given(cases(alike=True), st.integers(1, 3))
def test_decoupled_steady_state_is_the_predicted_step(case, queue):
    profile, schedule = case
    predicted = relaying(cost_table(profile, schedule.n_ranks), schedule)
    slowest = schedule.groups[predicted.group_s.index(predicted.step_s)]
    events = simulate(profile, schedule, STEPS, queue=queue)
    for gap in gaps(ends_of_steps(events, slowest.ranks)):
        assert gap == pytest.approx(predicted.step_s, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(cases(alike=True))
def test_with_the_barrier_each_step_is_the_predicted_makespan(case):
    profile, schedule = case
    predicted = relaying(cost_table(profile, schedule.n_ranks), schedule, barrier=True)
    ends = ends_of_steps(simulate(profile, schedule, STEPS, barrier=True), range(99))
    for gap in gaps([0.0, *ends]):
        assert gap == pytest.approx(predicted.step_s, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(cases(), st.booleans())
def test_unlike_ranks_are_never_slower_than_predicted(case, barrier):
    profile, schedule = case
    predicted = relaying(cost_table(profile, schedule.n_ranks), schedule, barrier)
    fill = relaying(cost_table(profile, schedule.n_ranks), schedule, True).step_s
    end = max(e.end_s for e in simulate(profile, schedule, STEPS, barrier))
    if schedule_is_monotone(profile):
        assert end <= fill + (STEPS - 1) * predicted.step_s + 1e-9


def schedule_is_monotone(profile):
    """Whether no smaller share costs more, so that the largest is the slowest."""
    return all(
        sorted(times.values()) == [times[share] for share in sorted(times)]
        for block in profile.blocks
        for times in (block.teacher_s, block.student_s)
    )


@settings(max_examples=100, deadline=None)
@given(cases(), st.booleans(), st.integers(1, 3))
def test_causes_come_before_effects(case, barrier, queue):
    profile, schedule = case
    events = simulate(profile, schedule, STEPS, barrier, queue)
    at = {(e.rank, e.step, e.block, e.kind): e for e in events}
    assert len(at) == len(events)
    for rank in range(schedule.n_ranks):
        mine = [e for e in events if e.rank == rank]
        for before, after in pairwise(mine):
            assert before.end_s <= after.start_s + 1e-9
    for group, after in pairwise(schedule.groups):
        last = group.blocks.stop - 1
        holder = sample_holders(profile.batch, group)
        wanted = sample_holders(profile.batch, after)
        for step in range(STEPS):
            for sender, receiver in set(zip(holder, wanted, strict=True)):
                sent = at[sender, step, last, "send"]
                received = at[receiver, step, last + 1, "receive"]
                assert sent.start_s >= at[sender, step, last, "teacher"].end_s
                assert received.start_s >= sent.end_s
                if step + queue < STEPS:
                    assert at[sender, step + queue, last, "send"].start_s >= received.end_s - 1e-9


def sample_holders(batch, group):
    """The rank of each sample, dealt one longer share first, without `hpc.pipebd.shares`."""
    few, more = divmod(batch, group.size)
    return [rank for i, rank in enumerate(group.ranks) for _ in range(few + (1 if i < more else 0))]


def test_a_barrier_lets_nobody_start_early():
    events = simulate(profile_of(plain()), parse("0@0 1@1 2@2"), STEPS, barrier=True)
    for step in range(1, STEPS):
        first = min(e.start_s for e in events if e.step == step)
        assert first >= max(e.end_s for e in events if e.step == step - 1)


def test_what_a_rank_does_in_a_step():
    events = simulate(profile_of(plain()), parse("0@0 1-2@1-2"), 1)
    kinds = {r: [(e.kind, e.block) for e in events if e.rank == r] for r in range(3)}
    assert kinds[0] == [("load", 0), ("teacher", 0), ("send", 0), ("student", 0), ("update", 0)]
    assert kinds[2] == [
        ("receive", 1),
        ("teacher", 1),
        ("teacher", 2),
        ("student", 1),
        ("reduce", 1),
        ("update", 1),
        ("student", 2),
        ("reduce", 2),
        ("update", 2),
    ]
    assert kinds[1] == kinds[2]


def test_idle_ranks_do_nothing():
    events = simulate(profile_of(plain()), parse("0-2@0 (3 ranks, 2 idle)"), 2)
    assert {e.rank for e in events} == {0}


@pytest.mark.parametrize("name", SHIPPED)
def test_idle_share_of_the_papers_schedules(name):
    """Idle is what no event fills, once early groups have run ahead as far as they may."""
    profile, schedule = profile_of(shipped(name)), parse(SHIPPED[name])
    predicted = relaying(cost_table(profile, 4), schedule)
    events = simulate(profile, schedule, 200)
    start, stop = 100 * predicted.step_s, 190 * predicted.step_s
    for rank, idle in enumerate(predicted.idle):
        busy = sum(
            max(0.0, min(e.end_s, stop) - max(e.start_s, start)) for e in events if e.rank == rank
        )
        assert 1 - busy / (stop - start) == pytest.approx(idle, abs=0.01)


@pytest.mark.parametrize(("steps", "queue"), [(0, 2), (1, 0)])
def test_no_steps_or_no_queue(steps, queue):
    with pytest.raises(InputError, match="both must be at least 1"):
        simulate(profile_of(plain()), parse("0-2@0"), steps, queue=queue)
