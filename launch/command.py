"""What is launched: the words after ``--``, and which of them run on many ranks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from hpc.io.errors import InputError

ENGINES = ("spdnn", "pipebd", "machine", "doctor", "report")
"""First words of ``python -m hpc``: on ranks, but for those in ALONE."""
TOOLS = ("partition", "datasets")
"""Programs of one process."""
ALONE = (
    ("pipebd", "plan"), ("pipebd", "timeline"), ("pipebd", "export"), ("spdnn", "export"),
    ("report",),
)  # fmt: skip
"""Beginnings of commands of ``python -m hpc`` that are of one process too."""
CHECKOUT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Command:
    """words : beginning with one of ENGINES or TOOLS."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.words or self.words[0] not in (*ENGINES, *TOOLS):
            found = repr(self.words[0]) if self.words else "nothing"
            raise InputError(
                f"after --: expected one of {', '.join((*ENGINES, *TOOLS))}, found {found}"
            )
        if any("\0" in word for word in self.words):
            raise InputError("after --: a NUL character, which no program can be given")

    @property
    def on_ranks(self) -> bool:
        """Whether it is an MPI program."""
        alone = any(self.words[: len(one)] == one for one in ALONE)
        return self.words[0] in ENGINES and not alone

    @property
    def shrinks(self) -> bool:
        """Whether its ranks are to outlive each other."""
        asked = ("--on-failure", "shrink")
        return "=".join(asked) in self.words or asked in pairwise(self.words)

    @property
    def name(self) -> str:
        """What a job of it is called: 'spdnn-infer'."""
        return "-".join(word for word in self.words[:2] if word.isidentifier())

    def argv(self, python: Sequence[str]) -> list[str]:
        """Return the words that start the program.

        Parameters
        ----------
        python : sequence of str
            The interpreter, and what comes before it.

        Returns
        -------
        list of str
            `datasets` by its folder where there is a checkout, all else by ``-m``.
        """
        if self.words[0] in ENGINES:
            return [*python, "-m", "hpc", *self.words]
        if self.words[0] == "datasets" and (CHECKOUT / "datasets").is_dir():
            return [*python, str(CHECKOUT / "datasets"), *self.words[1:]]
        return [*python, "-m", *self.words]


def command_of(words: Sequence[str]) -> Command:
    """Return the command; ``python -m hpc`` or ``python -m`` before it is dropped.

    Parameters
    ----------
    words : sequence of str
        Those after ``--``.

    Returns
    -------
    Command
        Beginning with one of ENGINES or TOOLS.

    Raises
    ------
    InputError : it is none of ours, or has a NUL character in it.
    """
    rest = tuple(words)
    if rest[:2] in (("python", "-m"), ("python3", "-m")):
        rest = rest[2:]
    return Command(rest[1:] if rest[:1] == ("hpc",) else rest)


def alone(words: Sequence[str], what: str) -> Command:
    """Return a command of one process.

    Parameters
    ----------
    words : sequence of str
        Of a command, as `command_of` takes them.
    what : str
        Names it in a message.

    Returns
    -------
    Command
        One for which `on_ranks` is False.

    Raises
    ------
    InputError : it is an MPI program, or none of ours.
    """
    command = command_of(words)
    if command.on_ranks:
        raise InputError(f"{what}: {' '.join(command.words[:2])} runs on ranks, expected a tool")
    return command
