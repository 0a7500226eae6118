"""What the first rank tells of a run and keeps of it: line, log, scalars, folder."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from hpc.cli.config import STORED, toml_text, with_config
from hpc.cli.version import commit
from hpc.io.errors import EXIT_BAD_INPUT, InputError
from hpc.report.event_log import EventLog
from hpc.report.gauges import Gauges
from hpc.report.progress import Advance, watching
from hpc.report.run_folder import ABOUT, CONFIG, FIGURES, FORMAT, LOG, TRACE, VERSION, RunFolder
from hpc.report.scalars import Scalars
from hpc.report.trace import Trace, write_trace
from hpc.report.versions import versions
from hpc.report.warning import warn

STATES = {0: "done", 2: "bad input", 3: "stopped"}
"""By exit code; any other is 'failed'."""
OURS = (
    "run", "run_alone", "any_launcher", "what", "checkpoint_after", "in_force", "print_completion",
)  # fmt: skip
"""Of parsed options those that are not the user's."""


class Record:
    """Tells and keeps what it is given.

    Parameters
    ----------
    show : bool
        Whether there is a line on standard error.
    verbose : bool
        Whether it comes more often where standard error is no terminal.
    logs : tuple of EventLog
        Open; get events and readings.
    scalars : Scalars or None
        Open; gets epochs and readings.
    folder : RunFolder or None
        Gets what is kept.

    Attributes
    ----------
    gauges : Gauges
        That an engine sets and the line reads.
    """

    def __init__(
        self,
        show: bool = False,
        verbose: bool = False,
        logs: tuple[EventLog, ...] = (),
        scalars: Scalars | None = None,
        folder: RunFolder | None = None,
    ) -> None:
        self._show, self._verbose = show, verbose
        self._logs, self._scalars, self._folder = logs, scalars, folder
        self.gauges = Gauges()

    def watch(
        self, what: str, total: int, unit: str = "steps", each: float = 1
    ) -> AbstractContextManager[Advance]:
        """Return a context with ``advance(steps, note)``; see `Course`.

        Parameters
        ----------
        what : str
            Name of the work.
        total : int
            Its steps.
        unit, each : str, float
            See `Course`.

        Returns
        -------
        context manager
            That gives ``advance(steps, note)``; see `watching`.
        """
        return watching(
            what,
            total,
            unit,
            each,
            gauges=self.gauges,
            show=self._show,
            verbose=self._verbose,
            sinks=(*self._logs, *([self._scalars] if self._scalars else [])),
        )

    def event(self, kind: str, **values: Any) -> None:
        """Log an event.

        Parameters
        ----------
        kind : str
            What happened.
        **values : Any
            What JSON holds.
        """
        for log in self._logs:
            log.write(kind, **values)

    def epoch(self, number: int, **values: Any) -> None:
        """Log the end of epoch `number`, counted from 1; numbers are scalars as well.

        Parameters
        ----------
        number : int
            Counted from 1.
        **values : Any
            By name; of numbers and lists of them, scalars are written too.
        """
        self.event("epoch", epoch=number, **values)
        if self._scalars is not None:
            plain: dict[str, float] = {}
            for name, value in values.items():
                if isinstance(value, int | float):
                    plain[f"epoch/{name}"] = value
                elif isinstance(value, list):
                    plain |= {f"epoch/{name}/{i}": one for i, one in enumerate(value)}
            self._scalars.put(number, **plain)

    def figures(self, figures: Mapping[str, Any]) -> None:
        """Keep the figures of the run, at its end.

        Parameters
        ----------
        figures : mapping of str to Any
            What --json has.
        """
        self.event("figures", **figures)
        self.put(FIGURES, figures)

    def put(self, name: str, figures: Mapping[str, Any]) -> None:
        """Write a JSON file of the run's folder, if it has one.

        Parameters
        ----------
        name : str
            Of the file, one of `run_folder`'s.
        figures : mapping of str to Any
            What JSON holds.
        """
        if self._folder is not None:
            self._folder.put(name, figures)

    def text(self, name: str, text: str) -> None:
        """Write a text file of the run's folder, if it has one.

        Parameters
        ----------
        name : str
            Of the file, one of `run_folder`'s.
        text : str
            All of it.
        """
        if self._folder is not None:
            self._folder.put_text(name, text)

    def trace(self, trace: Trace) -> None:
        """Keep a trace in the run's folder, if it has one; say so where it cannot be written.

        Parameters
        ----------
        trace : Trace
            Of all ranks.
        """
        if self._folder is not None:
            try:
                write_trace(self._folder.path / TRACE, trace)
            except (InputError, OSError) as error:
                warn(f"{error}; the run goes on without it")

    def close(self) -> None:
        """Close all files."""
        for log in self._logs:
            log.close()
        if self._scalars is not None:
            self._scalars.close()


