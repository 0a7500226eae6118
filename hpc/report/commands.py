"""`python -m hpc report`: a run's folder in, a page and pictures out. No MPI, no torch."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from hpc.io.aside import written_aside
from hpc.io.errors import InputError, run_tool
from hpc.io.outputs import check_outputs
from hpc.report.scalars import check_folder

KINDS = ("png", "svg")


def add_parser(engines: Any) -> None:
    """Add `report` to the engines' subparsers.

    Parameters
    ----------
    engines : argparse subparsers
        Of `python -m hpc`.
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
    for kind in KINDS:
        parser.add_argument(
            f"--{kind}", metavar="DIR", help=f"each picture as .{kind} (matplotlib)"
        )
    parser.add_argument(
        "--predicted",
        metavar="FILE.json",
        help="from `partition predict --json`, to stand beside what was measured",
    )
    parser.set_defaults(run_alone=lambda args: run_tool("hpc", lambda _: run(args)))


def run(args: argparse.Namespace) -> None:
    """Write the page and the pictures of a run, and say which.

    Parameters
    ----------
    args : argparse.Namespace
        Of `python -m hpc report`.

    Raises
    ------
    InputError : a folder that holds no run or a damaged one; nothing asked for; an output that
        cannot be written; no matplotlib.
    """
    from hpc.report.page.html import page_of
    from hpc.report.page.pictures import of_a_run, pictures_of
    from hpc.report.page.run_data import read_run

    _check(args)
    found = read_run(args.run_folder, args.predicted)
    with of_a_run(args.run_folder):
        pictures = pictures_of(found)
        page = page_of(found, pictures) if args.html else ""
    if args.html:
        with written_aside(args.html) as partial:
            partial.write_text(page, encoding="utf-8")
        print(f"{args.html}: {len(pictures)} pictures of {found.command}")
    for kind in KINDS:
        folder = getattr(args, kind)
        if folder:
            _draw(pictures, Path(folder), kind)


def _check(args: argparse.Namespace) -> None:
    if not (args.html or args.png or args.svg):
        raise InputError("report: nothing to do; give --html FILE, --png DIR or --svg DIR")
    check_outputs({**vars(args), **_files_of(args.run_folder)}, ["html"])
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
    print(f"{folder}: {len(pictures)} pictures")
