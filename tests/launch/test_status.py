"""What job scripts have left of their end, however it looks."""

from __future__ import annotations

import pytest

from launch.records import Record
from launch.status import State, exits

JOB = Record("7", "x", ["doctor"], 1, 1, None, [], "", ".")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"0\n", State("7", "COMPLETED", 0)),
        (b"3\n", State("7", "FAILED", 3)),
        (b"", State("7", "FAILED")),
        (b"\xff\xfe", State("7", "FAILED")),
    ],
)
def test_an_exit_code_or_what_is_left_of_it(tmp_path, content, expected):
    (tmp_path / "7.exit").write_bytes(content)
    assert exits(JOB, tmp_path) == [expected]
