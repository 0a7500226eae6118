"""Zip archives by their checksums, and files that cannot be opened."""

from __future__ import annotations

import os
import zipfile

import pytest

from hpc.io.archive import check_archive
from hpc.io.errors import FormatError


def test_a_whole_archive_and_a_file_that_is_none(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", b"content")
    (tmp_path / "b").write_text("text")
    for name in ("a.zip", "b"):
        check_archive(tmp_path / name)


def test_a_damaged_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", b"content")
    content = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(content.replace(b"content", b"CONTENT"))
    with pytest.raises(FormatError, match="checksum mismatch in x"):
        check_archive(tmp_path / "a.zip")


def test_what_cannot_be_opened(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for name, words in (
        ("none.zip", "No such file"),
        (".", "Is a directory"),
        ("loop", "Too many levels of symbolic links"),
    ):
        with pytest.raises(FormatError, match=rf"{name}: cannot be read \({words}"):
            check_archive(os.path.join(tmp_path, name))
