"""A command of `python -m datasets`: its parser, and what it says at the end."""

from __future__ import annotations

import argparse
from typing import Any

from hpc.cli.config import with_config
from hpc.cli.parser import Parser
from hpc.cli.shared_options import add_json, add_quiet
from hpc.report.figures import write_json


def command_parser(name: str, description: str | None, example: str, **more: Any) -> Parser:
    """Return the parser of a command, with --json and --quiet.

    Parameters
    ----------
    name : of the command.
    description : of the command.
    example : without the program's name.
    **more : of argparse's parser.

    Returns
    -------
    The parser; the command's own options are still to come, then `complete`.
    """
    prog = f"python -m datasets {name}"
    parser = Parser(prog=prog, description=description, examples=[f"{prog} {example}"], **more)
    add_json(parser, "what was made")
    add_quiet(parser)
    return parser


def say(options: argparse.Namespace, line: str, figures: dict[str, Any]) -> None:
    """Print what was made, and write it to --json."""
    print(f"{options.out}: {line}")
    if options.json:
        write_json(options.json, with_config(options, {"out": options.out, **figures}))
