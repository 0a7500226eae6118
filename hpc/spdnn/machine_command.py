"""`machine`: measure this machine for `python -m partition predict`."""

from __future__ import annotations

import argparse

from mpi4py import MPI

from hpc.cli.config import with_config
from hpc.comm.world import owned, together
from hpc.io.errors import InputError
from hpc.io.machine import Costs, Machine, write_machine
from hpc.io.outputs import check_outputs
from hpc.report.figures import quantity, table, write_json
from hpc.report.progress import progress
from hpc.spdnn.kernels import kernel
from hpc.spdnn.machine import REPEATS, measure
from hpc.spdnn.machine_cases import cases


def run(args: argparse.Namespace, world: MPI.Comm) -> int:
    """Run the command. Collective over `world`.

    Parameters
    ----------
    args : argparse.Namespace
        The options of `machine`.
    world : MPI.Comm
        All ranks of the job, duplicated here.

    Returns
    -------
    int
        Exit code 0.

    Raises
    ------
    AgreedError : on all ranks: fewer than 2 of them, no such kernel, files that cannot be written.
    """
    with owned(world) as comm:
        with together(comm):
            if comm.size < 2:
                raise InputError("machine: needs 2 ranks or more, start it with mpirun -n 2")
            local = kernel(args.kernel)
            if comm.rank == 0:
                check_outputs(vars(args), ["out", "json"])
        show = comm.rank == 0 and not args.quiet
        with progress("measuring", len(cases()), show) as step:
            repeats = 0 if args.quick else REPEATS
            inference, training = measure(comm, local, lambda: step(1, ""), repeats)
        if comm.rank == 0:
            host = MPI.Get_processor_name()
            about = {"kernel": local.name, "ranks": str(comm.size), "host": host}
            write_machine(args.out, Machine(inference, training, about))
            if args.json:
                figures = {"command": "machine", **about, "ranks": comm.size, "out": args.out}
                write_json(args.json, with_config(args, figures))
            print(f"{args.out}: {host}, {comm.size} ranks, kernel {local.name}")
            head = ["a large layer on a rank", "inference", "training"]
            print(table(head, _rows(inference, training)))
    return 0


def _rows(inference: Costs, training: Costs) -> list[list[str]]:
    """Return what people know these numbers by: those of the most rows and the largest batch."""
    rates = [one.at(one.rows[-1], one.batches[-1]) for one in (inference, training)]

    def per_second(seconds: float, unit: str) -> str:
        return quantity(1 / seconds, unit) if seconds else "not limiting"

    return [
        ["latency of a message", *(f"{1e6 * one.message_s:.3g} µs" for one in rates)],
        ["bandwidth", *(per_second(one.word_s / 4, "B/s") for one in rates)],
        ["edges", *(per_second(one.edge_column_s, "edges/s") for one in rates)],
        ["fixed", *(f"{1e6 * one.layer_s:.3g} µs" for one in rates)],
    ]
