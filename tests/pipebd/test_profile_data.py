import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpc.io.errors import InputError
from hpc.pipebd.profile_data import RankProfile, at_share, at_size, check_fits
from tests.pipebd.profile_cases import plain, profile_of


@pytest.mark.parametrize(
    ("share", "expected"),
    [(64, 1.0), (96, 2.0), (128, 3.0), (160, 4.0), (256, 7.0), (1, 1.0), (63, 1.0)],
)
def test_linear_between_neighbours_and_held_below_the_smallest(share, expected):
    assert at_share({256: 7.0, 64: 1.0, 128: 3.0}, share) == pytest.approx(expected)


@pytest.mark.parametrize("share", [65, 100, 128, 129, 300])
def test_infeasible_at_a_null_beside_one_and_above_the_largest(share):
    assert at_share({64: 1.0, 128: None, 256: None}, share) == math.inf


def test_feasible_below_a_null():
    assert at_share({64: 1.0, 128: None}, 64) == 1.0
    assert at_share({64: None, 128: 2.0}, 32) == math.inf


@given(st.floats(0, 9), st.floats(0, 9), st.integers(4, 16))
def test_interpolation_stays_between_its_neighbours(low, high, share):
    between = at_share({4: low, 16: high}, share)
    assert min(low, high) - 1e-12 <= between <= max(low, high) + 1e-12


def test_all_reduce_by_group_size():
    allreduce_s = {2: (1.0, 10.0), 4: (3.0, 30.0)}
    assert [at_size(allreduce_s, size, 1) for size in (1, 2, 3, 4, 9)] == [0, 10, 20, 30, 30]


def test_for_fewer_ranks_and_for_more():
    data = plain(n_ranks=2)
    data["ranks"] = [{"speed": 2.0, "memory_bytes": 100}, {"speed": 1.5, "memory_bytes": 90}]
    profile = profile_of(data)
    assert profile.for_ranks(1).ranks == (RankProfile(2.0, 100),)
    assert profile.for_ranks(3).ranks[2] == RankProfile(1.5, 90)
    assert profile.for_ranks(3).ranks[:2] == profile.ranks


def test_for_no_ranks_and_for_ranks_without_an_all_reduce():
    with pytest.raises(InputError, match="0 ranks; expected at least 1"):
        profile_of(plain()).for_ranks(0)
    alone = profile_of(plain(n_ranks=1))
    assert alone.for_ranks(1) == alone
    with pytest.raises(InputError, match=r"taken on 1 rank .* to plan for 2 ranks"):
        alone.for_ranks(2)


def test_profile_of_another_workload_batch_or_number_of_blocks():
    profile = profile_of(plain() | {"workload": "vgg16-dsconv"})
    good = {"workload": "vgg16-dsconv", "batch": 12, "n_blocks": 3}
    check_fits(profile, "p.json", **good)
    check_fits(profile_of(plain()), "p.json", **good)
    for change, says in [
        ({"workload": "other"}, "of workload 'vgg16-dsconv', the run's is 'other'"),
        ({"batch": 16}, "of batch 12, the run's is 16; use --batch 12"),
        ({"n_blocks": 4}, "of 3 blocks, the workload has 4"),
    ]:
        with pytest.raises(InputError) as caught:
            check_fits(profile, "p.json", **(good | change))
        assert says in str(caught.value)
        assert str(caught.value).startswith("p.json: ")
