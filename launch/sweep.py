"""Sweeps: one command for many values, as the tasks of a job array. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product

from hpc.io.errors import InputError
from launch.quoting import quoted, quoted_words

INDEX = "task"
"""``{task}`` in a command is the task's number in its array."""
Sweep = Mapping[str, Sequence[str]]
MOST_TASKS = 100_000


def parse_sweeps(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each name in every task: of all combinations, the last fastest.

    texts : each 'name=value,value,...'.

    Raises
    ------
    InputError : another form; a name twice; more tasks than MOST_TASKS.
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
        n_tasks *= len(asked[name])
    if n_tasks > MOST_TASKS:
        raise InputError(f"--sweep: {n_tasks} tasks, expected at most {MOST_TASKS}")
    tasks = list(product(*asked.values()))
    return {name: [task[place] for task in tasks] for place, name in enumerate(asked)}


def check_used(sweep: Sweep, words: Sequence[str]) -> None:
    """Raise InputError unless every name of a sweep is in the command, in braces."""
    for name in sweep:
        if not any(f"{{{name}}}" in word for word in words):
            raise InputError(f"--sweep {name}: there is no {{{name}}} in the command")


def array_lines(sweep: Sweep) -> list[str]:
    """Return bash arrays of the values, one element a task."""
    return [f"sweep_{name}=({quoted_words(values)})" for name, values in sweep.items()]


def task_word(word: str, names: Sequence[str]) -> str:
    """Return a word for bash in which {name} is the value of the task that runs."""
    if not names:
        return quoted(word)
    pieces = re.split("(" + "|".join(f"\\{{{name}\\}}" for name in names) + ")", word)
    texts = [_piece(piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece]
    return "".join(texts) or "''"


def _piece(piece: str, is_name: bool) -> str:
    if not is_name:
        return quoted(piece)
    name = piece[1:-1]
    if name == INDEX:
        return '"$SLURM_ARRAY_TASK_ID"'
    return f'"${{sweep_{name}[SLURM_ARRAY_TASK_ID]}}"'
