"""`--every` and its companions: what they say, and what they refuse."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from hpc.io.checkpoint_options import CheckpointOptions, Every
from hpc.io.errors import InputError
from hpc.report.checkpoint_options import checkpoint_options, parse_every


def given(**changes):
    options = {"checkpoint": "c", "every": None, "keep": None, "fresh": False}
    return Namespace(**options | {"checkpoint_after": 0} | changes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", Every(seconds=90)),
        ("10m", Every(seconds=600)),
        ("1.5h", Every(seconds=5400)),
        ("500steps", Every(steps=500)),
        ("1 step", Every(steps=1)),
    ],
)
def test_times_and_steps(text, expected):
    assert parse_every(text) == expected


@pytest.mark.parametrize(
    "text", ["", "10", "m", "-5m", "0s", "0steps", "1.5steps", "5x", "5 m s", "nan s", "1e3s"]
)
def test_what_is_neither(text):
    with pytest.raises(InputError, match=r"--every .*: expected a time such as 90s"):
        parse_every(text)


def test_when_one_is_due():
    steps, time = parse_every("5steps"), parse_every("2s")
    assert [step for step in range(1, 12) if steps.due((step - 1, 0), (step, 0))] == [5, 10]
    assert steps.due((4, 0), (6, 0)) and not steps.due((5, 0), (9, 0))
    assert time.due((0, 1.0), (0, 3.0)) and not time.due((0, 1.0), (99, 2.9))


def test_options():
    assert checkpoint_options(given(checkpoint=None)) is None
    assert checkpoint_options(given()) == CheckpointOptions(Path("c"), Every(seconds=600), 3)
    asked = checkpoint_options(given(every="2steps", keep=1, fresh=True))
    assert asked == CheckpointOptions(Path("c"), Every(steps=2), 1, True)
    for change, says in [
        ({"keep": 0}, "--keep 0: expected at least 1"),
        ({"every": "often"}, "--every often"),
        ({"checkpoint": ""}, "expected the name of a folder"),
        ({"checkpoint": None, "every": "5m"}, "--every: is for runs with --checkpoint"),
        ({"checkpoint": None, "fresh": True}, "--fresh: is for runs with --checkpoint"),
    ]:
        with pytest.raises(InputError, match=says):
            checkpoint_options(given(**change))
