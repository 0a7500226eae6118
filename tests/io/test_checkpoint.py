"""Checkpoints as files: what was written comes back, what is damaged is never taken for whole."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from hpc.io.checkpoint import (
    PIECE_BYTES,
    Index,
    check_part,
    index_path,
    opened_part,
    part_path,
    read_index,
    write_part,
)
from hpc.io.checkpoint_folder import (
    check_root,
    checkpoint_path,
    differences,
    make_root,
    numbers,
    prune,
)
from hpc.io.container import read
from hpc.io.errors import FormatError, InputError
from tests.io.kinds import RUN, checkpoint, checkpoint_content, part_arrays, same


def written(root, number, parts=3):
    return read_index(checkpoint(root, number, parts))


def test_what_was_written_comes_back(tmp_path):
    index = written(tmp_path, 4)
    assert index.folder == checkpoint_path(tmp_path, 4)
    found = checkpoint_content(index_path(index.folder))
    assert same(found[:4], [7, RUN, {"epoch": 2, "loss": 0.1}, [("history", np.eye(2))]])
    assert same(found[4:], [part_arrays(part) for part in range(3)])


def test_arrays_longer_than_a_piece(tmp_path):
    long = np.arange(2 * PIECE_BYTES // 8 + 5, dtype=np.int64)
    file = write_part(tmp_path / "c", 0, [("long", long)])
    index = Index(tmp_path / "c", 0, {}, {}, {}, (file,))
    check_part(index, 0)
    with opened_part(index, 0) as found:
        np.testing.assert_array_equal(read(found["long"]), long)


def test_parts_of_another_step_and_missing_ones(tmp_path):
    index, other = written(tmp_path, 1), checkpoint_path(tmp_path, 2)
    write_part(other, 0, [("weights", np.zeros(3000))])
    path = part_path(index.folder, 0)
    size = path.stat().st_size
    path.write_bytes(part_path(other, 0).read_bytes().ljust(size, b"\0")[:size])
    with pytest.raises(FormatError, match="checksum mismatch"):
        check_part(index, 0)
    path.unlink()
    with pytest.raises(FormatError, match="no such file"):
        check_part(index, 0)
    os.mkfifo(path)
    with pytest.raises(FormatError, match="is no regular file"):
        check_part(index, 0)
    index_path(index.folder).unlink()
    os.mkfifo(index_path(index.folder))  # opening it would wait for ever
    with pytest.raises(FormatError, match="is no regular file"):
        read_index(index.folder)
    with pytest.raises(FormatError, match="has no index, so it is half written"):
        read_index(other)


def test_the_newest_are_kept_and_broken_ones_cleaned(tmp_path):
    for number in range(1, 8):
        written(tmp_path, number)
    index_path(checkpoint_path(tmp_path, 5)).unlink()
    part_path(checkpoint_path(tmp_path, 4), 1).write_bytes(b"")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / f"checkpoint-{10**22}").mkdir()  # no number of ours
    assert numbers(tmp_path) == [7, 6, 5, 4, 3, 2, 1]
    prune(tmp_path, 3, 6)
    assert numbers(tmp_path) == [7, 6, 3, 2]
    prune(tmp_path, 3, 7, broken=[6])
    assert numbers(tmp_path) == [7, 3, 2]
    prune(tmp_path, 1, 7)
    assert numbers(tmp_path) == [7]
    assert (tmp_path / "notes.txt").exists()


def test_the_folder(tmp_path):
    make_root(tmp_path / "new")
    check_root(tmp_path / "new")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file, expected a folder"):
        make_root(tmp_path / "file")
    with pytest.raises(InputError, match=r"cannot be made \(No such file"):
        make_root(tmp_path / "no" / "such")
    with pytest.raises(InputError, match="all ranks must share it"):
        check_root(tmp_path / "elsewhere")


def test_how_runs_differ():
    assert differences(RUN, dict(RUN)) == ""
    found = differences(RUN, {"network": "abc", "batch": 64, "seed": 1})
    assert found == "batch 50, here 64; seed None, here 1; lr 0.1, here None"


def test_a_full_disk(tmp_path):
    code = (
        "import sys, numpy as np; from pathlib import Path; from hpc.io.checkpoint import *\n"
        "try: write_part(Path(sys.argv[1]), 0, [('w', np.ones(10**6))])\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "c"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.stdout.startswith("InputError") and "File too large" in ran.stdout, ran
    assert list((tmp_path / "c").iterdir()) == []


def test_a_folder_that_cannot_be_asked_for(tmp_path):
    too_long = tmp_path / ("x" * 300)
    for check in (make_root, check_root):
        with pytest.raises(InputError, match=r"--checkpoint .*(name too long|no such folder)"):
            check(too_long)
    assert numbers(too_long) == []
