"""`pipebd export`: a student in, a file for plain torch out."""

from __future__ import annotations

import argparse
import os

from hpc.cli.config import with_config
from hpc.io.errors import InputError
from hpc.io.outputs import check_outputs
from hpc.pipebd.exporting import export
from hpc.report.figures import write_json


def run(args: argparse.Namespace) -> None:
    """Run the command.

    Parameters
    ----------
    args : what the command's parser returned.

    Raises
    ------
    InputError : see `exporting.export`; a shape that is none.
    """
    check_outputs(vars(args), ["to", "json"])
    form = export(args.student, args.to, args.format, _shape(args.input))
    size = os.path.getsize(args.to)
    print(f"{args.to}: {form}, {size:,} bytes")
    if args.json:
        figures = {"command": "pipebd export", "format": form, "bytes": size}
        write_json(args.json, with_config(args, figures))


def _shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = text.split("x")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"--input {text}: expected a shape such as 3x32x32")
    return tuple(map(int, parts))
