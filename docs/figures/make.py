"""Makes the pictures of these pages by the program's own commands: `python docs/figures/make.py`.

In the checkout, in the environment; two minutes. The pictures are kept in the repository, so that
the pages are built without running anything.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROFILE = ROOT / "tests" / "pipebd" / "profiles" / "a6000.json"
SAMPLES = ROOT / "hpc" / "samples" / "challenge-1024.h5"
SCHEDULES = ("tr", "tr+dpu", "ahd")
OF_A_RUN = ("words", "pairs", "time")
"""Of the pictures of `hpc report` those that are shown."""
DIGITS = re.compile(r"(?<!scale\()\b(\d+\.\d{2})\d+")


def main() -> None:
    """Make all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pipebd(work)
        sparse(work)


def pipebd(work: Path) -> None:
    """Draw three steps of each schedule, by ranks that sleep for a profile's times."""
    for schedule in SCHEDULES:
        trace = work / "trace.json"
        ranks(4, "hpc", "pipebd", "train", "--emulate", PROFILE, "--schedule", schedule,
              "--epochs", 1, "--trace", trace, "--quiet")  # fmt: skip
        picture = work / f"timeline-{schedule.replace('+', '-')}.svg"
        tool("hpc", "pipebd", "timeline", trace, "--plot", picture, "--steps", 3)
        keep(picture)


def sparse(work: Path) -> None:
    """Draw what a cut sends, how it grows with the ranks, and where the time goes."""
    net, plan = work / "net.h5", work / "plan.h5"
    tool("datasets", "graph-challenge", "--neurons", 1024, "--layers", 12, "--out", net)
    tool("partition", "build", net, "--parts", 4, "--out", plan)
    tool("partition", "compare", net, "--parts", "2,4,8", "--plot", work / "volume.svg")
    keep(work / "volume.svg")
    ranks(4, "hpc", "spdnn", "infer", net, SAMPLES, "--plan", plan, "--no-merge", "--waves", 1,
          "--run", work / "run", "--quiet")  # fmt: skip
    tool("hpc", "report", work / "run", "--svg", work / "pictures")
    for name in OF_A_RUN:
        keep(work / "pictures" / f"{name}.svg")


def keep(picture: Path) -> None:
    """Put a picture beside this file, coordinates to a hundredth of a point, without its date."""
    text = re.sub(r"<dc:date>.*?</dc:date>", "", picture.read_text(encoding="utf-8"))
    lines = (line.rstrip() for line in DIGITS.sub(r"\1", text).splitlines())
    (HERE / picture.name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def tool(*words: object) -> None:
    """Run `python -m WORDS`."""
    start([sys.executable, "-m", *words])


def ranks(n: int, *words: object) -> None:
    """Run `mpirun -n N python -m WORDS`."""
    mpirun = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    start([mpirun or "mpirun", "-n", n, sys.executable, "-m", *words])


def start(command: list[object]) -> None:
    """Run a command in the checkout, one thread a process."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    subprocess.run(list(map(str, command)), cwd=ROOT, env=environment, check=True, timeout=300)


if __name__ == "__main__":
    main()
