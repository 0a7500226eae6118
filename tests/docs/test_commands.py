"""Every command of the pages and of the README runs, page by page, each in a folder of its own.

The folder looks like a checkout. A block that cannot be run says why (see `blocks`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import not_printed, printed_words, shell_blocks
from tests.launching import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md"))
FOLDERS = ("hpc", "partition", "launch", "datasets", "demo", "examples", "tests")
LIMIT_S = 600
"""Of a page, on a machine that does something else as well."""


def texts():
    """Return the blocks of every page that has any, and the page, the README's first."""
    pages = [(ROOT / "README.md", True), *((page, False) for page in PAGES)]
    read = [(path, path.read_text("utf-8"), indented) for path, indented in pages]
    found = [(path, shell_blocks(text, indented), text) for path, text, indented in read]
    return [
        pytest.param(blocks, text, id=str(path.relative_to(ROOT)))
        for path, blocks, text in found
        if blocks
    ]


@pytest.mark.timeout(LIMIT_S + 30)
@pytest.mark.parametrize(("blocks", "page"), texts())
def test_commands_run(blocks, page, tmp_path):
    script = "\n".join(block.script for block in blocks)
    if not script.strip():
        pytest.skip("; ".join(block.reason for block in blocks))
    ran = run_script(script, tmp_path)
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    missing = not_printed(page, ran.stdout)
    assert not missing, f"{ran.stdout}\nnot printed: {missing}"


def run_script(script, folder):
    """Run commands under `bash -e` in a folder that looks like a checkout."""
    for name in FOLDERS:
        (folder / name).symlink_to(ROOT / name)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    }
    command = ["timeout", "-s", "TERM", str(LIMIT_S), "bash", "-euxo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_command_that_fails_fails_the_page(tmp_path):
    ran = run_script("python -m partition stats nothing.h5\necho went on", tmp_path)
    assert ran.returncode == 2 and "went on" not in ran.stdout


def test_blocks_are_found_and_skipped_by_their_markers():
    page = (
        "text\n\n```sh\necho one \\\n    two\ncat <<'END'\n  inside\nEND\n```\n\n"
        "<!-- skip: needs a cluster -->\n```sh\nsbatch\n```\n\n"
        "<!-- skip slow one; other: takes an hour -->\n\n    python slow one\n    python quick\n\n"
        "text\n\n    import numpy\n\n```python\nno\n```\n"
    )
    first, second = shell_blocks(page)
    assert first.script.rstrip() == "echo one two\ncat <<'END'\n  inside\nEND"
    assert (second.script, second.reason) == ("", "needs a cluster")
    third = shell_blocks(page, indented=True)[-1]
    assert third.script.strip() == "python quick" and third.reason == "takes an hour"
    assert len(shell_blocks(page, indented=True)) == 3


def test_figures_that_are_printed_are_compared():
    page = "`not this`\n\n<!-- printed -->\nThe `3.4 %` of `all\ncolumns`.\nMuch.\n\n`nor this`\n"
    assert printed_words(page) == ["3.4 %", "all columns"]
    assert not_printed(page, "computed 3.4 %  of all\n columns") == []
    assert not_printed(page, "computed 3.5 % of all columns") == ["3.4 %"]


def test_every_skipped_block_says_why():
    for page in (ROOT / "README.md", *PAGES):
        text = page.read_text(encoding="utf-8")
        markers = re.findall(r"<!-- skip.*?-->", text)
        blocks = shell_blocks(text, indented=page.name == "README.md")
        used = [block for block in blocks if block.reason]
        assert len(markers) == len(used), f"{page}: a marker without a block"
