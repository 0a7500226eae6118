"""Sharding in groups of ranks gives the same file as all ranks at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpc.io.network import NetworkHeader, open_network
from hpc.io.plan import block_plan
from hpc.io.shard import build_shard
from hpc.io.sharded import read_shard
from partition.asked import Asked
from partition.build import build_plan
from partition.shard import rank_groups, shard_network
from tests.io.test_sharded import assert_same
from tests.partition.networks import challenge_file


@pytest.mark.parametrize(("budget", "n_groups"), [(1, 7), (700_000, 4), (1 << 30, 1)])
def test_any_budget_gives_every_rank_its_shard(tmp_path, budget, n_groups):
    steps = []
    with open_network(challenge_file(tmp_path, 3)) as network:
        plan = build_plan(network, Asked(7, "random")).plan
        groups = rank_groups(network.header, plan, budget)
        shard_network(network, plan, tmp_path / "s.h5", groups, lambda: steps.append(1))
        expected = [build_shard(network.layers(), plan, rank) for rank in range(7)]
    assert len(groups) == n_groups and len(steps) == 3 * n_groups
    for shard in expected:
        assert_same(read_shard(tmp_path / "s.h5", shard.rank)[0], shard)


@given(st.integers(1, 40), st.integers(1, 10**7))
def test_groups_are_all_ranks_in_order_within_the_budget(parts, budget):
    header = NetworkHeader("n", (100, 100), (3200,), ("relu",), (1.0,), np.dtype(np.float32), "f")
    groups = rank_groups(header, block_plan((100, 100), parts), budget)
    assert [rank for group in groups for rank in group] == list(range(parts))
    share = -(-3200 // parts) * (4 + 4)  # no less than the weights and their columns
    assert all(len(group) == 1 or len(group) * share <= budget for group in groups)
