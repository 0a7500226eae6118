"""A rank's shard: from a sharded file, a network file and a plan in parallel, or from memory.

The parallel way reads every byte of the network once, whatever P: each rank
reads a contiguous share of each layer's rows and routes the rows to their owners.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.replicas import replica_groups
from hpc.comm.route import route, route_rows
from hpc.comm.sameness import same_on_all
from hpc.comm.world import together
from hpc.io import container, network, sharded
from hpc.io.errors import InputError
from hpc.io.halo import CutLayer, Ints, Part, Traffic, cut_layer, owned_ids
from hpc.io.layer_list import Given, digest_of_values, header_of_layers, layer_list
from hpc.io.network import FLOATS, NetworkFile, NetworkHeader, open_network
from hpc.io.ownership import owned_range
from hpc.io.plan import Plan, block_plan, check_parts, check_plan, read_plan
from hpc.io.shard import LayerShard, Shard, build_shard
from hpc.spdnn.row_order import reorder

Path = str | os.PathLike[str]
Read = tuple[Shard, int, Traffic | None]
"""See `Loaded`."""


@dataclass(frozen=True)
class Loaded:
    """A shard and what it took to get it: seconds and bytes of datasets read by this rank.

    random_traffic : of a random plan, as the plan file has it; None where none says so, and on
    all but the first rank of a replica.
    """

    shard: Shard
    start_s: float
    bytes_read: int
    random_traffic: Traffic | None = None


def load_shard(
    comm: MPI.Comm,
    source: Path | Sequence[Given],
    plan: Path | Plan | None = None,
    dtype: str | None = None,
    replicas: int = 1,
) -> Loaded:
    """Return this rank's share of a network, rows reordered. Collective.

    Parameters
    ----------
    comm : of all ranks.
    source : network or sharded file; or the whole network in memory, the same on all ranks, see
        `layer_list`.
    plan : file or `Plan`, but for a sharded file; without it the rows are cut in contiguous
        blocks.
    dtype : 'float32' or 'float64'; the network's without it.
    replicas : groups of consecutive ranks that each load the whole network, so the cut is
        for comm.size / replicas ranks.

    Returns
    -------
    The share, and what it took.

    Raises
    ------
    AgreedError : on all ranks, if any rank finds its file or network bad, or the ranks cannot
        be split.
    """
    began, random = perf_counter(), None
    with replica_groups(comm, replicas) as ranks:
        job = "the job" if replicas == 1 else f"each of {replicas} replicas"
        with ranks.together():
            if isinstance(source, str | os.PathLike):
                shard, bytes_read, random = _read(ranks.group, source, plan, job)
            else:
                shard, bytes_read = _cut(comm, ranks.group, source, plan, job), 0
            if dtype is not None and shard.dtype.name != dtype:
                with together(ranks.group):
                    _check_dtype(dtype)
                shard = as_dtype(shard, np.dtype(dtype))
            reorder(shard)
    return Loaded(shard, perf_counter() - began, bytes_read, random)


def _check_dtype(dtype: str) -> None:
    if dtype not in FLOATS:
        raise InputError(f"dtype {dtype!r}: expected {' or '.join(FLOATS)}")


def _cut(
    world: MPI.Comm,
    group: MPI.Comm,
    network: Sequence[Given],
    plan: Path | Plan | None,
    job: str,
) -> Shard:
    """Return this rank's share of what all ranks of the world have in memory. Collective there."""
    with together(world):
        layers = layer_list(network)
        header = header_of_layers(layers)
        plan = _plan(header, plan, group.size, job)
    same_on_all(world, network=header.fingerprint, weights=digest_of_values(layers))
    return build_shard(layers, plan, group.rank)


def _read(comm: MPI.Comm, path: Path, plan: Path | Plan | None, job: str) -> Read:
    with together(comm):
        kind = container.format_of(path)
        _check_usage(kind, path, plan)
    if kind == sharded.KIND:
        return _read_sharded(comm, path, job)
    return _read_network(comm, path, plan, job)


def _check_usage(kind: str, path: Path, plan: Path | Plan | None) -> None:
    if kind not in (sharded.KIND, network.KIND):
        raise InputError(f"{path}: a {kind} file, expected a network or a sharded network")
    if kind == sharded.KIND and plan is not None:
        raise InputError(f"{path}: is sharded, so it holds its plan; leave --plan out")


