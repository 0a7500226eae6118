import numpy as np
import pytest

from datasets import tsv
from hpc.io.errors import InputError

PAIR = np.dtype([("key", np.int64), ("value", np.float64)])


def test_blocks_join_to_the_whole_file_over_empty_lines_and_crlf(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_bytes(b"1\t0.5\r\n\r\n2\t1e-3\r\n3\t-4\r\n\r\n4\t5\r\n5\t6")
    blocks = list(tsv.blocks(path, PAIR, lines=2))
    assert [len(block) for block in blocks] == [2, 2, 1]
    assert np.concatenate(blocks).tolist() == [(1, 0.5), (2, 1e-3), (3, -4), (4, 5), (5, 6)]


@pytest.mark.parametrize("text", [b"", b"\n\n"])
def test_an_empty_file_has_no_records(tmp_path, text):
    path = tmp_path / "t.tsv"
    path.write_bytes(text)
    assert len(tsv.read(path, PAIR)) == 0


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        (b"1.5\t2", "1.5"),
        (b"one\t2", "one"),
        (b"1", "1"),
        (b"1\t2\t3", "1\t2\t3"),
        (b"1\t\xc3\xa9", "1"),
        (b"# note", "# note"),
        (b"99999999999999999999\t1", "9999"),
    ],
)
@pytest.mark.parametrize("place", [0, 6, 999])
def test_the_line_of_a_bad_record_is_named(tmp_path, monkeypatch, bad, found, place):
    monkeypatch.setattr(tsv, "BLOCK_LINES", 64)
    lines = [b"1\t2"] * 1000
    lines[3] = b""
    lines[place] = bad
    path = tmp_path / "t.tsv"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(InputError) as error:
        tsv.read(path, PAIR)
    assert str(error.value).startswith(f"{path}, line {place + 1}: found '{found}")
    assert "expected key, value" in str(error.value)


def test_range_errors_count_lines_not_records(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("\n1\t0\n\n\n2\t0\n9\t0\n")
    with pytest.raises(InputError, match=r"line 6: key 9 is outside 1\.\.8"):
        tsv.check_range(path, tsv.read(path, PAIR), "key", 8)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        tsv.read(tmp_path / "none.tsv", PAIR)
