"""Scalars of a run for TensorBoard. Needs the package tensorboard; not torch."""

from __future__ import annotations

import contextlib
import os
from time import time
from typing import Any

from hpc.io.errors import InputError
from hpc.report.meter import Reading
from hpc.report.warning import warn

OF_READINGS = ("loss", "rate", "wait")


class Scalars:
    """Writes scalars into a folder: plain ones, which TensorBoard and all other readers show.

    `tensorboard.summary.Writer` would write tensors, which readers other than TensorBoard pass by.
    A write that fails is said once; the run goes on without.

    Parameters
    ----------
    folder : made if it is not there.

    Raises
    ------
    InputError : tensorboard is not installed; the folder cannot be written to.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        check_scalars(folder)
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._folder = folder
        self._writer: Any = EventFileWriter(os.fspath(folder))

    def put(self, step: int, **values: float | None) -> None:
        """Write scalars of a step.

        Parameters
        ----------
        step : that they are of.
        **values : name to value, float32 in the file; '/' groups names; None is left out.
        """
        from tensorboard.compat.proto import event_pb2, summary_pb2

        known = {name: value for name, value in values.items() if value is not None}
        if self._writer is None or not known:
            return
        try:
            one = summary_pb2.Summary.Value
            summary = summary_pb2.Summary(
                value=[one(tag=name, simple_value=value) for name, value in known.items()]
            )
            event = event_pb2.Event(wall_time=time(), step=step, summary=summary)
            self._writer.add_event(event)
            self._writer.flush()
        except Exception as error:  # whatever its thread met, the run goes on
            warn(f"{self._folder}: {error}; the run goes on without TensorBoard's scalars")
            self._writer = None

    def read(self, reading: Reading) -> None:
        """Write a reading.

        Parameters
        ----------
        reading : Reading
            Of the meter; gives WHAT/loss, WHAT/rate and WHAT/wait.
        """
        what = reading.course.what
        values = {f"{what}/{name}": getattr(reading, name) for name in OF_READINGS}
        self.put(reading.step, **values)

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.close()


def check_scalars(folder: str | os.PathLike[str]) -> None:
    """Check that scalars can be written; the folder is made.

    Parameters
    ----------
    folder : str or os.PathLike
        That of --tensorboard.

    Raises
    ------
    InputError : tensorboard is not installed; the folder cannot be made or written to.
    """
    try:
        from tensorboard.summary.writer import event_file_writer  # noqa: F401
    except ImportError as error:
        raise InputError(
            "--tensorboard needs the package: pip install 'relaycut[tensorboard]'"
        ) from error
    check_folder(folder, "--tensorboard")


def check_folder(folder: str | os.PathLike[str], option: str) -> None:
    """Make a folder, and check that it can be written to.

    Parameters
    ----------
    folder : str or os.PathLike
        May be there.
    option : str
        Names it in the message.

    Raises
    ------
    InputError : it cannot be made or written to.
    """
    if not os.fspath(folder):
        raise InputError(f"{option}: expected the name of a folder")
    try:
        os.makedirs(folder, exist_ok=True)
        probe = os.path.join(folder, f".probe-{os.getpid()}")
        os.close(os.open(probe, os.O_CREAT | os.O_WRONLY))
        os.unlink(probe)
    except FileExistsError as error:
        raise InputError(f"{option} {folder}: is a file, expected a folder") from error
    except OSError as error:
        raise InputError(f"{option} {folder}: cannot be written to ({error.strerror})") from error
