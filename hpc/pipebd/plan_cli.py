"""`python -m hpc pipebd plan`: the best schedule for a profile, predicted. No MPI, no torch."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from typing import Any

from hpc.cli.config import with_config
from hpc.cli.shared_options import add_json, add_quiet
from hpc.cli.words import Words
from hpc.io.errors import InputError, run_tool
from hpc.io.outputs import check_outputs
from hpc.pipebd.cost import CostTable, cost_table, readable_bytes
from hpc.pipebd.names import NAMES, choose
from hpc.pipebd.outlook import planned, shown
from hpc.pipebd.predict import Prediction, data_parallel
from hpc.pipebd.profile_file import read_profile
from hpc.pipebd.schedule import Schedule
from hpc.pipebd.shares import largest_share
from hpc.report.figures import table as aligned
from hpc.report.figures import write_json

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{prefix}i": 1 << 10 * power for power, prefix in enumerate("kmgt", 1)}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command `plan` to the subcommands of `pipebd`; `run` runs what it parses.

    Parameters
    ----------
    subparsers : argparse's subparsers
        Of `pipebd`; their parsers take `examples`.

    Returns
    -------
    argparse.ArgumentParser
        The command's; its `run_alone` returns the exit code, 0 or 2.
    """
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "plan",
        help="search the best schedule in a profile and predict it (needs no MPI)",
        description="Search the schedule of the least predicted step time, exactly, and print "
        "it beside the paper's other schedules.",
        examples=["python -m hpc pipebd plan --profile profile.json --ranks 2 --json plan.json"],
    )
    parser.add_argument(
        "--profile", required=True, metavar="FILE.json", help="from `pipebd profile`"
    )
    parser.add_argument("--ranks", required=True, type=int, metavar="N", help="ranks of the job")
    parser.add_argument(
        "--memory-limit",
        metavar="BYTES",
        help="most memory on a rank, such as 8GiB; beside what the profile says a rank has",
    )
    parser.add_argument(
        "--schedule",
        type=Words(NAMES),
        default="ahd",
        metavar="NAME",
        help=f"predict this one instead: {', '.join(NAMES)} or groups such as '0-2@0-2 3-5@3'",
    )
    add_json(parser, "schedule, step_s, group_s and idle")
    add_quiet(parser)
    parser.set_defaults(run_alone=lambda args: run_tool("hpc", lambda _: run(args)))
    return parser


def run(args: argparse.Namespace) -> None:
    """Run `plan` with the arguments that `add_parser`'s parser returned.

    Parameters
    ----------
    args : argparse.Namespace
        The options: a profile, ranks, schedule and limit in, a report and figures out.

    Raises
    ------
    InputError : a profile, schedule or limit that cannot be used; nothing that fits.
    """
    check_outputs(vars(args), ["json"])
    limit = None if args.memory_limit is None else parse_bytes(args.memory_limit)
    table = cost_table(read_profile(args.profile), args.ranks, limit)
    outlook = _outlook(args.schedule, table)
    if outlook.prediction.misfit is not None:
        raise InputError(f"schedule {args.schedule!r} cannot run: {outlook.prediction.misfit}")
    print(_report(outlook, table, notes=not args.quiet))
    if args.json is not None:
        write_json(args.json, with_config(args, _figures(outlook)))


