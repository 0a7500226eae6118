import pytest

from hpc.io.errors import InputError
from hpc.pipebd.cost import cost_table
from hpc.pipebd.names import NAMES, choose
from hpc.pipebd.schedule import validate
from tests.pipebd.profile_cases import plain, profile_of


@pytest.mark.parametrize(
    ("asked", "text", "barrier"),
    [
        ("tr", "0-1@0 2-3@1 4@2 5@3", True),
        ("tr+dpu", "0-1@0 2-3@1 4@2 5@3", False),
        ("ir", "0-5@0-3", False),
        ("0-2@0-2 3-5@3", "0-2@0-2 3-5@3", False),
        ("0-5@0 (4 ranks, 3 idle)", "0-5@0 (4 ranks, 3 idle)", False),
    ],
)
def test_schedules_without_costs(asked, text, barrier):
    choice = choose(asked, 6, 4, 256)
    assert (str(choice.schedule), choice.barrier) == (text, barrier)
    validate(choice.schedule, 6, 4, 256)


@pytest.mark.parametrize("asked", ["dp", "ls"])
def test_baselines_have_no_schedule(asked):
    choice = choose(asked, 6, 4, 256)
    assert (choice.name, choice.schedule) == (asked, None)


def test_more_ranks_than_blocks_leave_the_rest_idle():
    assert str(choose("tr", 2, 5, 8).schedule) == "0@0 1@1 (5 ranks, 3 idle)"


def test_costs_balance_the_naive_distribution():
    """Blocks of 1, 2, 3 and 4 ms a sample on two ranks: 6 to 4, where equal counts are 3 to 7."""
    table = cost_table(profile_of(plain(n_blocks=4, n_ranks=2)), 2)
    assert str(choose("tr", 4, 2, 12, table).schedule) == "0-2@0 3@1"
    assert str(choose("tr", 4, 2, 12).schedule) == "0-1@0 2-3@1"


@pytest.mark.parametrize(
    ("asked", "batch", "says"),
    [
        ("fast", 8, "unknown schedule 'fast'; expected ahd, tr+dpu, tr, ir, dp, ls or groups"),
        ("", 8, "unknown schedule ''"),
        ("0-2@0", 8, "misses blocks 3-5"),
        ("ir", 3, "splits a batch of 3 over 4 ranks"),
        ("dp", 3, "splits a batch of 3 over 4 ranks"),
        ("ahd", 8, "give a profile"),
    ],
)
def test_what_cannot_be_chosen(asked, batch, says):
    with pytest.raises(InputError) as caught:
        choose(asked, 6, 4, batch)
    assert says in str(caught.value)


def test_every_name_is_understood():
    table = cost_table(profile_of(plain()), 3)
    assert {choose(name, 3, 3, 12, table).name for name in NAMES} == set(NAMES)
    assert set(NAMES) == {"ahd", "tr", "tr+dpu", "ir", "dp", "ls"}
