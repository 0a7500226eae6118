"""Site profiles: what a cluster asks of every job, in a TOML file."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hpc.io.errors import InputError
from launch.quoting import check_line, check_name

MPI = ("srun-pmi2", "srun-pmix", "mpirun")
"""Who starts the ranks of a job, and by which protocol they find each other."""
OURS = (
    "job-name", "nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "gpus-per-task", "time",
    "partition", "account", "qos", "output", "error", "array", "dependency", "signal", "requeue",
    "no-requeue", "open-mode", "wrap", "parsable", "chdir", "kill-on-invalid-dep",
)  # fmt: skip
"""Options of sbatch that the launcher writes itself."""


@dataclass(frozen=True)
class Site:
    """A cluster's habits.

    modules : to load. partition, account, qos : of SLURM, where the command line names none.
    mpi : one of MPI. launcher : words in place of ``srun`` or ``mpirun``. container : words
    before the program. python : the interpreter, in the container if there is one.
    sbatch : more options of sbatch. environment : variables of the job.
    """

    modules: tuple[str, ...] = ()
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    mpi: str = MPI[0]
    launcher: tuple[str, ...] = ()
    container: tuple[str, ...] = ()
    python: str | None = None
    sbatch: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for module in self.modules:
            if check_line("modules", module).startswith("-"):
                raise InputError(f"modules {module!r}: is an option, expected a module's name")
        for name in ("partition", "account", "qos"):
            if getattr(self, name) is not None:
                check_name(name, getattr(self, name))
        if self.mpi not in MPI:
            raise InputError(f"mpi {self.mpi!r}: expected one of {', '.join(MPI)}")
        for option in self.sbatch:
            _check_option(option)
        for word in (*self.launcher, *self.container, *self.environment.values()):
            if "\0" in word:
                raise InputError(f"{word!r}: a NUL character")
        for variable in self.environment:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
                raise InputError(f"environment: {variable!r} is no variable's name")


def _check_option(option: str) -> None:
    check_line("sbatch", option)
    found = re.fullmatch(r"--([a-z][a-z0-9-]*)(=.+)?", option)
    if not found:
        raise InputError(f"sbatch {option!r}: expected --name or --name=value")
    if found[1] in OURS:
        raise InputError(f"sbatch {option!r}: the launcher writes --{found[1]} itself")


def site_of(values: Mapping[str, Any]) -> Site:
    """Return the profile that a TOML file's values make.

    Parameters
    ----------
    values : mapping of str to Any
        Of the file's keys, which are the names of `Site`'s fields.

    Returns
    -------
    Site
        Checked.

    Raises
    ------
    InputError : an unknown key, a value of another type or out of range.
    """
    known = {one.name: one for one in fields(Site)}
    for name in values:
        if name not in known:
            raise InputError(f"unknown key {name!r}; expected one of {', '.join(known)}")
    return Site(**{name: _value(name, value) for name, value in values.items()})


def _value(name: str, value: Any) -> Any:
    if name == "environment":
        if isinstance(value, dict) and all(isinstance(one, str) for one in value.values()):
            return dict(value)
        raise InputError("environment: expected a table of texts")
    if name in ("modules", "launcher", "container", "sbatch"):
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return tuple(value)
        raise InputError(f'{name}: expected a list of texts, such as {name} = ["a", "b"]')
    if not isinstance(value, str) or not value or "\0" in value:
        raise InputError(f"{name}: expected a text")
    return value


def read_site(path: str | os.PathLike[str]) -> Site:
    """Read a site profile.

    Parameters
    ----------
    path : str or os.PathLike
        TOML file.

    Returns
    -------
    Site
        Checked.

    Raises
    ------
    InputError : as `site_of`; no such file, not TOML.
    """
    try:
        with open(path, "rb") as file:
            return site_of(tomllib.load(file))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
