import pytest
from hypothesis import given, settings

from hpc.pipebd.cost import cost_table
from hpc.pipebd.names import choose
from hpc.pipebd.predict import data_parallel, layerwise, relaying
from hpc.pipebd.schedule import parse
from tests.pipebd.profile_cases import SHIPPED, plain, profile_of, profiles, shipped

TWO = {
    "batch": 4,
    "ranks": [{"speed": 1.0, "memory_bytes": None}] * 2,
    "blocks": [
        {
            "name": "a",
            "teacher_s": {"2": 3.0, "4": 5.0},
            "student_s": {"2": 7.0, "4": 11.0},
            "memory_bytes": {"4": 10},
            "gradient_bytes": 1,
            "output_bytes": 1,
            "load_s": 2.0,
        },
        {
            "name": "b",
            "teacher_s": {"2": 13.0, "4": 17.0},
            "student_s": {"2": 19.0, "4": 23.0},
            "memory_bytes": {"4": 20},
            "gradient_bytes": 1,
            "output_bytes": 1,
        },
    ],
    "allreduce_s": {"2": [0.5, 0.25]},
    "relay_s": [0, 1.0],
}


def table_of(data, n_ranks, limit=None):
    return cost_table(profile_of(data), n_ranks, limit)


def test_decoupled_update_by_hand():
    found = relaying(table_of(TWO, 2), parse("0@0 1@1"))
    assert found.group_s == (2 + 5 + 11, 1 + 17 + 23)
    assert found.step_s == 41
    assert found.idle == (1 - 18 / 41, 0)


def test_barrier_by_hand():
    """Rank 1 begins when rank 0 has loaded (2 s) and run its teacher (5 s)."""
    found = relaying(table_of(TWO, 2), parse("0@0 1@1"), barrier=True)
    assert found.step_s == 2 + 5 + 1 + 17 + 23
    assert found.group_s == (18, 41)
    assert found.idle == (1 - 18 / 48, 1 - 41 / 48)


def test_internal_relaying_by_hand():
    found = relaying(table_of(TWO, 2), parse("0-1@0-1"))
    assert found.step_s == 2 / 2 + 3 + 7 + 0.5 + 13 + 19 + 0.25
    assert found.idle == (0, 0)


def test_idle_ranks_are_idle_all_the_time():
    assert relaying(table_of(TWO, 3), parse("0@0 1@1 (3 ranks, 1 idle)")).idle[2] == 1


def test_data_parallel_by_hand():
    """Block a, then block b with a's teacher once more; half the batch on each rank."""
    found = data_parallel(table_of(TWO, 2))
    assert found.group_s == (2 / 2 + 3 + 7 + 0.5, 2 / 2 + 3 + 13 + 19 + 0.25)
    assert found.step_s == sum(found.group_s)


def test_layerwise_by_hand():
    """Each block is a task of its own: load, teachers up to it, its student, whole batch."""
    packing, found = layerwise(table_of(TWO, 2))
    assert packing == ((1,), (0,))
    assert found.group_s == (2 + 5 + 17 + 23, 2 + 5 + 11)
    assert found.step_s == 47
    assert found.idle == (0, 1 - 18 / 47)


def test_layerwise_on_one_rank_is_the_sum_of_the_tasks():
    assert layerwise(table_of(TWO, 1))[1].step_s == 18 + 47


def test_baselines_that_do_not_fit():
    assert data_parallel(table_of(TWO, 2, 15)).misfit == "block 1 (b) does not fit at a share of 2"
    assert layerwise(table_of(TWO, 2, 15))[1].misfit == "block 1 (b) does not fit at a share of 4"
    assert data_parallel(table_of(TWO, 2, 20)).misfit is None


@pytest.mark.parametrize("name", SHIPPED)
def test_the_papers_order_on_the_shipped_profiles(name):
    table = table_of(shipped(name), 4)
    steps = {}
    for asked in ("ahd", "tr+dpu", "tr"):
        choice = choose(asked, 6, 4, 256, table)
        steps[asked] = relaying(table, choice.schedule, choice.barrier).step_s
    dp = data_parallel(table).step_s
    assert steps["ahd"] < 0.6 * steps["tr+dpu"]
    assert steps["tr+dpu"] <= steps["tr"] < dp
    assert 0.020 < steps["ahd"] < steps["tr"] < 0.080


@settings(max_examples=100, deadline=None)
@given(profiles(infeasible=False))
def test_searched_is_never_slower_than_decoupled_nor_that_than_the_barrier(data):
    n_ranks, n_blocks, batch = len(data["ranks"]), len(data["blocks"]), data["batch"]
    table = table_of(data, n_ranks)
    steps = []
    for asked in ("ahd", "tr+dpu", "tr"):
        choice = choose(asked, n_blocks, n_ranks, batch, table)
        steps.append(relaying(table, choice.schedule, choice.barrier).step_s)
    assert steps[0] <= steps[1] <= steps[2]


def test_nothing_to_do_takes_no_time():
    data = plain(n_blocks=1, n_ranks=1)
    data["blocks"][0] |= {"teacher_s": {"12": 0}, "student_s": {"12": 0}, "load_s": 0}
    found = relaying(table_of(data, 1), parse("0@0"))
    assert (found.step_s, found.idle) == (0, (0,))
