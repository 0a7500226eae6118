"""Categories files: what is written is read; a bad line is named."""

import pytest

from hpc.io.categories import read_categories, write_categories
from hpc.io.errors import FormatError


def test_what_is_written_is_read(tmp_path):
    write_categories(tmp_path / "c.tsv", [3, 7, 2000])
    assert (tmp_path / "c.tsv").read_text() == "3\n7\n2000\n"
    assert read_categories(tmp_path / "c.tsv").tolist() == [3, 7, 2000]


def test_order_and_empty_lines_do_not_matter(tmp_path):
    (tmp_path / "c.tsv").write_text("9\n\n2\n")
    assert read_categories(tmp_path / "c.tsv").tolist() == [2, 9]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3\nx\n", "line 2: found 'x'"),
        ("0\n", "line 1: found '0'"),
        ("1 2\n", "line 1: found '1 2'"),
        ("7\n2\n\n7\n", "line 4: image 7 was given"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, message):
    (tmp_path / "c.tsv").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_categories(tmp_path / "c.tsv")


def test_no_such_file(tmp_path):
    with pytest.raises(FormatError, match="cannot be read"):
        read_categories(tmp_path / "none.tsv")
