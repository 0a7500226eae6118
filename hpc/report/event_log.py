"""The log of a run for machines: a JSON object a line, on disk as soon as it is written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from hpc.io.errors import InputError
from hpc.report.figures import finite
from hpc.report.meter import Reading
from hpc.report.warning import warn

START = b'{"time": "'
"""How every line begins."""
DIGITS = 6
"""Significant digits of what is measured."""


class EventLog:
    """Appends events to a file.

    A write that fails is said once; the run goes on without the log.

    Parameters
    ----------
    path : str or os.PathLike
        File to append to.
    now : callable
        Gives the time, in UTC.

    Raises
    ------
    InputError : the file cannot be opened for writing.
    """

    def __init__(
        self, path: str | os.PathLike[str], now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path, self._now = path, now
        check_log(path)
        self._file: int | None = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        if _ends_within_a_line(self._file):  # of a run that was killed
            self._put(b"\n")

    def write(self, event: str, **values: Any) -> None:
        """Append an event.

        Parameters
        ----------
        event : str
            Its kind.
        **values : Any
            What JSON holds; numbers that are not finite become null.
        """
        time = self._now().isoformat(timespec="milliseconds")
        record = {"time": time, "event": event, **values}
        self._put((json.dumps(finite(record), allow_nan=False) + "\n").encode())

    def read(self, reading: Reading) -> None:
        """Append a reading.

        Parameters
        ----------
        reading : Reading
            Of the meter; becomes an event 'progress'.
        """
        self.write("progress", **reading_values(reading))

    def _put(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            warn(f"{self._path}: {error.strerror}; the run goes on without this log")
            self.close()

    def close(self) -> None:
        """Close the file. Nothing is written from then on."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def reading_values(reading: Reading) -> dict[str, Any]:
    """Return a reading as the log has it: see `docs`; what is not known is left out.

    Parameters
    ----------
    reading : Reading
        Of the meter.

    Returns
    -------
    dict of str to Any
        Measured numbers to DIGITS digits.
    """
    found = {
        "what": reading.course.what,
        "step": reading.step,
        "of": reading.course.total,
        "seconds": round(reading.seconds, 3),
        "rate": _rounded(reading.rate),
        "unit": reading.rate_unit,
        "loss": _rounded(reading.loss),
        "wait": _rounded(reading.wait),
        "left_s": None if reading.left_s is None else round(reading.left_s, 1),
        "note": reading.note or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def check_log(path: str | os.PathLike[str]) -> None:
    """Check that a log can be appended to a file.

    Parameters
    ----------
    path : str or os.PathLike
        The file; need not be there.

    Raises
    ------
    InputError : it cannot be written, or is there already and is no log.
    """
    try:
        new = not os.path.exists(path)
        with open(path, "ab"):
            pass
        if new:
            os.unlink(path)
        elif os.path.isfile(path) and not _looks_like_a_log(path):
            raise InputError(f"{path}: is there already and is no log; name another file")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


def _looks_like_a_log(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is empty or begins as `EventLog` does."""
    with open(path, "rb") as file:
        start = file.read(len(START))
    return START.startswith(start)


def _ends_within_a_line(file: int) -> bool:
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")
