"""A run on this machine: from options to the environment and words of a command line. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hpc.io.errors import InputError
from launch.command import Command
from launch.counts import check_count
from launch.environment import rank_environment
from launch.mpirun import BINDINGS, mpirun_options
from launch.quoting import quoted, quoted_words


@dataclass(frozen=True)
class LocalOptions:
    """ranks; threads of each; bind : one of BINDINGS."""

    ranks: int = 1
    threads: int = 1
    bind: str = "core"

    def __post_init__(self) -> None:
        for name, value in (("-n", self.ranks), ("--threads", self.threads)):
            check_count(name, value)
        if self.bind not in BINDINGS:
            raise InputError(f"--bind {self.bind}: expected {' or '.join(BINDINGS)}")


@dataclass(frozen=True)
class Host:
    """A machine. cores : that this process may use. root : whether it runs as root.

    mpirun, flavour : of the MPI, empty where none is needed.
    """

    cores: int
    root: bool
    mpirun: str = ""
    flavour: str = ""


def local_run(
    options: LocalOptions, host: Host, command: Command, python: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Return what to add to the environment, and the words of the command line.

    Parameters
    ----------
    options : LocalOptions
        Checked.
    host : Host
        Its `mpirun` and `flavour` are needed for a command on ranks.
    command : Command
        What is to run.
    python : sequence of str
        The interpreter, and what comes before it.

    Returns
    -------
    environment : dict of str to str
        What is to be added.
    argv : list of str
        Under mpirun, also of one rank, where it is an MPI program.

    Raises
    ------
    InputError : several ranks for a program of one process.
    """
    if not command.on_ranks:
        if options.ranks != 1:
            name = " ".join(command.words[:2])
            raise InputError(f"-n {options.ranks}: {name} is of one process; leave -n away")
        return rank_environment(options.threads, False, False), command.argv(python)
    crowded = options.ranks * options.threads > host.cores
    words = mpirun_options(
        host.flavour, options.ranks, options.threads, options.bind, crowded, command.shrinks
    )
    environment = rank_environment(options.threads, crowded, host.root)
    return environment, [host.mpirun, *words, *command.argv(python)]


def local_text(environment: dict[str, str], words: Sequence[str]) -> str:
    """Return a run as a line for bash.

    Parameters
    ----------
    environment : dict of str to str
        Variables that are set for the run.
    words : sequence of str
        Of the command line.

    Returns
    -------
    str
        One line.
    """
    settings = (f"{name}={quoted(value)}" for name, value in environment.items())
    return f"{' '.join(settings)} {quoted_words(words)}"
