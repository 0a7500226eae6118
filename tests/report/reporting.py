"""`hpc report` called in this process, and the files that it reports on."""

from __future__ import annotations

import json

from hpc.cli.config import parse
from hpc.cli.parser import Parser
from hpc.report import commands
from tests.report.page_reader import Page


def parsed(*arguments):
    parser = Parser()
    commands.add_parser(parser.add_subparsers())
    return parse(parser, ["report", *map(str, arguments)])


def command(*arguments):
    commands.run(parsed(*arguments))


def page(folder, *options):
    out = folder.with_suffix(".html")
    command(folder, "--html", out, *options)
    return Page(out.read_text(encoding="utf-8"))


def figures(folder, name="figures"):
    return json.loads((folder / f"{name}.json").read_text())
