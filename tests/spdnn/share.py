"""One rank's share for a test, and the whole put together again."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hpc.io.shard import build_shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.forward import plan_forward
from hpc.spdnn.kernels import ScipyKernel
from hpc.spdnn.levels import columns, set_columns, turning_levels
from hpc.spdnn.runtime import Runtime, layer_weights
from hpc.spdnn.save import global_rows


def forward_pass(comm, layers, plan, batch, kernel=None):
    """Return a planned forward pass of this rank and its shard."""
    shard = build_shard(layers, plan, comm.rank)
    levels = turning_levels(shard, batch, shard.dtype)
    biases = [layer.bias for layer in shard.layers]
    runtime = Runtime(comm, kernel or ScipyKernel(), Stopwatch())
    return plan_forward(runtime, shard, layer_weights(shard), biases, levels), shard


def run_forward(comm, layers, plan, x, kernel=None):
    """Return this rank's rows of the last level, (n_out, batch), and the pass."""
    forward, shard = forward_pass(comm, layers, plan, x.shape[1], kernel)
    set_columns(forward.levels[0], x[shard.ids[0]])
    return columns(forward.run()), forward, shard


def whole_weights(comm, shard, values):
    """Return per layer the dense (n_out, n_in) matrix of all ranks' `values`."""
    found = []
    for k, layer in enumerate(shard.layers):
        rows = global_rows(layer, shard.ids[k], values[k], layer.bias)
        mine = sparse.csr_array(
            (rows.data, rows.indices, rows.indptr), shape=(layer.n_out, shard.sizes[k])
        ).toarray()
        whole = np.zeros((shard.sizes[k + 1], shard.sizes[k]))
        for ids, part in comm.allgather((shard.ids[k + 1], mine)):
            whole[ids] = part
        found.append(whole)
    return found


def whole_biases(comm, shard, biases):
    """Return per layer the (n_out,) bias of all ranks."""
    found = []
    for k in range(len(shard.layers)):
        whole = np.zeros(shard.sizes[k + 1])
        for ids, part in comm.allgather((shard.ids[k + 1], biases[k])):
            whole[ids] = part
        found.append(whole)
    return found
