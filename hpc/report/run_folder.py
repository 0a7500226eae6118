"""The folder that a run is kept in: what was run, its log, its figures, traffic and trace."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpc.io.aside import written_aside
from hpc.io.errors import FormatError, InputError
from hpc.report.fields import shown
from hpc.report.figures import write_json
from hpc.report.scalars import check_folder
from hpc.report.warning import warn

FORMAT, VERSION = "relaycut-run", 1
ABOUT = "run.json"
"""What was run and on what; as long as it runs, `status` is 'running'."""
CONFIG = "config.toml"
"""The options in force; --config takes them back."""
LOG = "log.jsonl"
FIGURES = "figures.json"
"""What --json has, at the end of the run."""
TRAFFIC = "traffic.json"
"""Words and messages by layer and by pair of ranks."""
TRACE = "trace.json"
"""What every rank did when, see `report.trace`."""


class RunFolder:
    """Writes into a run's folder. A file that cannot be written is said, and left out.

    Parameters
    ----------
    path : str or os.PathLike
        The folder, which is there; figures, traffic and trace of a run that is gone on with go.

    Attributes
    ----------
    path : Path
        The same.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        for name in (FIGURES, TRAFFIC, TRACE):  # of a run that is gone on with
            (self.path / name).unlink(missing_ok=True)

    def put(self, name: str, figures: Mapping[str, Any]) -> None:
        """Write one of the JSON files.

        Parameters
        ----------
        name : str
            Of the file.
        figures : mapping of str to Any
            What JSON holds.
        """
        try:
            write_json(self.path / name, figures)
        except (InputError, OSError) as error:
            warn(f"{error}; the run goes on without it")

    def put_text(self, name: str, text: str) -> None:
        """Write a text file.

        Parameters
        ----------
        name : str
            Of the file.
        text : str
            All of it.
        """
        try:
            with written_aside(self.path / name) as partial:
                partial.write_text(text, encoding="utf-8")
        except (InputError, OSError) as error:
            warn(f"{error}; the run goes on without it")


def check_run_folder(path: str | os.PathLike[str], command: str, goes_on: bool) -> None:
    """Make a run's folder, and check that it holds no other run.

    Parameters
    ----------
    path : str or os.PathLike
        The folder; need not be there.
    command : str
        'spdnn train'.
    goes_on : bool
        Whether the run may be the rest of the one that is in the folder.

    Raises
    ------
    InputError : it cannot be written to; it holds a run, unless that is gone on with; it holds
        a file of such a name that is of no run.
    """
    check_folder(path, "--run")
    if not (Path(path) / ABOUT).exists():
        for name in (CONFIG, FIGURES, TRAFFIC, TRACE, LOG):
            there = Path(path) / name
            if there.exists() and (name != LOG or there.stat().st_size):
                raise InputError(f"--run {path}: would replace {there}, of no run; name another")
        return
    found = read_about(path)
    if not goes_on or found.get("command") != command:
        raise InputError(
            f"--run {path}: holds a run of '{found.get('command')}' that began "
            f"{found.get('started')}; name another folder"
        )


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a run's folder says of the run.

    Parameters
    ----------
    path : of the folder.

    Returns
    -------
    What its `run.json` holds.

    Raises
    ------
    FormatError : no folder, not of a run, damaged, of a newer version.
    """
    if not os.path.isdir(path):
        raise FormatError(f"{path}: no such folder")
    if not os.path.exists(os.path.join(path, ABOUT)):
        raise FormatError(f"{path}: holds no run (no {ABOUT}); make one with --run {path}")
    found = read_object(Path(path) / ABOUT)
    if found.get("format") != FORMAT:
        raise FormatError(f"{path}/{ABOUT}: not of a run of relaycut")
    version = found.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        said = f"version {shown(version)}, this program reads up to {VERSION}"
        raise FormatError(f"{path}/{ABOUT}: {said}")
    return found


def read_object(path: Path) -> dict[str, Any]:
    """Return what a JSON file holds.

    Parameters
    ----------
    path : of the file.

    Returns
    -------
    The object.

    Raises
    ------
    FormatError : it cannot be read, or is no JSON object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: damaged, not JSON") from error
    if not isinstance(found, dict):
        raise FormatError(f"{path}: damaged, expected a JSON object")
    return found
