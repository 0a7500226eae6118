"""`python -m hpc pipebd timeline`: a trace as a picture, step time and idle share of every rank."""

from __future__ import annotations

import argparse
from typing import Any

from hpc.cli.config import with_config
from hpc.cli.shared_options import add_json, add_quiet
from hpc.io.errors import InputError, run_tool
from hpc.io.outputs import check_outputs
from hpc.pipebd.recorder import WAITING
from hpc.report.figures import table, write_json
from hpc.report.predicted import predicted_table
from hpc.report.timeline import draw_timeline
from hpc.report.trace import Trace, Window, measured, of_whole_run, read_trace, steady, step_s


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command `timeline` to the subcommands of `pipebd`.

    Parameters
    ----------
    subparsers : argparse's subparsers
        Of `pipebd`.

    Returns
    -------
    argparse.ArgumentParser
        The command's; its `run_alone` returns the exit code, 0 or 2.
    """
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "timeline",
        help="draw a trace (needs no MPI)",
        description="Draw what every rank did in a few steps of a run, as in the paper's Fig. 5, "
        "and print step time and idle share of every rank.",
        examples=["python -m hpc pipebd timeline trace.json --plot timeline.png"],
    )
    parser.add_argument("trace", help="from `pipebd train --trace`")
    parser.add_argument(
        "--plot",
        "--png",
        dest="plot",
        metavar="FILE",
        help="draw it: .png, .svg or .pdf (needs relaycut[plot]); --png is the old name",
    )
    parser.add_argument("--steps", type=int, default=4, help="how many to draw (default 4)")
    parser.add_argument(
        "--first", type=int, metavar="STEP", help="draw from this one (default in the middle)"
    )
    add_json(parser, "step_s and idle")
    add_quiet(parser)
    parser.set_defaults(run_alone=lambda args: run_tool("hpc", lambda _: run(args)))
    return parser


def run(args: argparse.Namespace) -> None:
    """Run `timeline` with the arguments that `add_parser`'s parser returned.

    Parameters
    ----------
    args : argparse.Namespace
        The options: a trace in, a report, a picture and figures out.

    Raises
    ------
    InputError : a trace that cannot be read; steps that it does not have; no matplotlib.
    """
    check_outputs(vars(args), ["plot", "json"])
    trace = read_trace(args.trace)
    drawn = _drawn(trace, args)
    whole = steady(trace)
    print(_report(trace, whole))
    if args.plot:
        draw_timeline(trace, drawn, args.plot, WAITING)
        if not args.quiet:
            print(f"steps {drawn.first} to {drawn.last - 1} drawn in {args.plot}")
    if args.json:
        each_s, idle = measured(trace, whole, WAITING)
        figures = {**trace.about, "step_s": each_s, "idle": idle}
        write_json(args.json, with_config(args, figures))


def _drawn(trace: Trace, args: argparse.Namespace) -> Window:
    if args.steps < 1:
        raise InputError(f"--steps {args.steps}; expected at least 1")
    window = steady(trace, args.steps)
    if args.first is not None:
        window = Window(args.first, args.first + args.steps)
    if not len(window) or step_s(trace, window) <= 0:
        steps = sorted({span.step for span in trace.spans})
        raise InputError(
            f"{args.trace}: no step {window.first} followed by step {window.last} on any rank; "
            f"the trace has steps {steps[0]}..{steps[-1]}"
        )
    return window


def _report(trace: Trace, window: Window) -> str:
    """Return step time and idle shares, with the prediction if known.

    window : measured over these steps if the trace does not say what the run itself measured.
    """
    each_s, idle = measured(trace, window, WAITING)
    about = trace.about
    lines = [f"schedule  {about['schedule']}"] if "schedule" in about else []
    over = "the whole run" if of_whole_run(trace) else f"steps {window.first} to {window.last - 1}"
    lines.append(f"measured over {over}")
    if "predicted_step_s" in about and len(about.get("predicted_idle", ())) == trace.n_ranks:
        each = about["predicted_step_s"], each_s
        lines.append(predicted_table(each, (about["predicted_idle"], idle)))
    else:
        rows = [("step", f"{1e3 * each_s:.2f} ms")]
        rows += [(f"idle, rank {r}", f"{100 * s:.1f} %") for r, s in enumerate(idle)]
        lines.append(table(("", "measured"), rows))
    return "\n".join(lines)