def _read_sharded(comm: MPI.Comm, path: Path, job: str) -> Read:
    with together(comm):
        parts = sharded.read_sharded_header(path).parts
        if parts != comm.size:
            raise InputError(f"{path}: sharded for {parts} ranks, {job} has {comm.size}")
    with together(comm):
        shard, bytes_read = sharded.read_shard(path, comm.rank)
    return shard, bytes_read, None


def _read_network(comm: MPI.Comm, path: Path, asked: Path | Plan | None, job: str) -> Read:
    layers: list[LayerShard] = []
    with contextlib.ExitStack() as opened:
        with together(comm):
            file = opened.enter_context(open_network(path))
            header = file.header
            plan = _plan(header, asked, comm.size, job)
        for k in range(header.n_layers):
            layers.append(_load_layer(comm, file, plan, k))
        bytes_read = file.bytes_read
    ids = tuple(owned_ids(level, comm.rank) for level in plan.owners)
    shard = Shard(
        comm.rank, comm.size, header.sizes, ids, tuple(layers), header.fingerprint, header.dtype
    )
    return shard, bytes_read, plan.random_traffic if comm.rank == 0 else None


def _plan(header: NetworkHeader, asked: Path | Plan | None, size: int, job: str) -> Plan:
    check_parts(size, header, "ranks")
    if asked is None:
        return block_plan(header.sizes, size, header.fingerprint)
    where = "plan" if isinstance(asked, Plan) else str(asked)
    plan = asked if isinstance(asked, Plan) else read_plan(asked)
    if plan.parts != size and job != "the job":
        raise InputError(f"{where}: made for {plan.parts} ranks, {job} has {size}")
    if isinstance(asked, Plan) and not plan.fingerprint:  # made in memory: sizes are checked
        plan = replace(plan, fingerprint=header.fingerprint)
    check_plan(plan, header, size, where)
    return plan


def _load_layer(comm: MPI.Comm, file: NetworkFile, plan: Plan, k: int) -> LayerShard:
    owners_in, owners_out = plan.owners[k : k + 2]
    start, stop = owned_range(len(owners_out), comm.size, comm.rank)
    with together(comm):
        rows = file.rows(k, start, stop)
    lengths, (columns, data), (bias,) = route_rows(
        comm,
        np.diff(rows.indptr),
        owners_out[start:stop],
        [rows.indices, rows.data],
        [rows.bias],
    )
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    cut = cut_layer(indptr, columns, data, owners_in, comm.rank)
    own = owned_ids(owners_in, comm.rank)
    activation, clip = file.header.activations[k], file.header.clips[k]
    return LayerShard(
        len(own),
        len(bias),
        cut.core,
        cut.parts,
        cut.needs,
        _agree_on_sends(comm, cut, own),
        bias,
        activation,
        clip,
    )


def _agree_on_sends(
    comm: MPI.Comm, cut: CutLayer, own: Ints
) -> tuple[tuple[int, npt.NDArray[np.int32]], ...]:
    """Tell each source what is needed of it; return what the others need of this rank."""
    counts = np.zeros(comm.size, np.int64)
    counts[[part.source for part in cut.parts]] = [len(ids) for ids in cut.needs]
    wanted = np.concatenate([np.empty(0, np.int32), *cut.needs])
    asked, asked_counts = route(comm, wanted, counts)
    local = np.searchsorted(own, asked).astype(np.int32)
    pieces = np.split(local, np.cumsum(asked_counts)[:-1])
    return tuple((rank, rows) for rank, rows in enumerate(pieces) if len(rows))


def as_dtype(shard: Shard, dtype: np.dtype[np.floating]) -> Shard:
    """Return the shard with weights and biases in another precision.

    Parameters
    ----------
    shard : any.
    dtype : float32 or float64.

    Returns
    -------
    The shard.
    """

    def cast(part: Part) -> Part:
        return replace(part, data=part.data.astype(dtype))

    layers = tuple(
        replace(
            layer,
            core=cast(layer.core),
            parts=tuple(map(cast, layer.parts)),
            bias=layer.bias.astype(dtype),
        )
        for layer in shard.layers
    )
    return replace(shard, layers=layers, dtype=dtype)