def parse_bytes(text: str) -> int:
    """Return the bytes that `text` says: 1000000, 8GiB (2^30), 8GB or 8G (10^9).

    Parameters
    ----------
    text : str
        A number and a unit, in any case.

    Returns
    -------
    int
        Rounded down.

    Raises
    ------
    InputError : no number, another unit, less than a byte.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*((?:[kmgt]i?)?)(b?)", text.strip().lower())
    count = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if count < 1:
        raise InputError(f"memory limit {text!r}; expected bytes such as 8GiB, 500MB or 1000000")
    return count


@dataclass(frozen=True)
class _Outlook:
    """A choice and what it is predicted to do. runs : per rank what it runs. text : to print."""

    name: str
    schedule: Schedule | None
    prediction: Prediction
    runs: tuple[str, ...]
    text: str


def _outlook(asked: str, table: CostTable) -> _Outlook:
    choice = choose(asked, len(table.work), table.n_ranks, table.profile.batch, table)
    found = planned(choice, table)
    schedule = choice.schedule
    if schedule is not None:
        groups = [schedule.group_of(rank) for rank in range(table.n_ranks)]
        runs = tuple("-" if g is None else str(schedule.groups[g]) for g in groups)
    elif choice.name == "dp":
        runs = ("all",) * table.n_ranks
    else:
        runs = tuple(",".join(map(str, blocks)) or "-" for blocks in found.packing)
    assert found.prediction is not None
    return _Outlook(choice.name, schedule, found.prediction, runs, shown(found))


def _report(outlook: _Outlook, table: CostTable, notes: bool) -> str:
    step_s = outlook.prediction.step_s
    rate = table.profile.batch / step_s if step_s else float("inf")
    lines = [
        f"schedule  {outlook.text}",
        f"step      {_ms(step_s)} predicted, {rate:.0f} samples/s",
    ]
    if outlook.schedule is not None:
        lines += _idle_note(outlook, outlook.schedule) if notes else []
        lines += ["", _group_table(outlook.schedule, outlook.prediction, table)]
    lines += ["", _rank_table(outlook, table), "", _comparison(outlook, table)]
    return "\n".join(lines)


def _idle_note(outlook: _Outlook, schedule: Schedule) -> list[str]:
    if not schedule.idle:
        return []
    note = f"note      {schedule.idle} of {schedule.n_ranks} ranks stay idle"
    if outlook.name == "ahd":
        note += ": more ranks than useful, no schedule that uses them is faster"
    return [note]


def _group_table(schedule: Schedule, prediction: Prediction, table: CostTable) -> str:
    rows = [
        (
            str(group),
            largest_share(table.profile.batch, group.size),
            _ms(seconds),
            readable_bytes(table.memory_bytes(group)),
        )
        for group, seconds in zip(schedule.groups, prediction.group_s, strict=True)
    ]
    return aligned(("group", "share", "time", "memory a rank"), rows)


def _rank_table(outlook: _Outlook, table: CostTable) -> str:
    rows = [
        (rank, f"{table.speed[rank]:.2f}", outlook.runs[rank], f"{100 * idle:.1f} %")
        for rank, idle in enumerate(outlook.prediction.idle)
    ]
    return aligned(("rank", "speed", "runs", "idle"), rows)


def _comparison(outlook: _Outlook, table: CostTable) -> str:
    """Return the paper's schedules, and the one asked for, with their speed relative to DP."""
    base = data_parallel(table)
    rows = [_compared(outlook, base)] if outlook.name == "given" else []
    for name in NAMES:
        try:
            rows.append(_compared(_outlook(name, table), base))
        except InputError:
            rows.append((f"{name:<7} does not fit", "-", "-"))
    return aligned(("compare", "step", "over dp"), rows)


def _compared(outlook: _Outlook, base: Prediction) -> tuple[str, str, str]:
    prediction = outlook.prediction
    label = f"{outlook.name:<7} {outlook.text}"
    if prediction.misfit is not None:
        return f"{label}: does not fit", "-", "-"
    known = base.misfit is None and prediction.step_s > 0
    speed = f"{base.step_s / prediction.step_s:.2f}x" if known else "-"
    return label, _ms(prediction.step_s), speed


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms"


def _figures(outlook: _Outlook) -> dict[str, Any]:
    return {
        "schedule": outlook.schedule.text if outlook.schedule else outlook.name,
        "ranks": len(outlook.prediction.idle),
        "step_s": outlook.prediction.step_s,
        "group_s": list(outlook.prediction.group_s),
        "idle": list(outlook.prediction.idle),
    }
