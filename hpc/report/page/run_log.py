"""The log of a run, read back: events in order, and lines that a killed run left cut off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from hpc.io.errors import FormatError
from hpc.report.page.parts import Note
from hpc.report.page.run_checks import check_event


class Log(NamedTuple):
    """events : in order. notes : on lines that were left out."""

    events: tuple[dict[str, Any], ...]
    notes: tuple[Note, ...]


def read_log(path: Path) -> Log:
    """Read a log.

    Parameters
    ----------
    path : of the file.

    Returns
    -------
    Its events. A last line that is not whole is left out, and one before another start of the
    run: the run was killed while it wrote that.

    Raises
    ------
    FormatError : it cannot be read; another line is no JSON object, or no event of ours.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no text in UTF-8"
        raise FormatError(f"{path}: cannot be read ({why})") from error
    events, notes = [], []
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines) or _begins_a_run(lines[number]):
                notes.append(Note(str(path), f"line {number} is cut off and left out"))
                continue
            raise FormatError(f"{path}: line {number} is not JSON") from error
        if not isinstance(event, dict):
            raise FormatError(f"{path}: line {number} is no JSON object")
        check_event(f"{path}: line {number}", event)
        events.append(event)
    return Log(tuple(events), tuple(notes))


def _begins_a_run(line: str) -> bool:
    return '"event": "start"' in line
