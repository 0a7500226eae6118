"""A signal that ends a tool leaves no half file, and says so."""

from __future__ import annotations

import os
import signal

import pytest

from hpc.io.aside import written_aside
from hpc.io.errors import run_tool


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_half_written_is_left(tmp_path, capsys, number):
    before = signal.getsignal(signal.SIGTERM)

    def main(arguments):
        with written_aside(tmp_path / "out") as partial:
            partial.write_text("half")
            os.kill(os.getpid(), number)

    assert run_tool("tool", main) == 128 + number
    assert capsys.readouterr().err == "tool: interrupted; nothing was written\n"
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before
