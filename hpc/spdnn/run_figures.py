"""The figures of a run for --json, and its table of ranks for people."""

from __future__ import annotations

import argparse
import resource
from typing import Any

from mpi4py import MPI

from hpc.io.shard import Shard
from hpc.report.figures import table
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.kernels import Kernel
from hpc.spdnn.load import Loaded

KINDS = ("compute", "wait", "pack", "merge", "read", "validate")


def describe_run(
    comm: MPI.Comm, args: argparse.Namespace, kernel: Kernel, shard: Shard
) -> dict[str, Any]:
    """Return what ran: ranks, replicas, batch, kernel, device, edges of the network. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        All ranks of the run.
    args : argparse.Namespace
        For replicas, batch and threads.
    kernel : Kernel
        That ran; on the CPU unless it says otherwise.
    shard : Shard
        This rank's share.

    Returns
    -------
    dict
        By name, for --json; the same on all ranks.
    """
    held = comm.allreduce(sum(layer.n_edges for layer in shard.layers))
    return {
        "ranks": comm.size,
        "replicas": args.replicas,
        "batch": args.batch,
        "kernel": kernel.name,
        "threads": args.threads,
        "device": str(getattr(kernel, "device", "cpu")),
        "edges": held // args.replicas,
    }


def ranks_text(figures: dict[str, Any]) -> str:
    """Return on how many ranks something ran, for people.

    Parameters
    ----------
    figures : dict
        With those of `describe_run`.

    Returns
    -------
    str
        Such as '4 rank(s) in 2 replicas'.
    """
    replicas = figures["replicas"]
    return f"{figures['ranks']} rank(s)" + (f" in {replicas} replicas" if replicas > 1 else "")


def per_rank(comm: MPI.Comm, loaded: Loaded, clock: Stopwatch) -> dict[str, list[float]] | None:
    """Gather what each rank has measured. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        All ranks of the run.
    loaded : Loaded
        The network as this rank has it.
    clock : Stopwatch
        Of this rank.

    Returns
    -------
    dict of str to list of float, or None
        On rank 0 a list over ranks of each figure, None elsewhere: compute_s, wait_s, pack_s,
        merge_s, read_s, validate_s in seconds; start_s, bytes_read of loading the network;
        rank_edges, the weights held; peak_bytes, the rank's largest resident memory so far.
    """
    mine: dict[str, float] = {f"{kind}_s": clock.total(kind) for kind in KINDS}
    mine["start_s"] = loaded.start_s
    mine["bytes_read"] = loaded.bytes_read
    mine["rank_edges"] = sum(layer.n_edges for layer in loaded.shard.layers)
    mine["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    everyone = comm.gather(mine)
    if everyone is None:
        return None
    return {name: [figures[name] for figures in everyone] for name in mine}


def rank_table(figures: dict[str, Any]) -> str:
    """Return the table of ranks: edges and seconds.

    Parameters
    ----------
    figures : dict
        With those of `per_rank`.

    Returns
    -------
    str
        A line for each rank, below a head.
    """
    rows = [
        [
            rank,
            f"{figures['rank_edges'][rank]:,.0f}",
            *(f"{figures[f'{kind}_s'][rank]:.3f}" for kind in KINDS),
            f"{figures['peak_bytes'][rank] / 2**20:.0f}",
        ]
        for rank in range(len(figures["rank_edges"]))
    ]
    head = ["rank", "edges", *(f"{kind} s" for kind in KINDS), "peak MiB"]
    return table(head, rows)
