"""How many ranks a command can run on, as its files say, before any rank is started."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

from hpc.io import container, plan, sharded
from hpc.io.errors import InputError

SPARE = "--spare-plan"
VERSIONS = {plan.KIND: plan.VERSION, sharded.KIND: sharded.VERSION}


def check_ranks(words: Sequence[str], ranks: int, made: Collection[str] = ()) -> None:
    """Check that plans and sharded files among the words are for so many ranks.

    Parameters
    ----------
    words : sequence of str
        Of a command; files are those that end in .h5. A plan for --spare-plan, which is for another
        number on purpose, is not looked at.
    ranks : int
        Of the job, all replicas together.
    made : collection of str
        Files that another job makes first; they are not looked at.

    Raises
    ------
    InputError : one is for another number, or damaged.
    """
    groups = _replicas(words)
    for before, word in pairwise(("", *words)):
        option, _, value = word.partition("=")
        path = value if word.startswith("--") else word
        if (
            SPARE in (before, option)
            or path in made
            or not path.endswith(".h5")
            or not Path(path).is_file()
        ):
            continue
        kind = container.format_of(path)
        if kind in VERSIONS:
            with container.opened(path, kind, VERSIONS[kind]) as file:
                _check(path, int(file.attrs["parts"]), groups, ranks)


def _check(path: str, parts: int, groups: int, ranks: int) -> None:
    if parts * groups != ranks:
        each = f" and {groups} replicas, so {parts * groups} in all" if groups > 1 else ""
        raise InputError(f"{path}: made for {parts} ranks{each}; the job has {ranks}")


def _replicas(words: Sequence[str]) -> int:
    """Return what --replicas says, 1 where it says nothing that the engine would take."""
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--replicas":
            value = value if equals else next(iter(words[place + 1 :]), "")
            return int(value) if value.isdecimal() and int(value) else 1
    return 1
