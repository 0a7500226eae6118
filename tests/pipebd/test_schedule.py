import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpc.io.errors import InputError
from hpc.pipebd.schedule import Group, Schedule, parse, validate
from tests.pipebd.exhaustive import compositions


@st.composite
def schedules(draw):
    """Draw a valid schedule with the blocks and ranks it is for."""
    n_groups = draw(st.integers(1, 5))
    cuts = [
        draw(st.lists(st.integers(1, 4), min_size=n_groups, max_size=n_groups)) for _ in range(2)
    ]
    groups, block, rank = [], 0, 0
    for n_blocks, n_ranks in zip(*cuts, strict=True):
        groups.append(Group(range(block, block + n_blocks), range(rank, rank + n_ranks)))
        block, rank = block + n_blocks, rank + n_ranks
    idle = draw(st.integers(0, 3))
    return Schedule(tuple(groups), idle), block, rank + idle


def test_parses_the_papers_schedule():
    schedule = parse("0-2@0-2 3-5@3")
    assert [list(g.blocks) for g in schedule.groups] == [[0, 1, 2], [3, 4, 5]]
    assert [list(g.ranks) for g in schedule.groups] == [[0, 1, 2], [3]]
    assert (schedule.n_ranks, schedule.idle) == (4, 0)
    assert [schedule.group_of(rank) for rank in range(5)] == [0, 0, 0, 1, None]


def test_prints_idle_ranks_and_reads_them_back():
    schedule = parse("0@0 1-2@1-2 (5 ranks, 2 idle)")
    assert str(schedule) == "0@0 1-2@1-2 (5 ranks, 2 idle)"
    assert schedule.text == "0@0 1-2@1-2"
    assert (schedule.n_ranks, schedule.idle) == (5, 2)
    validate(schedule, 3, 5, 8)


@given(schedules())
def test_round_trip_and_valid(case):
    schedule, n_blocks, n_ranks = case
    assert parse(str(schedule)) == schedule
    validate(schedule, n_blocks, n_ranks, batch=4)


@given(schedules(), st.data())
def test_dropping_a_group_is_noticed(case, data):
    schedule, n_blocks, n_ranks = case
    drop = data.draw(st.integers(0, len(schedule.groups) - 1))
    rest = tuple(g for i, g in enumerate(schedule.groups) if i != drop)
    if rest:
        with pytest.raises(InputError, match="misses block"):
            validate(Schedule(rest, schedule.idle), n_blocks, n_ranks, batch=4)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("0-2", "cannot read '0-2'"),
        ("0-2@0,1", "cannot read"),
        ("a@0", "cannot read 'a@0'"),
        ("2-0@0", "counts down"),
        ("0@1-0", "counts down"),
        ("0@0 (3 ranks, 1 idle)", "make 2 ranks, it says 3"),
    ],
)
def test_text_that_is_no_schedule(text, says):
    with pytest.raises(InputError) as caught:
        parse(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "n_blocks", "n_ranks", "batch", "says"),
    [
        ("0-1@0 3@1", 4, 2, 8, "misses block 2; each of blocks 0..3"),
        ("1-3@0-1", 4, 2, 8, "misses block 0;"),
        ("0-1@0-1", 4, 2, 8, "misses blocks 2-3;"),
        ("0-2@0 2-3@1", 4, 2, 8, "repeats block 2"),
        ("2-3@0 0-1@1", 4, 2, 8, "misses blocks 0-1"),
        ("0-4@0-1", 4, 2, 8, "names block 4, which does not exist; valid are blocks 0..3"),
        ("0-1@0 2-3@2", 4, 3, 8, "misses rank 1;"),
        ("0-1@0-1 2-3@1-2", 4, 3, 8, "repeats rank 1"),
        ("0-1@0 2-3@1-4", 4, 3, 8, "names rank 4, which does not exist; valid are ranks 0..2"),
        ("0-1@0 2-3@1", 4, 4, 8, "write '0-1@0 2-3@1 (4 ranks, 2 idle)'"),
        ("0-3@0 (3 ranks, 2 idle)", 4, 4, 8, "is for 3 ranks; the job has 4"),
        ("0-3@0-3", 4, 4, 3, "splits a batch of 3 over 4 ranks; use a batch of at least 4"),
        ("0@0 1@1 1@2", 2, 3, 8, "has 3 groups for 2 blocks"),
    ],
)
def test_schedule_that_does_not_fit(text, n_blocks, n_ranks, batch, says):
    with pytest.raises(InputError) as caught:
        validate(parse(text), n_blocks, n_ranks, batch)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_schedule_space_has_the_size_that_the_paper_implies():
    """Sum over G of C(B-1, G-1) C(N-1, G-1): 56 for 6 blocks on 4 ranks, all valid."""
    found = set()
    for n_groups in range(1, 5):
        for blocks in compositions(6, n_groups):
            for ranks in compositions(4, n_groups):
                starts = [(sum(blocks[:g]), sum(ranks[:g])) for g in range(n_groups)]
                words = [
                    f"{b}-{b + blocks[g] - 1}@{r}-{r + ranks[g] - 1}"
                    for g, (b, r) in enumerate(starts)
                ]
                schedule = parse(" ".join(words))
                validate(schedule, 6, 4, 256)
                found.add(str(schedule))
    assert len(found) == 56
