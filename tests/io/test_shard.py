"""Shards of all ranks of any size, built in one process."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpc.io.halo import layer_traffic
from hpc.io.shard import build_shard, build_shards
from tests.spdnn.serial import random_layers, random_plan

networks = st.tuples(
    st.lists(st.integers(1, 12), min_size=2, max_size=4),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
)


def cut_network(case):
    sizes, density, seed, parts = case
    layers = random_layers(sizes, density, seed)
    plan = random_plan(sizes, parts, seed)
    return layers, plan, build_shards(layers, plan, range(parts))


@given(networks)
def test_what_m_sends_to_n_is_what_n_needs_of_m(case):
    layers, _, shards = cut_network(case)
    for k in range(len(layers)):
        sent = {
            (shard.rank, destination): shard.ids[k][rows].tolist()
            for shard in shards
            for destination, rows in shard.layers[k].sends
        }
        needed = {
            (part.source, shard.rank): ids.tolist()
            for shard in shards
            for part, ids in zip(shard.layers[k].parts, shard.layers[k].needs, strict=True)
        }
        assert sent == needed


@given(networks)
def test_words_and_messages_are_those_of_the_traffic(case):
    layers, plan, shards = cut_network(case)
    for k, layer in enumerate(layers):
        below, above = plan.owners[k : k + 2]
        indptr = layer.weight.indptr.astype(np.int64)
        words, messages, edges = layer_traffic(
            indptr, layer.weight.indices, above, below, plan.parts
        )
        mine = [shard.layers[k] for shard in shards]
        assert [sum(len(rows) for _, rows in one.sends) for one in mine] == words.tolist()
        assert [len(one.sends) for one in mine] == messages.tolist()
        assert [one.n_edges for one in mine] == edges.tolist()


@given(networks)
def test_shards_together_are_the_network(case):
    layers, _, shards = cut_network(case)
    for k, layer in enumerate(layers):
        weight, bias = np.zeros(layer.weight.shape), np.full(len(layer.bias), np.nan)
        for shard in shards:
            one, rows = shard.layers[k], shard.ids[k + 1]
            assert (one.n_in, one.n_out) == (len(shard.ids[k]), len(rows))
            bias[rows] = one.bias
            columns = np.concatenate([shard.ids[k], *one.needs])
            assert len(columns) == one.n_ext
            for part in (one.core, *one.parts):
                local = np.repeat(part.rows, np.diff(part.indptr))
                weight[rows[local], columns[part.indices]] += part.data
        np.testing.assert_array_equal(weight, layer.weight.toarray())
        np.testing.assert_array_equal(bias, layer.bias)


@given(networks)
def test_a_group_of_ranks_is_built_as_each_alone(case):
    layers, plan, shards = cut_network(case)
    half = range(plan.parts // 2, plan.parts)
    for found in (*build_shards(layers, plan, half), build_shard(layers, plan, 0)):
        expected = shards[found.rank]
        for mine, theirs in zip(found.layers, expected.layers, strict=True):
            assert [(to, rows.tolist()) for to, rows in mine.sends] == [
                (to, rows.tolist()) for to, rows in theirs.sends
            ]
            np.testing.assert_array_equal(mine.core.data, theirs.core.data)


@pytest.mark.parametrize("parts", [5, 9])
def test_ranks_without_a_neuron_have_empty_shards(parts):
    sizes = (4, 3, 2)
    layers = random_layers(sizes, 0.8, 3)
    plan = random_plan(sizes, 2, 3)
    shards = build_shards(layers, type(plan)(parts, plan.owners, "", {}), range(parts))
    for shard in shards[2:]:
        for layer in shard.layers:
            assert (layer.n_in, layer.n_out, layer.n_ext, layer.n_edges) == (0, 0, 0, 0)
            assert not layer.sends and not layer.parts and layer.core.indptr.tolist() == [0]
