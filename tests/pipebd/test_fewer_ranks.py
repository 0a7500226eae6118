"""The schedule of the ranks that are left."""

from __future__ import annotations

from argparse import Namespace

import pytest

from hpc.pipebd.fewer_ranks import fewer


@pytest.mark.parametrize(
    ("schedule", "profile", "expected"),
    [
        ("ahd", None, "ahd"),
        ("tr", "p.json", "tr"),
        ("0-2@0-2 3-5@3", None, "tr+dpu"),
        ("0-2@0-2 3-5@3", "p.json", "ahd"),
    ],
)
def test_schedule(schedule, profile, expected):
    given = Namespace(schedule=schedule, profile=profile, batch=8)
    assert fewer(given, 2) == Namespace(schedule=expected, profile=profile, batch=8)
    assert given.schedule == schedule
