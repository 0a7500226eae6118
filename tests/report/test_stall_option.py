"""`--stall`, and times as people write them."""

from __future__ import annotations

from argparse import Namespace

import pytest

from hpc.io.errors import InputError
from hpc.report.durations import seconds_of
from hpc.report.stall_option import stall_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("5m", 300), ("90s", 90), ("1.5 h", 5400), ("0.5s", 0.5), ("0s", None), ("5", None)],
        *[("", None), ("-5m", None), ("5 steps", None), ("9" * 400 + "s", None)],
    ],
)
def test_times(text, seconds):
    assert seconds_of(text) == seconds


def test_the_option():
    assert stall_seconds(Namespace(stall=None)) is None
    assert stall_seconds(Namespace(stall="5m")) == 300
    with pytest.raises(InputError, match="--stall soon: expected a time such as 90s, 5m or 1h"):
        stall_seconds(Namespace(stall="soon"))
