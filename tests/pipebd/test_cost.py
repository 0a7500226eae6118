import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpc.pipebd.cost import cost_table, readable_bytes
from hpc.pipebd.schedule import parse
from tests.pipebd.exhaustive import all_schedules, group_time, spelled
from tests.pipebd.profile_cases import plain, profile_of, profiles


@settings(max_examples=200, deadline=None)
@given(profiles(), st.data())
def test_group_times_are_the_issues_definition(data, draw):
    n_ranks = len(data["ranks"])
    table = cost_table(profile_of(data), n_ranks)
    schedules = list(all_schedules(len(data["blocks"]), n_ranks))
    groups = draw.draw(st.sampled_from(schedules))
    schedule = parse(spelled(groups))
    expected = [group_time(data, group) for group in groups]
    assert (table.misfit(schedule) is None) == all(map(math.isfinite, expected))
    if table.misfit(schedule) is None:
        found = [table.group_s(group) for group in schedule.groups]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_group_by_hand():
    """12 samples over 2 ranks, the slower at half speed: (6 + 12 + 2 * 0.5) ms * 2 + 6 ms / 2."""
    data = plain()
    data["ranks"][1]["speed"] = 0.5
    table = cost_table(profile_of(data), 3)
    (group, _) = parse("0-1@0-1 2@2").groups
    assert table.group_s(group) == pytest.approx(0.041)
    assert table.memory_bytes(group) == 6 * 1000 + 6 * 2000


def test_the_largest_share_counts():
    table = cost_table(profile_of(plain(batch=10)), 3)
    (group,) = parse("0-2@0-2").groups
    assert table.group_s(group) == pytest.approx(4 * (1 + 2 + 3) / 1e3 + 3 * 0.0005 + 0.006 / 3)


def test_architecture_rounds_are_spread_over_the_steps_between_them():
    data = plain(n_blocks=2, n_ranks=1) | {"architecture_every": 4}
    for block in data["blocks"]:
        block["architecture_s"] = {"12": 0.040}
    table = cost_table(profile_of(data), 1)
    teacher_ms, student_ms, load_ms = 12 * 0.25 * 3, 12 * 0.75 * 3, 6
    weight_step, round_ = teacher_ms + student_ms + load_ms, teacher_ms + 80 + load_ms
    (group,) = parse("0-1@0").groups
    assert table.group_s(group) == pytest.approx((weight_step + round_ / 4) / 1e3)


def test_misfit_names_block_share_and_memory():
    data = plain()
    data["blocks"][1]["teacher_s"] = {"6": 0.1, "12": None}
    table = cost_table(profile_of(data), 3, memory_limit=20_000)
    assert table.misfit(parse("0@0 1@1 2@2")) == (
        "block 1 (b1) does not fit a device at a share of 12"
    )
    assert table.misfit(parse("0@0 1-2@1-2")) == (
        "group 1-2@1-2 needs 29.3 KiB on a rank at a share of 6, the limit is 19.5 KiB"
    )
    assert table.misfit(parse("0-1@0-1 2@2")) is not None
    assert table.misfit(parse("0-2@0-2")) == (
        "group 0-2@0-2 needs 23.4 KiB on a rank at a share of 4, the limit is 19.5 KiB"
    )
    assert cost_table(profile_of(data), 3).misfit(parse("0-2@0-2")) is None


def test_the_tighter_of_both_limits_counts():
    data = plain()
    data["ranks"][0]["memory_bytes"] = 500
    limits = cost_table(profile_of(data), 3, memory_limit=800).limit
    assert limits.tolist() == [500, 800, 800]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (8 << 30, "8.0 GiB")],
)
def test_readable_bytes(count, text):
    assert readable_bytes(count) == text
