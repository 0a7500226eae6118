"""`python -m hpc report`: a run's folder in, a page and pictures out. No MPI, no torch."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from hpc.cli.config import with_config
from hpc.cli.shared_options import add_json, add_quiet
from hpc.io.aside import written_aside
from hpc.io.errors import InputError, run_tool
from hpc.io.outputs import check_outputs
from hpc.report.figures import write_json
from hpc.report.scalars import check_folder
from hpc.report.warning import warn

KINDS = ("png", "svg")
FILES = ("html", "json")


def add_parser(engines: Any) -> None:
    """Add `report` to the engines' subparsers.

    Parameters
    ----------
    engines : argparse's subparsers.
    """
    parser = engines.add_parser(
        "report",
        help="a page about a run that was kept with --run (needs no MPI)",
        description="One page, which needs no network: what was run on what, losses, time of every "
        "rank, traffic, timeline, predicted against measured; each picture with its numbers.",
        examples=["python -m hpc report run1 --html report.html"],
    )
    parser.add_argument("run_folder", metavar="RUN_DIR", help="from a command's --run")
    parser.add_argument("--html", metavar="FILE.html", help="the page")
    add_json(parser, "the page's numbers")
    for kind in KINDS:
        parser.add_argument(
            f"--{kind}", metavar="DIR", help=f"each picture as .{kind} (matplotlib)"
        )
    parser.add_argument(
        "--predicted",
        metavar="FILE.json",
        help="from `partition predict --json`, for as many ranks, layers and inputs a batch, to "
        "stand beside what was measured",
    )
    add_quiet(parser)
    parser.set_defaults(run_alone=lambda args: run_tool("hpc", lambda _: run(args)))


def run(args: argparse.Namespace) -> None:
    """Write the page and the pictures of a run, and say which.

    Parameters
    ----------
    args : argparse.Namespace
        Of `python -m hpc report`.

    Raises
    ------
    InputError : a folder that holds no run or a damaged one; a prediction of something else;
        nothing asked for; an output that cannot be written; no matplotlib.
    """
    from hpc.report.page.html import page_of
    from hpc.report.page.numbers import numbers_of
    from hpc.report.page.pictures import pictures_of
    from hpc.report.page.run_data import read_run

    _check(args)
    found = read_run(args.run_folder, args.predicted)
    pictures = pictures_of(found)
    for note in found.notes:
        warn(f"{note.file}: {note.why}")
    written = f"{len(pictures)} pictures of {found.command}"
    if args.html:
        with written_aside(args.html) as partial:  # names of files may be no UTF-8
            text = page_of(found, pictures)
            partial.write_text(text, encoding="utf-8", errors="backslashreplace")
        _say(args, f"{args.html}: {written}")
    if args.json:
        write_json(args.json, with_config(args, numbers_of(found, pictures)))
        _say(args, f"{args.json}: the numbers of {written}")
    for kind in KINDS:
        folder = getattr(args, kind)
        if folder:
            _draw(pictures, Path(folder), kind)
            _say(args, f"{folder}: {len(pictures)} pictures")


def _check(args: argparse.Namespace) -> None:
    if not any(getattr(args, name) for name in (*FILES, *KINDS)):
        raise InputError(
            "report: nothing to do; give --html FILE, --json FILE, --png DIR or --svg DIR"
        )
    check_outputs({**_files_of(args.run_folder), **vars(args)}, FILES)
    for kind in KINDS:
        folder: str | os.PathLike[str] | None = getattr(args, kind)
        if folder is not None:
            check_folder(folder, f"--{kind}")


def _files_of(folder: str) -> dict[str, object]:
    """Return the files of a run by name: nothing may replace them."""
    return {path.name: path for path in Path(folder).iterdir()} if os.path.isdir(folder) else {}


def _draw(pictures: Any, folder: Path, kind: str) -> None:
    from hpc.report.page.paper import draw

    for picture in pictures:
        draw(picture, folder / f"{picture.name}.{kind}")


def _say(args: argparse.Namespace, text: str) -> None:
    if not args.quiet:
        print(text)
