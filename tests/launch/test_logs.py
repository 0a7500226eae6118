"""`launch logs` of a job that has printed nothing yet."""

import pytest

from launch.cli import main
from launch.records import Record, write_record


@pytest.mark.parametrize("quiet", [False, True])
def test_nothing_printed_yet_is_a_note(tmp_path, quiet, capsys):
    record = Record("7", "n", ["machine"], 1, 1, None, [], "2026-01-01T00:00:00+00:00", "/")
    write_record(tmp_path, record)
    main(["logs", "7", "--output", str(tmp_path), *["--quiet"] * quiet])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == ("" if quiet else f"launch: {tmp_path / '7.out'}: nothing printed yet\n")
