"""Submit by the command line in a folder, and wait for what becomes of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

from tests.launch import signalled

SECONDS = 60
SITE = """\
partition = "main"
{python}
[environment]
MPIR_CVAR_ENABLE_HEAVY_YIELD = "1"
"""


class Jobs:
    """A folder in which jobs run, and the environment in which SLURM is found."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = environment
        (folder / "site.toml").write_text(SITE.format(python=""))
        stand_in = folder / "stand-in"
        stand_in.write_text(f'#!/bin/bash\nexec "{sys.executable}" "{signalled.__file__}" "$@"\n')
        stand_in.chmod(0o755)
        (folder / "signalled.toml").write_text(SITE.format(python=f'python = "{stand_in}"'))

    def run(self, *words, code=0):
        """Run a command in the folder; return its standard output."""
        ran = subprocess.run(
            list(map(str, words)), cwd=self.folder, env=self.environment,
            capture_output=True, text=True, timeout=SECONDS,
        )  # fmt: skip
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout if code == 0 else ran.stderr

    def launch(self, *words, code=0):
        """Run ``python -m launch WORDS`` in the folder; return its standard output."""
        return self.run(sys.executable, "-m", "launch", *words, code=code)

    def submit(self, *words, site="site.toml"):
        """Submit; return the numbers of the jobs."""
        said = self.launch("slurm", "--site", site, *words)
        return re.findall(r"^submitted (\d+):", said, re.M)

    def state(self, job):
        """Return SLURM's word for a job or an array's task."""
        return self.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()

    def start_again(self, job):
        """Start a requeued job, which would wait two minutes.

        Not in the second in which it was stopped: the nodes would take it for the old one.
        """
        time.sleep(1.5)
        self.run("scontrol", "update", f"jobid={job}", "StartTime=now")

    def ended(self, job):
        """Wait until a job has ended; return its state."""
        self.wait(lambda: self.state(job) not in ("PENDING", "RUNNING", "COMPLETING"))
        return self.state(job)

    def wait(self, condition):
        """Wait until a condition holds."""
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.1)

    def files(self, pattern):
        """Return names and contents of files in the folder."""
        return {path.name: path.read_text() for path in sorted(self.folder.glob(pattern))}

    def logs(self):
        """Return all that the jobs have printed."""
        return "\n".join(f"{name}:\n{text}" for name, text in self.files("runs/*.out").items())

    def states(self, *words):
        """Return what ``launch status --json`` says of the tasks, by their number."""
        self.launch("status", *words, "--json", "states.json")
        jobs = json.loads((self.folder / "states.json").read_text())["jobs"]
        return {state["job"]: state for job in jobs for state in job["states"]}
