"""Waves of panels: the division, and the same bits as without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from hpc.io.errors import InputError
from hpc.io.shard import build_shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn import waves as wave_numbers
from hpc.spdnn.forward import plan_forward
from hpc.spdnn.inference import equal_columns
from hpc.spdnn.kernels import kernel
from hpc.spdnn.levels import columns, level_rows, set_columns
from hpc.spdnn.merging_pass import MergingPass
from hpc.spdnn.panels import aligned
from hpc.spdnn.runtime import Runtime, layer_weights
from hpc.spdnn.waves import DEEP_WORK, check_waves, deep_waves, wave_count, wave_spans
from tests.spdnn.serial import random_layers, random_plan, serial_forward

SIZES = (23, 40, 3, 29, 17, 31, 11)
WIDTH = 8


@given(st.integers(1, 40), st.integers(1, 50))
def test_spans_cover_the_panels_in_equal_parts(panels, waves):
    spans = wave_spans(panels, waves)
    assert len(spans) == min(panels, waves)
    covered = [panel for span in spans for panel in range(span.start, span.stop)]
    assert covered == list(range(panels))
    sizes = {span.stop - span.start for span in spans}
    assert max(sizes) - min(sizes) <= 1


def test_two_waves_only_where_there_is_something_to_hide():
    assert wave_count(None, 1, 1e9, 1024) == 1
    assert wave_count(None, 2, 1e9, 1024) == 2
    assert wave_count(None, 2, 100, 64) == 1
    assert wave_count(5, 2, 100, 64) == 5
    with pytest.raises(InputError, match="--waves 0"):
        check_waves(0)


def turning(shard, panels, sides):
    """Return levels in `sides` buffers used in turn, as inference has them."""
    rows = level_rows(shard)
    memory = [aligned(max(rows) * panels * WIDTH, shard.dtype) for _ in range(sides)]
    return [
        memory[k % sides][: n * panels * WIDTH].reshape(panels, n, WIDTH)
        for k, n in enumerate(rows)
    ]


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["scipy", "numba"])
@pytest.mark.parametrize(("panels", "waves"), [(5, 2), (5, 3), (4, 4), (2, 9)])
def test_waves_in_three_buffers_give_the_serial_answer_and_the_bits_of_one(
    comm, name, panels, waves
):
    layers = random_layers(SIZES, 0.4, panels, np.float64, ("relu", "tanh"))
    shard = build_shard(layers, random_plan(SIZES, comm.size, waves), comm.rank)
    x = np.random.default_rng(waves).normal(size=(SIZES[0], panels * WIDTH))
    found = []
    for count, sides in ((1, 2), (waves, 3)):
        runtime = Runtime(comm, kernel(name), Stopwatch())
        biases = [layer.bias for layer in shard.layers]
        levels = turning(shard, panels, sides)
        forward = plan_forward(runtime, shard, layer_weights(shard), biases, levels, waves=count)
        for _ in range(3):  # buffers and requests again
            set_columns(forward.levels[0], x[shard.ids[0]])
            mine = columns(forward.run())
        found.append(mine)
        assert len(forward.exchanges) == min(count, panels) * len(layers)
        forward.free()
    np.testing.assert_array_equal(*found)
    expected = serial_forward(layers, x)[-1][shard.ids[-1]]
    np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.mpi
@pytest.mark.parametrize("waves", [2, 3])
def test_a_merging_pass_in_waves(comm, waves):
    """Three buffers in turn, over several stretches between looks, pools or none."""
    batch = 300
    layers = random_layers(SIZES, 0.4, 7, np.float64, ("relu",))
    shard = build_shard(layers, random_plan(SIZES, comm.size, 2), comm.rank)
    x = np.random.default_rng(3).normal(size=(SIZES[0], batch))
    out = np.empty((len(shard.ids[-1]), batch))

    def take(last, samples, column):
        out[:, samples] = columns(last)[:, column]

    numba = kernel("numba")
    runtime = Runtime(comm, numba, Stopwatch())
    merger = equal_columns(comm, shard, numba)
    passes = MergingPass(runtime, shard, batch, merger, False, take, waves=waves)
    set_columns(passes.first_level(batch), x[shard.ids[0]])
    passes.run(np.arange(batch, dtype=np.int32))
    passes.finish()
    passes.free()
    expected = serial_forward(layers, x)[-1][shard.ids[-1]]
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["scipy", "numba"])
def test_a_batch_of_more_panels_than_the_largest(comm, name):
    """A batch that is one panel comes first; a smaller one makes several, so several waves."""
    layers = random_layers(SIZES, 0.4, 7, np.float64, ("relu",))
    shard = build_shard(layers, random_plan(SIZES, comm.size, 2), comm.rank)
    runtime = Runtime(comm, kernel(name), Stopwatch())
    x = np.random.default_rng(3).normal(size=(SIZES[0], 131))
    out = np.empty((len(shard.ids[-1]), 131))

    def take(last, samples, column):
        out[:, samples] = columns(last)[:, column]

    passes = MergingPass(runtime, shard, 131, None, False, take, waves=2)
    for batch in (131, 69, 128, 131):
        out[...] = np.nan
        set_columns(passes.first_level(batch), x[shard.ids[0], :batch])
        passes.run(np.arange(batch, dtype=np.int32))
        expected = serial_forward(layers, x[:, :batch])[-1][shard.ids[-1]]
        np.testing.assert_allclose(out[:, :batch], expected, rtol=1e-12, atol=1e-12)
    passes.free()


@given(st.integers(1, 70), st.floats(0, 1e7), st.integers(1, 64))
def test_deep_waves_are_panels_or_enough_work(panels, edges, width):
    waves = deep_waves(panels, edges, width)
    assert 1 <= waves <= panels
    if edges * width >= DEEP_WORK:
        assert waves == panels


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("sizes", [(20, 20, 20, 20, 20), (20, 20, 31, 7, 20)])
def test_a_rank_without_peers_runs_deep_to_the_same_bits(monkeypatch, sizes, merge):
    """Where levels have equal rows; and with others, side by side."""
    batch, comm = 700, MPI.COMM_SELF
    layers = random_layers(sizes, 0.4, 7, np.float64, ("relu",))
    shard = build_shard(layers, random_plan(sizes, 1, 2), 0)
    x = np.random.default_rng(3).normal(size=(20, batch))
    found = []
    for work in (1, 10**12):  # a wave a panel; all panels in one
        monkeypatch.setattr(wave_numbers, "DEEP_WORK", work)
        out = np.empty((sizes[-1], batch))

        def take(last, samples, column, out=out):
            out[:, samples] = columns(last)[:, column]

        numba = kernel("numba")
        merger = equal_columns(comm, shard, numba) if merge else None
        runtime = Runtime(comm, numba, Stopwatch())
        passes = MergingPass(runtime, shard, batch, merger, False, take)
        for _ in range(2):
            set_columns(passes.first_level(batch), x)
            passes.run(np.arange(batch, dtype=np.int32))
        passes.finish()
        passes.free()
        found.append(out)
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], serial_forward(layers, x)[-1], rtol=1e-12, atol=1e-12)
