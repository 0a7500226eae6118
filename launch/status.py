"""How submitted jobs stand: as SLURM says, and where it has forgotten, as their scripts left it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hpc.io.errors import InputError
from launch.job import array_tasks
from launch.records import Record
from launch.slurm import ask

QUEUE = "%i|%T|%M|%N|%r"
ACCOUNTS = "JobID,State,Elapsed,NodeList,ExitCode"
ACTIVE = (
    "PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED", "STOPPED",
)  # fmt: skip
"""States of jobs that have not ended."""


@dataclass(frozen=True)
class State:
    """A job's or an array task's.

    job : '12', '12_3', or '12_[3-9]' for tasks that wait. state : SLURM's word, or UNKNOWN.
    code : its exit code, None where it is not known. elapsed : as SLURM writes it.
    where : nodes, or why it waits.
    """

    job: str
    state: str
    code: int | None = None
    elapsed: str = ""
    where: str = ""

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.state not in ACTIVE


def states(record: Record, folder: str | Path) -> list[State]:
    """Ask SLURM how a job stands.

    Its queue is asked first, then its accounts; what both have forgotten, the scripts have left.

    Parameters
    ----------
    record : Record
        Of the job.
    folder : str or Path
        Of logs and records.

    Returns
    -------
    list of State
        One for each task; tasks that wait may share one. UNKNOWN where nobody knows.

    Raises
    ------
    InputError : SLURM is not on this machine, or its queue gives no answer.
    """
    known = _queued(record.job) or _accounted(record.job)
    left = {state.job: state for state in exits(record, folder)}
    if not known:
        return list(left.values()) or [State(record.job, "UNKNOWN")]
    named = {state.job for state in known}
    known = [_with_code(state, left.get(state.job)) for state in known]
    covered = _waiting(known)
    return known + [
        state for name, state in left.items() if name not in named and name not in covered
    ]


def _with_code(state: State, left: State | None) -> State:
    return replace(state, code=left.code) if left and state.ended else state


def _waiting(known: Iterable[State]) -> set[str]:
    """Return the tasks that lines such as '12_[3-9]' stand for."""
    found: set[str] = set()
    for state in known:
        job, bracket, tasks = state.job.partition("_[")
        if bracket:
            with contextlib.suppress(InputError):  # of a list that squeue has cut short
                found |= {f"{job}_{task}" for task in array_tasks(tasks.rstrip("]"))}
    return found


def all_left(record: Record, folder: str | Path) -> bool:
    """Return whether all of a job's scripts have ended; one may be queued again.

    Parameters
    ----------
    record : Record
        Of the job.
    folder : str or Path
        Of logs and records.

    Returns
    -------
    bool
        Whether there is an exit code of every task.
    """
    return len(exits(record, folder)) == len(_names(record))


def _names(record: Record) -> list[str]:
    tasks = array_tasks(record.array) if record.array else []
    return [f"{record.job}_{task}" for task in tasks] or [record.job]


def exits(record: Record, folder: str | Path) -> list[State]:
    """Return what the job's scripts wrote when they ended.

    Parameters
    ----------
    record : Record
        Of the job.
    folder : str or Path
        Of logs and records.

    Returns
    -------
    list of State
        One for the job, or each of its tasks, that has left an exit code: COMPLETED or FAILED.
    """
    found = []
    for name in _names(record):
        path = Path(folder) / f"{name}.exit"
        if path.is_file():
            text = path.read_text(encoding="ascii", errors="replace").strip()
            code = int(text) if text.isdecimal() else None
            found.append(State(name, "COMPLETED" if code == 0 else "FAILED", code))
    return found


def _queued(job: str) -> list[State]:
    try:
        text = ask(["squeue", "--noheader", "--states=all", f"--jobs={job}", f"--format={QUEUE}"])
    except InputError as error:
        if "Invalid job id" in str(error):  # ended some time ago
            return []
        raise
    found = []
    for line in text.splitlines():
        name, state, elapsed, nodes, reason = line.split("|", 4)
        found.append(State(name, state, None, elapsed, nodes or reason.strip("()")))
    return sorted(found, key=_order)


def _order(state: State) -> tuple[int, str]:
    task = state.job.partition("_")[2]
    return (int(task), "") if task.isdecimal() else (1 << 30, task)


def _accounted(job: str) -> list[State]:
    """Ask the accounts; a cluster without them says so, and nothing is known."""
    try:
        text = ask(
            ["sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}",
             f"--format={ACCOUNTS}"]
        )  # fmt: skip
    except InputError:
        return []
    return [accounted_state(line) for line in text.splitlines() if line]


def accounted_state(line: str) -> State:
    """Return what a line of sacct says.

    Parameters
    ----------
    line : str
        Of the columns in ACCOUNTS, with | between them.

    Returns
    -------
    State
        The first word of sacct's state: of 'CANCELLED by 1000', CANCELLED.
    """
    name, state, elapsed, nodes, code = line.split("|", 4)
    number = code.partition(":")[0]
    return State(
        name, state.split()[0], int(number) if number.isdecimal() else None, elapsed, nodes
    )


HEAD = ("job", "name", "ranks", "state", "code", "elapsed", "where")


def rows(record: Record, found: Sequence[State]) -> list[list[str]]:
    """Return a job's lines of the table for people, under HEAD.

    Parameters
    ----------
    record : Record
        Of the job.
    found : sequence of State
        From `states`.

    Returns
    -------
    list of lists of str
        A line for each state, a cell for each word of HEAD.
    """
    return [
        [one.job, record.name, str(record.ranks), one.state,
         "" if one.code is None else str(one.code), one.elapsed, one.where]
        for one in found
    ]  # fmt: skip
