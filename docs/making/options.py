"""Pages of all options, made from the tools' own parsers when the documentation is built."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from typing import Any

from mkdocs.structure.files import File

from hpc.cli.tree import commands, subcommands

PARSERS = {
    "hpc": "hpc.command_line",
    "partition": "partition.cli",
    "datasets": "datasets.__main__",
    "launch": "launch.cli",
}
"""Tool: module with its `build_parser`."""


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each tool. MkDocs calls it."""
    for tool in PARSERS:
        name = f"reference/options-{tool}.md"
        files.append(File.generated(config, name, content=page(tool)))
    return files


def page(tool: str) -> str:
    """Return the page of a tool, Markdown."""
    parser = importlib.import_module(PARSERS[tool]).build_parser()
    parts = [f"# Options of `python -m {tool}`", parser.description or ""]
    for words, command in commands(parser):
        if not subcommands(command):
            parts += [f"## `{' '.join((tool, *words))}`", *command_parts(command)]
    return "\n\n".join(filter(None, parts)) + "\n"


def command_parts(command: argparse.ArgumentParser) -> Iterator[str]:
    """Yield what there is to say of a command: purpose, tables of options, examples."""
    yield command.description or ""
    for group in command._action_groups:
        rows = [row(action) for action in group._group_actions if shown(action)]
        if rows:
            yield f"**{group.title}**"
            yield "\n".join(["| | |", "|---|---|", *rows])
    examples = getattr(command, "examples", ())
    if examples:
        yield "\n".join(["```sh", *examples, "```"])


def shown(action: argparse.Action) -> bool:
    """Return whether an option has something to say: not --help."""
    return action.help is not argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)


def row(action: argparse.Action) -> str:
    """Return an option as a row of a table."""
    value = action.metavar or (
        "|".join(map(str, action.choices)) if action.choices else action.dest.upper()
    )
    if not action.option_strings:
        name = str(action.metavar or action.dest)
    elif action.nargs == 0:
        name = ", ".join(action.option_strings)
    else:
        name = f"{', '.join(action.option_strings)} {value}"
    text = (action.help or "") % {"prog": "", "default": action.default}
    return f"| `{escaped(name)}` | {escaped(text)} |"


def escaped(text: str) -> str:
    """Return text for a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
