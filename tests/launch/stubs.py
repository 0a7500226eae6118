"""Stand-ins for srun, mpirun, python and scontrol, which write down what they are given."""

from __future__ import annotations

import os
import subprocess

STARTER = """\
#!/bin/bash
if [ "$1" = --version ]; then echo "$STUB_MPI"; exit 0; fi
{ printf '%s\\0' "${0##*/}" "$@"; printf '\\n'; } >>"$STUB_FOLDER/started"
while [ $# -gt 0 ] && [ "$1" != bash ]; do shift; done
if [ -n "${STUB_LOST:-}" ]; then exit 0; fi
export PMI_RANK=0
exec "$@"
"""
PROGRAM = """\
#!/bin/bash
printf '%s\\0' "$@" >"$STUB_FOLDER/arrived"
env >"$STUB_FOLDER/environment"
exit "${STUB_CODE:-0}"
"""
NOTED = """\
#!/bin/bash
printf '%s\\n' "$*" >>"$STUB_FOLDER/${0##*/}.called"
"""


class Stubs:
    """A folder of stand-ins, and what arrived at them."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in (
            ("srun", STARTER), ("mpirun", STARTER), ("program", PROGRAM),
            ("scontrol", NOTED), ("sleep", NOTED), ("module", NOTED),
        ):  # fmt: skip
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def run(self, text, task=None, **environment):
        """Run a job script in bash, as SLURM would; return the finished process."""
        settings = {
            "PATH": f"{self.folder}:{os.environ['PATH']}", "STUB_FOLDER": str(self.folder),
            "STUB_MPI": "HYDRA build details", "SLURM_JOB_ID": "77",
        }  # fmt: skip
        if task is not None:
            settings |= {"SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": str(task)}
        path = self.folder / "job.sh"
        path.write_bytes(os.fsencode(text))
        return subprocess.run(
            ["bash", str(path)], cwd=self.folder, env=os.environ | settings | environment,
            capture_output=True, text=True, errors="surrogateescape", timeout=30,
        )  # fmt: skip

    def arrived(self):
        """Return the words that the program was given last."""
        return words((self.folder / "arrived").read_bytes())

    def started(self):
        """Return the words of the last launcher up to the rank's own."""
        line = (self.folder / "started").read_bytes().split(b"\0\n")[-2]
        found = words(line + b"\0")
        return found[: found.index("bash")]

    def environment(self):
        """Return the variables that the program saw."""
        lines = (self.folder / "environment").read_text(errors="surrogateescape").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def noted(self, name):
        """Return the lines that a stand-in was called with."""
        path = self.folder / f"{name}.called"
        return path.read_text().splitlines() if path.exists() else []


def words(data):
    return [os.fsdecode(word) for word in data.split(b"\0")[:-1]]
