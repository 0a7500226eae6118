"""Sweeps: one command for many values, as the tasks of a job array. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from hpc.io.errors import InputError
from launch.quoting import quoted, quoted_words

INDEX = "task"
"""``{task}`` in a command is the task's number in its array."""
Sweep = Mapping[str, Sequence[str]]
MOST_TASKS = 100_000


def parse_sweeps(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each name in every task: of all combinations, the last fastest.

    Parameters
    ----------
    texts : sequence of str
        Each 'name=value,value,...'.

    Returns
    -------
    dict of str to list of str
        Values by task, as many for each name; empty for no texts.

    Raises
    ------
    InputError : another form; a name or a value twice; more tasks than MOST_TASKS.
    """
    asked: dict[str, list[str]] = {}
    n_tasks = 1
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or not values:
            raise InputError(f"--sweep {text!r}: expected NAME=VALUE,VALUE,...")
        if name in asked or name == INDEX:
            raise InputError(f"--sweep {text!r}: the name {name} is taken")
        asked[name] = values.split(",")
        _check_different(text, asked[name])
        n_tasks *= len(asked[name])
    if n_tasks > MOST_TASKS:
        raise InputError(f"--sweep: {n_tasks} tasks, expected at most {MOST_TASKS}")
    tasks = list(product(*asked.values()))
    return {name: [task[place] for task in tasks] for place, name in enumerate(asked)}


def _check_different(text: str, values: Sequence[str]) -> None:
    twice = next((value for value, number in Counter(values).items() if number > 1), None)
    if twice is not None:
        raise InputError(f"--sweep {text!r}: the value {twice!r} stands there twice")


def check_used(sweep: Sweep, words: Sequence[str]) -> None:
    """Check that every name of a sweep is in the command, in braces.

    Parameters
    ----------
    sweep : mapping of str to sequence of str
        From `parse_sweeps`.
    words : sequence of str
        Of the command.

    Raises
    ------
    InputError : a name that is not.
    """
    for name in sweep:
        if not any(f"{{{name}}}" in word for word in words):
            raise InputError(f"--sweep {name}: there is no {{{name}}} in the command")


def array_lines(sweep: Sweep) -> list[str]:
    """Return bash arrays of the values, one element a task.

    Parameters
    ----------
    sweep : mapping of str to sequence of str
        From `parse_sweeps`.

    Returns
    -------
    list of str
        A line for each name: ``sweep_NAME=(...)``.
    """
    return [f"sweep_{name}=({quoted_words(values)})" for name, values in sweep.items()]


def task_word(word: str, names: Sequence[str]) -> str:
    """Return a word for bash in which {name} is the value of the task that runs.

    Parameters
    ----------
    word : str
        Of the command.
    names : sequence of str
        Of the sweep, and INDEX; other words in braces stay as they are.

    Returns
    -------
    str
        Quoted for bash, but for the variables.
    """
    if not names:
        return quoted(word)
    texts = [_piece(piece, is_name) for piece, is_name in _pieces(word, names)]
    return "".join(texts) or "''"


def filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word in which {name} is the name's value.

    Parameters
    ----------
    word : str
        Of the command.
    values : mapping of str to str
        By name, of one task.

    Returns
    -------
    str
        Not quoted; other words in braces stay as they are.
    """
    return "".join(
        values[piece[1:-1]] if is_name else piece for piece, is_name in _pieces(word, values)
    )


def _pieces(word: str, names: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a word, and whether each is a name in braces."""
    pieces = re.split("(" + "|".join(f"\\{{{name}\\}}" for name in names) + ")", word)
    yield from ((piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece)


def _piece(piece: str, is_name: bool) -> str:
    if not is_name:
        return quoted(piece)
    name = piece[1:-1]
    if name == INDEX:
        return '"$SLURM_ARRAY_TASK_ID"'
    return f'"${{sweep_{name}[SLURM_ARRAY_TASK_ID]}}"'
