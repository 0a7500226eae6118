"""A run's folder, read and checked. Parts that a run does not have are None."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpc.io.errors import FormatError
from hpc.report.run_folder import FIGURES, LOG, TRACE, TRAFFIC, read_about, read_object
from hpc.report.trace import Trace, read_trace

Figures = dict[str, Any]


@dataclass(frozen=True)
class RunData:
    """What is known of a run.

    about : what was run and on what. figures : at its end. events : of its log, in order.
    traffic : between ranks. trace : what every rank did when. predicted : by
    `partition predict --json`.
    """

    about: Figures
    figures: Figures = field(default_factory=dict)
    events: tuple[Figures, ...] = ()
    traffic: Figures | None = None
    trace: Trace | None = None
    predicted: Figures | None = None

    @property
    def command(self) -> str:
        """What ran: 'spdnn train'."""
        return str(self.about.get("command", "?"))


def read_run(
    path: str | os.PathLike[str], predicted: str | os.PathLike[str] | None = None
) -> RunData:
    """Read a run's folder.

    Parameters
    ----------
    path : str or os.PathLike
        Folder of --run.
    predicted : str or os.PathLike or None
        File of `partition predict --json`.

    Returns
    -------
    RunData
        Parts that are not there are None; figures and events are empty then.

    Raises
    ------
    FormatError : it holds no run; a part of it is damaged.
    """
    folder = Path(path)
    about = read_about(folder)
    figures, traffic = folder / FIGURES, folder / TRAFFIC
    return RunData(
        about,
        read_object(figures) if figures.exists() else {},
        read_events(folder / LOG) if (folder / LOG).exists() else (),
        read_object(traffic) if traffic.exists() else None,
        read_trace(folder / TRACE) if (folder / TRACE).exists() else None,
        None if predicted is None else read_object(Path(predicted)),
    )


def read_events(path: Path) -> tuple[Figures, ...]:
    """Return the events of a log.

    A line that is not whole is left out where it is the last one or a run begins after it: the run
    was killed.

    Parameters
    ----------
    path : Path
        JSON objects, a line each.

    Returns
    -------
    tuple of dict of str to Any
        In the order of the file.

    Raises
    ------
    FormatError : it cannot be read; another line is no JSON object.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise FormatError(f"{path}: cannot be read ({error})") from error
    found = []
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
        except ValueError as error:
            if number == len(lines) or _begins_a_run(lines[number]):
                continue
            raise FormatError(f"{path}: line {number} is not JSON") from error
        if not isinstance(event, dict):
            raise FormatError(f"{path}: line {number} is no JSON object")
        found.append(event)
    return tuple(found)


def _begins_a_run(line: str) -> bool:
    return '"event": "start"' in line
