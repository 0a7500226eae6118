"""The text of a job script. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from launch.environment import AS_ROOT, PINNED, YIELDING
from launch.job import Job
from launch.mpirun import FLAVOURS, mpirun_options, mpirun_path
from launch.quoting import quoted, quoted_words, sbatch_value
from launch.sweep import INDEX, array_lines, task_word

STOPPED = 3
"""Exit code of a run that a signal stopped at a checkpoint."""

RANK = """\
# A rank. One that stopped at a checkpoint (3) is no failure that should end the others; the
# first rank leaves its exit code, since launchers may return 0 when a whole host is lost.
as_rank='trap : USR1 TERM INT
word=$1; shift
"$@"
code=$?
rank=${PMI_RANK:-${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-${SLURM_PROCID:-0}}}}
if [ "$rank" = 0 ]; then echo "$code" >"$word"; fi
if [ "$code" -eq 3 ]; then exit 0; fi
exit "$code"'
"""

OUTLIVED_RANK = """\
# A rank that others may outlive. mpirun tells them only of one that a signal ends; those that
# are left come to the same exit code and leave it.
as_rank='trap : USR1 TERM INT
word=$1; shift
"$@"
code=$?
if [ "$code" -gt 128 ]; then kill -KILL "$$"; fi
echo "$code" >"$word"
if [ "$code" -eq 3 ]; then exit 0; fi
exit "$code"'
"""

OUTCOME = """\
if [ "$code" -eq 0 ]; then
  for _ in 1 2 3 4 5; do [ -s "$word" ] && break; sleep 1; done
  code=$(cat "$word" 2>/dev/null)
  if [ -z "$code" ]; then
    echo "launch: the ranks ended and the first did not say how: taken as failed" >&2
    code=1
  fi
fi
rm -f "$word"
"""

FORWARD = """\
started=""
trap 'kill -USR1 "$started" 2>/dev/null' USR1
"${launcher[@]}" bash -c "$as_rank" rank "$word" "${command[@]}" &
started=$!
wait "$started"
code=$?
while [ "$code" -gt 128 ] && kill -0 "$started" 2>/dev/null; do
  wait "$started"
  code=$?
done
"""

SRUN = """\
"${launcher[@]}" bash -c "$as_rank" rank "$word" "${command[@]}"
code=$?
"""

END = """\
ended="$folder/$job.exit"
printf '%s\\n' "$code" >"$ended.partial" && mv "$ended.partial" "$ended"
if [ "$code" -eq 0 ]; then echo "launch: done"; else echo "launch: exit code $code" >&2; fi
"""

REQUEUE = """\
if [ "$code" -eq 3 ]; then
  echo "launch: stopped at a checkpoint, queued again" >&2
  scontrol requeue "$job" && sleep 60  # until SLURM ends this script
