"""Whatever a word holds, bash and sbatch read it back as it was."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpc.io.errors import InputError
from launch.quoting import check_line, check_name, quoted_words, sbatch_value
from tests.launch.hostile import NAMES
from tests.launch.stubs import words

LINE = "printf '%s\\0' "


def read_back(given):
    script = f"{LINE}{quoted_words(given)}"
    assert not any(ord(letter) < 32 for letter in script)
    ran = subprocess.run(["bash"], input=os.fsencode(script), capture_output=True, timeout=20)
    assert ran.returncode == 0
    assert ran.stderr == b""
    return words(ran.stdout)


def test_hostile_names():
    assert read_back(NAMES) == NAMES


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=12).filter(lambda data: b"\0" not in data), min_size=1))
def test_any_bytes(given):
    names = [os.fsdecode(data) for data in given]
    assert read_back(names) == names


@pytest.mark.parametrize("text", ["a,b_c-1.2+d@e", "ünï", "gpu"])
def test_names(text):
    assert check_name("--partition", text) == text


@pytest.mark.parametrize(
    "text", ["", "-p", "--wrap", "a b", "a\nb", "a;b", "$(x)", "a'b", "a=b", "#"]
)
def test_what_is_no_name(text):
    with pytest.raises(InputError, match="--partition"):
        check_name("--partition", text)


@pytest.mark.parametrize("text", ["", "a\nb", "a\rb", "\x1b", "\udcff", "a\u2028b"])
def test_what_is_no_line(text):
    with pytest.raises(InputError, match="one line"):
        check_line("--output", text)


def test_values_of_sbatch():
    assert sbatch_value("runs/%j.out") == "runs/%j.out"
    assert sbatch_value('my "runs" --wrap=x') == '"my \\"runs\\" --wrap=x"'
    assert sbatch_value("a#b") == '"a#b"'
