"""The blocks that the README names for an example run."""

from __future__ import annotations

from pathlib import Path

from tests.launching import run_ranks
from tests.pipebd.small_runs import write_images

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_names_them():
    assert "`--blocks demo.my_blocks:pairs`" in (ROOT / "README.md").read_text()


def test_two_ranks_distill_them(tmp_path):
    ran = run_ranks(
        2, "-m", "hpc", "pipebd", "train", "--blocks", "demo.my_blocks:pairs",
        "--data", write_images(tmp_path / "x.h5", 16, 4), "--batch", 4, "--epochs", 1,
        "--schedule", "0@0 1-2@1", "--quiet", "--device", "cpu", "--out", tmp_path / "s.pt",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "workload   demo.my_blocks:pairs, 3 blocks" in ran.stdout
    assert (tmp_path / "s.pt").exists()
