"""`doctor`: facts from all ranks, what messages between them take, what is wrong."""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mpi4py import MPI

from hpc.cli.config import with_config
from hpc.comm.foreign_launcher import alone
from hpc.comm.launcher import launched_rank
from hpc.comm.mpi_start import HEADSTART_S
from hpc.comm.world import owned, together
from hpc.doctor.asking import ask
from hpc.doctor.facts import Facts, LinkTime
from hpc.doctor.findings import Finding, findings, ranks_text
from hpc.doctor.links import time_links
from hpc.io.outputs import check_outputs
from hpc.report.figures import quantity, table, write_json

EXIT_FOUND = 1
"""Exit code where something is wrong."""


def run(args: argparse.Namespace, world: MPI.Comm) -> int:
    """Run the command. Collective.

    Parameters
    ----------
    args : argparse.Namespace
        Options, see `commands.add_parser`.
    world : MPI.Comm
        Of all ranks of the job; a duplicate of it is used.

    Returns
    -------
    int
        Exit code, on all ranks: 0, or EXIT_FOUND.

    Raises
    ------
    AgreedError : on all ranks: --json cannot be written.
    """
    with owned(world) as comm:
        with together(comm):
            if comm.rank == 0:
                check_outputs(vars(args), ["json"])
        mine = ask(comm)
        links = [] if args.quick else time_links(comm)
        everybody = comm.gather(mine)
        wrong = findings(everybody, links) if everybody is not None else None
        if everybody is not None and not _other_process(mine):
            told = text(everybody, links, wrong or [], args.quiet)
            print(told, end="\n" * bool(told), flush=True)
            if args.json:
                write_json(args.json, with_config(args, figures(everybody, links, wrong or [])))
        return EXIT_FOUND if comm.bcast(bool(wrong)) else 0


def _other_process(mine: Facts) -> bool:
    """Return whether another process of a launch that fell apart speaks, after waiting for it."""
    if not alone(mine.launch, mine.world) or launched_rank() == 0:
        return False
    time.sleep(HEADSTART_S)
    return True


def text(
    everybody: Sequence[Facts],
    links: Sequence[LinkTime],
    wrong: Sequence[Finding],
    quiet: bool = False,
) -> str:
    """Return what people read. Pure.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.
    links : sequence of LinkTime
        Of the pairs that were timed, if any.
    wrong : sequence of Finding
        All that is wrong.
    quiet : bool
        Nothing but these.

    Returns
    -------
    str
        Paragraphs, without a newline at the end; empty where it is quiet and nothing is wrong.
    """
    named = "\n".join(f"wrong: {one}" for one in wrong)
    if quiet:
        return named
    parts = [_rank_table(everybody), _said("MPI", everybody, _mpi_text)]
    parts += [_said("versions", everybody, _versions_text), _said("files", everybody, _files_text)]
    if links:
        parts.append(_link_table(links))
    return "\n\n".join([*parts, named or "nothing is wrong"])


def figures(
    everybody: Sequence[Facts], links: Sequence[LinkTime], wrong: Sequence[Finding]
) -> dict[str, Any]:
    """Return the same for --json. Pure.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.
    links : sequence of LinkTime
        Of the pairs that were timed, if any.
    wrong : sequence of Finding
        All that is wrong.

    Returns
    -------
    dict
        With 'ranks', 'links' and 'findings'; seconds and bytes/s.
    """
    return {
        "command": "doctor",
        "ranks": [asdict(one) for one in everybody],
        "links": [asdict(link) for link in links],
        "findings": [asdict(one) for one in wrong],
    }


def _rank_table(everybody: Sequence[Facts]) -> str:
    head = ["rank", "host", "cores", "threads", "GPU", "kernels"]
    rows = [
        [
            one.rank,
            one.host,
            f"{_numbers(one.cores)} of {one.host_cores}",
            one.threads.get("OMP_NUM_THREADS", "not set"),
            one.gpu.name if one.gpu else "none",
            " ".join(name for name, why in one.kernels.items() if not why),
        ]
        for one in everybody
    ]
    return table(head, rows)


def _numbers(cores: Sequence[int]) -> str:
    return ranks_text(cores).split(" ", 1)[1].replace(" ", "")


def _said(what: str, everybody: Sequence[Facts], of: Any) -> str:
    """Return a line of what ranks say, one for those that say the same."""
    who: dict[str, list[int]] = defaultdict(list)
    for one in everybody:
        who[of(one)].append(one.rank)
    if len(who) == 1:
        return f"{what:<9} {next(iter(who))}"
    return "\n".join(f"{what:<9} {ranks_text(ranks)}: {said}" for said, ranks in who.items())


def _mpi_text(one: Facts) -> str:
    mpi = one.mpi
    aware = "unknown" if mpi.cuda_aware is None else _yes(mpi.cuda_aware)
    yielding = "" if mpi.yields is None else f", waiting ranks yield: {_yes(mpi.yields)}"
    return (
        f"{mpi.library} (standard {mpi.standard}), threads: {mpi.threads}, CUDA-aware: {aware}, "
        f"counts over 2^31: {_yes(mpi.large_counts)}, ULFM: {mpi.survives}{yielding}"
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _versions_text(one: Facts) -> str:
    return ", ".join(f"{name} {version}" for name, version in one.versions.items())


def _files_text(one: Facts) -> str:
    folders = [f"{path}{'' if ok else ' (not writable)'}" for path, ok in one.folders.items()]
    free = "no /dev/shm" if one.shm_free is None else f"/dev/shm {one.shm_free >> 20} MiB free"
    return ", ".join([*folders, free])


def _link_table(links: Sequence[LinkTime]) -> str:
    rows = [
        [
            "{} - {}".format(*link.ranks),
            f"{1e6 * link.latency_s:.3g} µs",
            quantity(link.bandwidth, "B/s"),
        ]
        for link in links
    ]
    return table(["ranks", "latency", "bandwidth"], rows)