@contextlib.contextmanager
def recorded(
    args: argparse.Namespace, command: str, surroundings: Mapping[str, Any], first: bool
) -> Iterator[Record]:
    """Keep the record of a run while the block runs, and how it ends. No message is sent.

    Parameters
    ----------
    args : argparse.Namespace
        Options that `watch_options.check_watching` has found good.
    command : str
        'spdnn train'.
    surroundings : mapping of str to Any
        Ranks, hosts, MPI; see `comm.surroundings`.
    first : bool
        Whether this is the first rank.

    Yields
    ------
    Record
        Empty but on the first rank.
    """
    if not first:
        yield Record()
        return
    about = {
        "format": FORMAT,
        "version": VERSION,
        "command": command,
        "line": shlex.join(["python", "-m", "hpc", *sys.argv[1:]]),
        "options": options_of(args),
        **surroundings,
    }
    about = with_config(args, about)
    if args.run_folder or args.log or args.verbose:
        about |= {"versions": versions(), "commit": commit()}
    if args.verbose:
        print(verbose_text(about), file=sys.stderr, flush=True)
    record = opened(args)
    began = monotonic()
    about |= {"started": _now(), "status": "running"}
    record.put(ABOUT, about)
    record.text(CONFIG, toml_text(about[STORED]))
    record.event("start", **{k: v for k, v in about.items() if k not in ("format", "status")})
    code, why = 0, None
    try:
        yield record
    except BaseException as error:
        code, why = exit_code_of(error), str(error)
        raise
    finally:
        end = {"status": STATES.get(code, "failed"), "code": code, "why": why}
        end["seconds"] = round(monotonic() - began, 3)
        record.event("end", **end)
        record.put(ABOUT, {**about, **end, "ended": _now()})
        record.close()


def opened(args: argparse.Namespace) -> Record:
    """Return the record that options ask for, its files open.

    Parameters
    ----------
    args : argparse.Namespace
        See `recorded`.

    Returns
    -------
    Record
        To be closed.

    Raises
    ------
    InputError : a file or a folder cannot be written to; tensorboard is not installed.
    """
    folder = RunFolder(args.run_folder) if args.run_folder else None
    paths = [args.log] if args.log else []
    if folder is not None:
        paths.append(folder.path / LOG)
    scalars = Scalars(args.tensorboard) if args.tensorboard else None
    return Record(not args.quiet, args.verbose, tuple(map(EventLog, paths)), scalars, folder)


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options in force, by name, as JSON has them.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed options.

    Returns
    -------
    dict of str to Any
        Without those in OURS and values that JSON does not have.
    """
    plain = (str, int, float, bool, list, tuple, dict, type(None))
    return {
        name: value
        for name, value in vars(args).items()
        if name not in OURS and isinstance(value, plain)
    }


def exit_code_of(error: BaseException) -> int:
    """Return the exit code that an exception is going to end the program with.

    Parameters
    ----------
    error : BaseException
        SystemExit among them.

    Returns
    -------
    int
        2 for an InputError, the exception's `code` where that is a number, else 1; 0 for a
        SystemExit without one, as Python has it.
    """
    if isinstance(error, InputError):
        return EXIT_BAD_INPUT
    if isinstance(error, SystemExit) and error.code is None:
        return 0
    code = getattr(error, "code", 1)
    return code if isinstance(code, int) else 1


def verbose_text(about: Mapping[str, Any]) -> str:
    """Return what --verbose says at the start: versions, ranks and hosts, options in force.

    Parameters
    ----------
    about : mapping of str to Any
        What `recorded` keeps of the run, versions among it.

    Returns
    -------
    str
        Lines.
    """
    hosts: dict[str, list[int]] = {}
    for rank, host in enumerate(about.get("hosts", ())):
        hosts.setdefault(host, []).append(rank)
    lines = [f"{name:<10} {value}" for name, value in about["versions"].items()]
    lines.append(f"{'MPI':<10} {about.get('mpi', 'unknown')}")
    lines += [f"{'host':<10} {host}: {len(ranks)} rank(s)" for host, ranks in hosts.items()]
    given = {k: v for k, v in about["options"].items() if v not in (None, False)}
    lines.append("options    " + " ".join(f"{name}={value}" for name, value in given.items()))
    return "\n".join(lines)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
