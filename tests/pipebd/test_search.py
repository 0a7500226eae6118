import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpc.io.errors import InputError
from hpc.pipebd.cost import cost_table
from hpc.pipebd.schedule import parse, validate
from hpc.pipebd.search import search, whole_batch
from tests.pipebd.exhaustive import all_schedules, best_step, group_time, spelled, step_time
from tests.pipebd.profile_cases import SHIPPED, plain, profile_of, profiles, shipped


def groups_of(schedule):
    return [(g.blocks.start, g.blocks.stop, g.ranks.start, g.ranks.stop) for g in schedule.groups]


@settings(max_examples=300, deadline=None)
@given(profiles(), st.none() | st.integers(10, 60))
def test_equals_exhaustive_search(data, limit):
    n_ranks = len(data["ranks"])
    table = cost_table(profile_of(data), n_ranks, limit)
    least = best_step(data, n_ranks, limit or float("inf"))
    if least == float("inf"):
        with pytest.raises(InputError, match="no schedule of"):
            search(table)
        return
    schedule = search(table)
    validate(schedule, len(data["blocks"]), n_ranks, data["batch"])
    found = step_time(data, groups_of(schedule), limit or float("inf"))
    assert found == pytest.approx(least, rel=1e-12)


@settings(max_examples=150, deadline=None)
@given(profiles())
def test_of_equal_steps_fewest_ranks_then_fewest_groups(data):
    n_ranks, n_blocks = len(data["ranks"]), len(data["blocks"])
    table = cost_table(profile_of(data), n_ranks)
    ties = []
    for used in range(1, n_ranks + 1):
        for groups in all_schedules(n_blocks, used):
            schedule = parse(spelled(groups))
            step = max(table.group_s(group) for group in schedule.groups)
            if table.misfit(schedule) is None:
                ties.append((step, used, len(groups)))
    if ties:
        schedule = search(table)
        step = max(table.group_s(group) for group in schedule.groups)
        assert (step, n_ranks - schedule.idle, len(schedule.groups)) == min(ties)


@pytest.mark.parametrize("name", SHIPPED)
def test_finds_the_papers_decision(name):
    data = shipped(name)
    schedule = search(cost_table(profile_of(data), 4))
    assert str(schedule) == SHIPPED[name]
    others = [
        step_time(data, groups)
        for groups in all_schedules(6, 4)
        if str(parse(spelled(groups))) != SHIPPED[name]
    ]
    assert len(others) == 55
    assert min(others) > 1.01 * step_time(data, groups_of(schedule))


def test_32_blocks_on_32_ranks():
    """Nothing better exists: below the found step no chain of groups reaches the end."""
    n = 32
    data = plain(n, n, batch=48)
    data["blocks"][0]["load_s"] = 0
    for rank, entry in enumerate(data["ranks"]):
        entry["speed"] = 1 + (rank % 5) / 4
    for b, block in enumerate(data["blocks"]):
        block["teacher_s"] = {"1": 0.001 * (1 + b % 7), "48": 0.01 * (1 + b % 5)}
    schedule = search(cost_table(profile_of(data), n))
    validate(schedule, n, n, 48)
    found = step_time(data, groups_of(schedule))
    assert not reaches_the_end(data, n, found * (1 - 1e-9))
    assert reaches_the_end(data, n, found * (1 + 1e-9))


def reaches_the_end(data, n, step_s):
    """Whether groups below `step_s` cover n blocks on at most n ranks; no limits of memory."""
    alone = [
        {d: group_time(data | {"relay_s": [0] * n}, (b, b + 1, 0, d)) for d in range(1, n + 1)}
        for b in range(n)
    ]
    slowest_of_first = [min(r["speed"] for r in data["ranks"][:d]) for d in range(1, n + 1)]
    reached = {(0, 0)}
    for j in range(n):
        for q in [q for q in range(n) if (j, q) in reached]:
            for d in range(1, n - q + 1):
                speed = min(r["speed"] for r in data["ranks"][q : q + d])
                total = (data["relay_s"][j] if j else 0) / d
                for stop in range(j + 1, n + 1):
                    total += alone[stop - 1][d] * slowest_of_first[d - 1] / speed
                    if total >= step_s:
                        break
                    reached.add((stop, q + d))
    return any((n, q) in reached for q in range(n + 1))


def test_more_ranks_than_useful_stay_idle():
    data = plain(n_blocks=2, n_ranks=6, batch=2)
    data["allreduce_s"] = {"2": [1.0, 1.0]}
    schedule = search(cost_table(profile_of(data), 6))
    assert str(schedule) == "0@0 1@1 (6 ranks, 4 idle)"


def with_times(*times):
    """Costs of 12 samples on 3 ranks: each block's time on one rank, and where that is split."""
    data = plain(len(times), 3)
    data["allreduce_s"] = {"2": [0] * len(times)}
    data["relay_s"] = [0] * len(times)
    data["blocks"][0]["load_s"] = 0
    for block, (whole, split) in zip(data["blocks"], times, strict=True):
        block["teacher_s"] = {"12": 0}
        block["student_s"] = {"6": split, "12": whole}
    return cost_table(profile_of(data), 3)


def test_of_equal_ranks_the_fewest_groups():
    """Block 0 sets the step; 0@0 1@1 2@2 is as fast and less busy, but has a group more."""
    assert str(search(with_times((10, 10), (6, 4.5), (6, 4.5)))) == "0@0 1-2@1-2"


def test_of_equal_groups_the_most_even():
    """0@0 1@1 2-3@2 is as fast, with 5 and 13 where this has 10 and 8."""
    table = with_times((16, 16), (5, 5), (5, 5), (8, 8))
    assert str(search(table)) == "0@0 1-2@1 3@2"


def test_a_memory_limit_forces_a_split():
    table = cost_table(profile_of(plain()), 3)
    assert str(whole_batch(table)) == "0@0 1@1 2@2"
    limited = cost_table(profile_of(plain()), 3, memory_limit=25_000)
    schedule = search(limited)
    assert all(limited.memory_bytes(group) <= 25_000 for group in schedule.groups)
    with pytest.raises(InputError, match=r"block 2 \(b2\) needs 35.2 KiB at a share of 12"):
        whole_batch(limited)


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        (11_999, r"block 2 \(b2\) needs 11.7 KiB at a share of 4, a rank has 11.7 KiB"),
        (13_000, r"one by one but not together; the largest, block 2 \(b2\), needs 11.7 KiB of"),
    ],
)
def test_nothing_fits_the_memory(limit, says):
    with pytest.raises(InputError, match=says):
        search(cost_table(profile_of(plain()), 3, limit))


def test_a_block_that_fits_no_device():
    data = plain()
    data["blocks"][1]["student_s"] = {"4": None, "12": None}
    with pytest.raises(InputError, match=r"block 1 \(b1\) did not fit a device at a share of 4"):
        search(cost_table(profile_of(data), 3))


@settings(max_examples=100, deadline=None)
@given(profiles(infeasible=False))
def test_whole_batch_is_the_best_that_splits_no_batch(data):
    n_ranks, n_blocks = len(data["ranks"]), len(data["blocks"])
    used = min(n_ranks, n_blocks)
    unsplit = [
        step_time(data, groups)
        for groups in all_schedules(n_blocks, used)
        if all(q - p == 1 for _, _, p, q in groups)
    ]
    schedule = whole_batch(cost_table(profile_of(data), n_ranks))
    assert all(group.size == 1 for group in schedule.groups)
    assert schedule.idle == n_ranks - used
    assert step_time(data, groups_of(schedule)) == pytest.approx(min(unsplit), rel=1e-12)
