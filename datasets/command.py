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
    name : str
        Of the command.
    description : str or None
        For its help.
    example : str
        A command line without the program's name; the tests run it.
    **more : Any
        Of argparse's parser.

    Returns
    -------
    Parser
        To be given the command's own options.
    """
    prog = f"python -m datasets {name}"
    parser = Parser(prog=prog, description=description, examples=[f"{prog} {example}"], **more)
    add_json(parser, "what was made")
    add_quiet(parser)
    return parser


def say(options: argparse.Namespace, line: str, figures: dict[str, Any]) -> None:
    """Print what was made, and write it to --json.

    Parameters
    ----------
    options : argparse.Namespace
        Its `out` and `json` are looked at; the options in force are written too.
    line : str
        What was made, printed behind the file's name.
    figures : dict of str to Any
        The same as plain data.
    """
    print(f"{options.out}: {line}")
    if options.json:
        write_json(options.json, with_config(options, {"out": options.out, **figures}))
