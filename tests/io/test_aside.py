"""Files written aside: what cannot be written is said before the work, and nothing stays behind."""

from __future__ import annotations

import pytest

from hpc.io.aside import check_writable, folder_aside, partial_name, remove_partials, written_aside
from hpc.io.errors import InputError


def test_a_file_is_there_when_it_is_whole(tmp_path):
    with written_aside(tmp_path / "x") as partial:
        partial.write_text("half")
        assert not (tmp_path / "x").exists()
        partial.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "whole"


@pytest.mark.parametrize("aside", [written_aside, folder_aside])
def test_an_exception_leaves_nothing(tmp_path, aside):
    with pytest.raises(RuntimeError), aside(tmp_path / "x") as partial:
        assert partial == partial_name(tmp_path / "x")
        if aside is written_aside:
            partial.write_text("half")
        raise RuntimeError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("aside", [written_aside, folder_aside])
def test_a_process_that_is_to_end_removes_what_it_writes(tmp_path, aside):
    with pytest.raises(OSError), aside(tmp_path / "x") as partial:
        if aside is written_aside:
            partial.write_text("half")
        remove_partials()
        assert not list(tmp_path.iterdir())


def test_places_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("mine")
    long = "x" * 300
    for name, words in (
        ("", "is a folder"),
        ("no/x", "does not exist"),
        ("file/x", "is a file, expected a folder"),
        (long, "cannot be written .File name too long"),
        ("y" * 250, "cannot be written .File name too long"),  # with what is added to it aside
    ):
        with pytest.raises(InputError, match=words):
            check_writable(tmp_path / name)
    with pytest.raises(InputError, match="File name too long"), folder_aside(tmp_path / long):
        pass
    with pytest.raises(InputError, match="is there already"), folder_aside(tmp_path):
        pass
    assert (tmp_path / "file").read_text() == "mine"
