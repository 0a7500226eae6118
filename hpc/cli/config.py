"""`--config run.toml`: options from a file, under those of the command line."""

from __future__ import annotations

import argparse
import difflib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hpc.cli.parser import Parser
from hpc.cli.shared_options import common_options
from hpc.cli.tree import Words, command_of, commands, subcommands
from hpc.io.errors import FormatError, InputError
from hpc.io.outputs import same_file

TOOLS = ("hpc", "partition", "datasets", "launch")
STORED = "config"
"""Where figures of --json and a run's run.json hold the options in force."""
NO_KEYS = ("help", "version", "config", "print-completion")
ENDING = {"-h", "--help", "--version"}
"""With these nothing is run, so no file is read."""


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add --config to every command of a tool.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        With all its commands.
    """
    for _, command in commands(parser):
        if not subcommands(command):
            common_options(command).add_argument(
                "--config",
                metavar="FILE.toml",
                help="take options from there, by their names (batch = 64), also from tables "
                "named as the command; what the command line says wins; the --json of a run "
                "works too, and repeats it",
            )


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line and the config file that it names.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a tool, after `add_config`; the defaults of the file are laid under its options.
    arguments : sequence of str
        Words after the tool's name.

    Returns
    -------
    argparse.Namespace
        The options, and in `in_force` those of the command by name, as a config file has them.

    Raises
    ------
    InputError : bad usage; a file that cannot be read, with unknown keys or values that are none.
    """
    words, command = command_of(parser, list(arguments))
    given = list(arguments[len(words) :])
    path = None if ENDING & set(given) else _path(given)
    if path is not None and isinstance(command, Parser):
        tool, *rest = parser.prog.removeprefix("python -m ").split()
        values = _values(path, tool, (*rest, *words), parser)
        _lay(command, path, values, given)
    args = parser.parse_args(arguments)
    args.in_force = in_force(command, args)
    return args


