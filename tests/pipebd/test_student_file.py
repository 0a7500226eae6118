"""Student files that are not what they say: one message that names the file."""

from __future__ import annotations

import pytest
import torch

from hpc.io.errors import FormatError
from hpc.pipebd.exporting import export
from hpc.pipebd.recipe import Recipe, build_student
from hpc.pipebd.student_file import FORMAT, VERSION, read_contents, read_student, write_student

RECIPE = Recipe(blocks="tests.pipebd.paced_blocks:pairs")


@pytest.fixture
def changed(tmp_path):
    """Return a function that writes a student file, some of its contents replaced."""

    def write(**contents):
        write_student(tmp_path / "s.pt", RECIPE, build_student(RECIPE))
        found = torch.load(tmp_path / "s.pt", weights_only=True)
        assert (found["format"], found["version"]) == (FORMAT, VERSION)
        found["recipe"] |= contents.pop("recipe", {})
        torch.save(found | contents, tmp_path / "s.pt")
        return tmp_path / "s.pt"

    return write


@pytest.mark.parametrize("state", ["words", 7, None, [1], {1: torch.ones(1)}, {"a": 1}])
def test_a_state_that_is_no_tensors_by_name(changed, state):
    path = changed(state=state)
    words = rf"s.pt: its state is a {type(state).__name__}, not tensors by name"
    with pytest.raises(FormatError, match=words):
        read_contents(path)


@pytest.mark.parametrize("recipe", [{"blocks": 7}, {"blocks": None, "workload": [1]}])
def test_a_description_of_nothing(changed, recipe):
    with pytest.raises(FormatError, match=r"s.pt: does not fit its own description \(.+\)"):
        read_student(changed(recipe=recipe), torch.float32)


def test_a_student_without_weights(changed, tmp_path):
    with pytest.raises(FormatError, match=r"s.pt: does not fit its own description"):
        export(changed(state={}), tmp_path / "s.ts", input_shape=(3, 8, 8))