fi
"""


def script(job: Job) -> str:
    """Return the script that sbatch takes for a job.

    Parameters
    ----------
    job : Job
        Checked.

    Returns
    -------
    str
        A bash script that ends with the exit code of the command.
    """
    parts = [
        "#!/bin/bash",
        *(f"#SBATCH --{option}" for option in sbatch_options(job)),
        "set -u",
        *_surroundings(job),
        *_place(job),
        *array_lines(job.sweep),
        f"command=({_command(job)})",
    ]
    text = "\n".join(parts) + "\n"
    if job.command.on_ranks:
        start = FORWARD if job.mpi == "mpirun" else SRUN
        rank = OUTLIVED_RANK if job.command.shrinks else RANK
        text += "\n".join(_launcher(job)) + "\n" + rank + start + OUTCOME
    else:
        text += '"${command[@]}"\ncode=$?\n'
    text += END + (REQUEUE if job.requeue else "")
    return text + 'exit "$code"\n'


def sbatch_options(job: Job) -> Iterator[str]:
    """Yield the options of sbatch, each 'name' or 'name=value', quoted.

    Parameters
    ----------
    job : Job
        Checked.

    Yields
    ------
    str
        In a fixed order, those of the site last; without dashes.
    """
    log = "%A_%a.out" if job.tasks else "%j.out"
    values = {
        "job-name": job.name,
        "nodes": str(job.nodes),
        "ntasks": str(job.ranks),
        "ntasks-per-node": str(job.tasks_per_node),
        "cpus-per-task": str(job.threads),
        "gpus-per-task": str(job.gpus_per_task) if job.gpus_per_task else None,
        "time": job.time,
        "partition": job.partition or job.site.partition,
        "account": job.account or job.site.account,
        "qos": job.qos or job.site.qos,
        "output": f"{job.folder}/{log}",
        "open-mode": "append",
        "array": job.tasks,
        "dependency": "afterok:" + ":".join(job.after) if job.after else None,
        "signal": _signal(job),
    }
    for name, value in values.items():
        if value is not None:
            yield f"{name}={sbatch_value(value)}"
    yield "kill-on-invalid-dep=yes"
    yield "requeue" if job.requeue else "no-requeue"
    for option in job.site.sbatch:
        name, equals, value = option.removeprefix("--").partition("=")
        yield f"{name}={sbatch_value(value)}" if equals else name


def _signal(job: Job) -> str | None:
    """Return who gets USR1: every task of srun, or the script, which tells mpirun."""
    if job.signal is None or not job.command.on_ranks:
        return None
    return f"{'B:' if job.mpi == 'mpirun' else ''}USR1@{job.signal}"


def _surroundings(job: Job) -> Iterator[str]:
    """Yield modules and environment."""
    if job.site.modules:
        yield "set +u; if ! command -v module >/dev/null; then . /etc/profile; fi"
        for module in job.site.modules:
            yield f"module load {quoted(module)} || exit 1"
        yield "set -u"
    yield 'cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc); crowded=""'
    threads = job.tasks_per_node * job.threads
    yield f'if [ "$cores" -lt {threads} ]; then crowded=yes; {_exports(YIELDING)}; fi'
    yield f'if [ "$(id -u)" = 0 ]; then {_exports(AS_ROOT)}; fi'
    yield _exports(dict.fromkeys(PINNED, str(job.threads)))
    if job.site.environment:
        yield _exports(job.site.environment)


def _exports(variables: Mapping[str, str]) -> str:
    return "export " + " ".join(f"{name}={quoted(value)}" for name, value in variables.items())


def _place(job: Job) -> Iterator[str]:
    """Yield where the job's files lie."""
    array = "${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}"
    yield f'job="${{SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}}{array}"'
    yield f"folder={quoted(job.folder)}"
    yield 'word="$folder/$job.first-rank"; mkdir -p "$folder"; rm -f "$word" "$folder/$job.exit"'


def _command(job: Job) -> str:
    names = [*job.sweep, *([INDEX] if job.tasks else [])]
    python = job.site.python or ("python3" if job.site.container else sys.executable)
    fixed = len(job.site.container) + 1
    words = job.command.argv([*job.site.container, python])
    return " ".join(
        quoted(word) if place < fixed else task_word(word, names)
        for place, word in enumerate(words)
    )


def _launcher(job: Job) -> Iterator[str]:
    """Yield lines that set the bash array `launcher`."""
    if job.mpi != "mpirun":
        words = job.site.launcher or ("srun",)
        yield f"launcher=({quoted_words([*words, *srun_options(job)])})"
        return
    ours = not (job.site.python or job.site.container)
    words = job.site.launcher or (mpirun_path() if ours else "mpirun",)
    yield f'case "$({quoted_words(words)} --version 2>&1)" in'
    for flavour, mark in FLAVOURS.items():
        plain, crowded = (
            quoted_words([*words, *_mpirun_options(job, flavour, many)]) for many in (False, True)
        )
        yield f'*"{mark}"*) if [ -n "$crowded" ]; then launcher=({crowded})'
        yield f"  else launcher=({plain}); fi ;;"
    known = " or ".join(FLAVOURS)
    yield f'*) echo "launch: mpirun is of an unknown MPI, expected {known}" >&2; exit 1 ;;'
    yield "esac"


def _mpirun_options(job: Job, flavour: str, crowded: bool) -> list[str]:
    outlived = job.command.shrinks
    return mpirun_options(flavour, job.ranks, job.threads, job.bind, crowded, outlived)


def srun_options(job: Job) -> list[str]:
    """Return the options of srun that start the ranks of a job.

    Parameters
    ----------
    job : Job
        Of an MPI program that srun starts.

    Returns
    -------
    list of str
        To be followed by the program's words.
    """
    options = [
        "--kill-on-bad-exit=1",
        f"--mpi={job.mpi.removeprefix('srun-')}",
        f"--nodes={job.nodes}",
        f"--ntasks={job.ranks}",
        f"--ntasks-per-node={job.tasks_per_node}",
        f"--cpus-per-task={job.threads}",
        f"--cpu-bind={'cores' if job.bind == 'core' else 'none'}",
    ]
    if job.gpus_per_task:
        own = f"per_task:{job.gpus_per_task}" if job.gpu_bind == "own" else "none"
        options += [f"--gpus-per-task={job.gpus_per_task}", f"--gpu-bind={own}"]
    return options