def names_config(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> bool:
    """Return whether a command line names a config file. Pure.

    Parameters
    ----------
    parser : of the tool, with all its commands.
    arguments : words of the command line.

    Returns
    -------
    Whether --config stands in it with a value.
    """
    words, _ = command_of(parser, list(arguments))
    try:
        return _path(arguments[len(words) :]) is not None
    except InputError:
        return False


def in_force(command: argparse.ArgumentParser, args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a command by name, defaults as well; None, False and empty left out.

    Parameters
    ----------
    command : argparse.ArgumentParser
        Of the command, not of its tool.
    args : argparse.Namespace
        As parsed.

    Returns
    -------
    dict
        By the names of a config file: 'batch' for --batch; lists that are one value with commas.
    """
    found = {}
    for name, action in _keys(command).items():
        value = getattr(args, action.dest, None)
        if value is None or value is False or value in ([], ""):
            continue
        if isinstance(value, list | tuple) and not _repeats(action):
            value = ",".join(map(str, value))
        found[name] = value
    return found


def with_config(args: argparse.Namespace, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures with the options in force, which --config takes back.

    Parameters
    ----------
    args : argparse.Namespace
        From `parse`; without `in_force` no options are in force.
    figures : mapping
        Of a run, for JSON.

    Returns
    -------
    dict
        A copy, with the options under 'config'.
    """
    return {**figures, STORED: getattr(args, "in_force", {})}


def toml_text(options: Mapping[str, Any]) -> str:
    """Return options as a config file.

    Parameters
    ----------
    options : mapping
        From `in_force`.

    Returns
    -------
    str
        TOML, a line an option.
    """
    return "".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in options.items()
    )


def _path(given: Sequence[str]) -> str | None:
    only = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    only.add_argument("--config")
    try:
        found: str | None = only.parse_known_args(given)[0].config
    except argparse.ArgumentError as error:
        raise InputError(str(error)) from error
    return found


def _read(path: str) -> dict[str, Any]:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(f"--config {path}: cannot be read ({error.strerror})") from error
    try:
        text = data.decode("utf-8")
        if not path.endswith(".json"):
            return tomllib.loads(text)
        stored = json.loads(text)
    except ValueError as error:
        kind = "JSON" if path.endswith(".json") else "TOML"
        raise FormatError(f"--config {path}: not {kind}: {error}") from error
    found = stored.get(STORED) if isinstance(stored, dict) else None
    if not isinstance(found, dict):
        raise FormatError(f"--config {path}: holds no options of a run (no '{STORED}')")
    own = found.get("json")  # the file itself, which is not to be replaced
    if isinstance(own, str) and same_file(own, path):
        return {name: value for name, value in found.items() if name != "json"}
    return found


def _values(
    path: str, tool: str, words: Words, parser: argparse.ArgumentParser
) -> dict[str, object]:
    """Return the values for a command: of inner tables before those of outer ones."""
    read, known = _read(path), list[set[str]]()
    here: argparse.ArgumentParser | None = parser
    for word in words:
        below = subcommands(here) if here is not None else {}
        known.append(set(below) or {word})
        here = below.get(word)
    found: dict[str, object] = {}
    _collect(path, "", read, words, [known[0] | set(TOOLS), *known[1:]], found)
    if isinstance(read.get(tool), dict):
        _collect(path, tool, read[tool], words, known, found)
    return found


def _collect(
    path: str,
    where: str,
    table: Mapping[str, Any],
    words: Sequence[str],
    known: Sequence[set[str]],
    found: dict[str, object],
) -> None:
    """Put a table's values, then those of the command's tables inside it, into `found`."""
    valid = known[0] if known else set()
    for key, value in table.items():
        if not isinstance(value, dict):
            found[key.replace("_", "-")] = value
        elif key not in valid:
            near = difflib.get_close_matches(key, valid) or sorted(valid)
            raise InputError(
                f"--config {path}: no command [{where + '.' if where else ''}{key}]; "
                f"expected {', '.join(near)}"
            )
    if words and isinstance(table.get(words[0]), dict):
        inner = f"{where}.{words[0]}" if where else words[0]
        _collect(path, inner, table[words[0]], words[1:], known[1:], found)


def _keys(command: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return what a file may set: options by their long names, positionals by theirs."""
    found = {}
    for action in command._actions:
        long = [word for word in action.option_strings if word.startswith("--")]
        name = (long or [action.dest])[0].lstrip("-").replace("_", "-")
        if name not in NO_KEYS:
            found[name] = action
    return found


def _lay(command: Parser, path: str, values: Mapping[str, object], given: Sequence[str]) -> None:
    """Make values the defaults of a command's options."""
    keys = _keys(command)
    for key, value in values.items():
        if key not in keys:
            near = difflib.get_close_matches(key, keys, cutoff=0.5) or sorted(keys)
            raise InputError(
                f"--config {path}: unknown key '{key}'; "
                f"{'nearest' if len(near) < len(keys) else 'valid'}: {', '.join(near)}"
            )
        action = keys[key]
        laid = _checked(command, action, value, f"--config {path}: {key}")
        if _repeats(action) and _is_given(action, given):
            continue
        action.default, action.required = laid, False
        if not action.option_strings and action.nargs is None:
            action.nargs = "?"
    command.configured = True


def _repeats(action: argparse.Action) -> bool:
    return isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+")


def _is_given(action: argparse.Action, given: Sequence[str]) -> bool:
    return any(word.partition("=")[0] in action.option_strings for word in given)


def _checked(command: Parser, action: argparse.Action, value: object, what: str) -> object:
    """Return a value of the file as the command line would have it.

    Raises
    ------
    InputError : of another type, or out of range.
    """
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise InputError(f"{what} = {value!r}: expected true or false")
        return value
    if _repeats(action):
        many = value if isinstance(value, list) else [value]
        return [_checked_one(command, action, one, what) for one in many]
    if isinstance(value, list) and not any(isinstance(one, list | dict) for one in value):
        value = ",".join(map(str, value))
    return _checked_one(command, action, value, what)


def _checked_one(command: Parser, action: argparse.Action, value: object, what: str) -> object:
    expected = {int: (int, "a whole number"), float: (int | float, "a number")}
    types, name = expected.get(action.type, (str | int | float, "text"))  # type: ignore[call-overload]
    if isinstance(value, bool) or not isinstance(value, types):
        raise InputError(f"{what} = {value!r}: expected {name}")
    try:
        taken = command._get_value(action, str(value))
        command._check_value(action, taken)
    except argparse.ArgumentError as error:
        raise InputError(f"{what} = {value!r}: {error.message}") from error
    return taken
