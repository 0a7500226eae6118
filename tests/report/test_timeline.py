"""The picture, looked at: where which colour is."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hpc.io.errors import InputError
from hpc.report.timeline import PALETTE, draw_timeline
from hpc.report.trace import Span, Trace, Window

pytest.importorskip("matplotlib")


def trace():
    """Rank 0: teacher and student of block 0; rank 1: waits, then the student of block 1."""
    spans = []
    for step in range(3):
        spans += [
            Span(0, "teacher", step, 0, step, step + 0.25),
            Span(0, "student", step, 0, step + 0.25, step + 1.0),
            Span(1, "receive", step, 1, step, step + 0.5),
            Span(1, "student", step, 1, step + 0.5, step + 1.0),
        ]
    return Trace(tuple(spans), {"schedule": "0@0 1@1"})


def drawn(tmp_path):
    from PIL import Image

    path = tmp_path / "t.png"
    draw_timeline(trace(), Window(0, 2), path, ("receive",))
    return np.asarray(Image.open(path).convert("RGB")).astype(int)


def columns(pixels, colour):
    """Return per column how many pixels have a colour, as '#rrggbb'."""
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return (np.abs(pixels - wanted).max(axis=2) <= 2).sum(axis=0)


def test_bars_are_as_long_as_their_spans_and_where_they_belong(tmp_path):
    pixels = drawn(tmp_path)
    block0, block1 = columns(pixels, PALETTE[0]), columns(pixels, PALETTE[1])
    longest0, longest1 = block0.max(), block1.max()
    long0, long1 = (block0 > longest0 / 3).sum(), (block1 > longest1 / 3).sum()
    assert long0 / long1 == pytest.approx(0.75 / 0.5, rel=0.1)
    rows0 = np.flatnonzero(columns(pixels.swapaxes(0, 1), PALETTE[0]) > 200)
    rows1 = np.flatnonzero(columns(pixels.swapaxes(0, 1), PALETTE[1]) > 200)
    assert rows0.max() < rows1.min()  # rank 0 is above rank 1


def test_the_teacher_is_a_lighter_shade_of_its_block(tmp_path):
    pixels = drawn(tmp_path)
    light = "#" + "".join(
        f"{round((int(PALETTE[0][i : i + 2], 16) + 255) / 2):02x}" for i in (1, 3, 5)
    )
    assert columns(pixels, light).max() > 20


@pytest.mark.parametrize("name", ["t.jpeg", "t"])
def test_other_kinds_of_pictures(tmp_path, name):
    with pytest.raises(InputError, match=r"ends in \.png"):
        draw_timeline(trace(), Window(0, 2), tmp_path / name, ())


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'relaycut\[plot\]'"):
        draw_timeline(trace(), Window(0, 2), tmp_path / "t.png", ())
