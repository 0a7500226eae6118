"""A run's folder, read and checked. Parts that a run does not have are None."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hpc.report.page.parts import ABSENT, Note, expected, missing
from hpc.report.page.prediction import check_fits, read_prediction
from hpc.report.page.run_checks import (
    check_about,
    check_epochs,
    check_figures,
    check_trace,
    check_traffic,
)
from hpc.report.page.run_log import read_log
from hpc.report.page.work_kinds import kinds_of
from hpc.report.run_folder import ABOUT, FIGURES, LOG, TRACE, TRAFFIC, read_about, read_object
from hpc.report.trace import Trace, read_trace

Figures = dict[str, Any]
Part = TypeVar("Part")


@dataclass(frozen=True)
class RunData:
    """What is known of a run.

    about : what was run and on what. figures : at its end. events : of its log, in order.
    traffic : between ranks. trace : what every rank did when. predicted : by
    `partition predict --json`. notes : on parts that are not there or not whole.
    """

    about: Figures
    figures: Figures = field(default_factory=dict)
    events: tuple[Figures, ...] = ()
    traffic: Figures | None = None
    trace: Trace | None = None
    predicted: Figures | None = None
    notes: tuple[Note, ...] = ()

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
    path : of the folder.
    predicted : file of `partition predict --json`.

    Returns
    -------
    The run, with a note for every part that is missing, cannot be read or is cut off.

    Raises
    ------
    FormatError : it holds no run; a part of it is damaged, or says something else than another;
        a prediction that is none, or of something else.
    """
    folder = Path(path)
    about = read_about(folder)
    check_about(folder / ABOUT, about)
    notes: list[Note] = []

    def part(name: str, read: Callable[[Path], Part]) -> Part | None:
        return _part(folder / name, read, about, notes)

    figures = part(FIGURES, read_object) or {}
    check_figures(folder / FIGURES, figures, about)
    log = part(LOG, read_log)
    events = log.events if log else ()
    notes += log.notes if log else ()
    epochs = [event for event in events if event.get("event") == "epoch"]
    check_epochs(folder / LOG, [*epochs, *figures.get("history", ())])
    if (traffic := part(TRAFFIC, read_object)) is not None:
        check_traffic(folder / TRAFFIC, traffic, about, figures)
    if (trace := part(TRACE, read_trace)) is not None:
        check_trace(folder / TRACE, trace, about, figures)
    found = None
    if predicted is not None:
        found = read_prediction(Path(predicted))
        check_fits(predicted, found, about, figures, traffic)
        if not kinds_of(figures):
            notes.append(Note(os.fspath(predicted), "nothing was measured to stand beside it"))
    for name in ABSENT:
        if name not in (FIGURES, LOG, TRAFFIC, TRACE):
            part(name, Path.read_bytes)
    return RunData(about, figures, events, traffic, trace, found, tuple(notes))


def _part(
    path: Path, read: Callable[[Path], Part], about: Figures, notes: list[Note]
) -> Part | None:
    """Return a part of a run; None where there is none, with a note if there should be one."""
    try:
        path.open("rb").close()
    except FileNotFoundError:
        if path.name in expected(about):
            notes.append(missing(path, about))
        return None
    except OSError as error:
        notes.append(Note(str(path), f"cannot be read ({error.strerror}); {ABSENT[path.name]}"))
        return None
    return read(path)
