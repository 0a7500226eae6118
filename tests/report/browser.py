"""Pages opened in headless Chromium, where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def browsed(path: Path, tmp_path, *options):
    """Open a page in headless Chromium; return what its console says, and the document then."""
    ran = subprocess.run(
        [
            "timeout", "100", str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr",
            "--virtual-time-budget=5000", *options, f"file://{path}",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return [line for line in ran.stderr.splitlines() if "CONSOLE" in line], ran.stdout
