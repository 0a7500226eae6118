"""What is said of arguments of other types, and which are taken."""

import numpy as np
import pytest
import torch
from scipy import sparse

from hpc.io import arguments
from hpc.io.arguments import as_array, check_arguments, or_none, shown
from hpc.io.errors import InputError

TAKEN = {
    "WHOLE": [0, -3, np.int64(4)],
    "SEED": [0, np.uint8(4)],
    "NUMBER": [1, 0.5, np.float32(2), float("inf")],
    "FLAG": [True, np.bool_(False)],
    "TEXT": ["", "cpu"],
    "PATH": ["x.h5"],
    "FUNCTION": [print, lambda: None, dict],
}
REFUSED = {
    "WHOLE": [True, 2.0, "5", None, [1], np.array([1])],
    "SEED": [-1, True, "0", None],
    "NUMBER": [False, "0.1", None, 1j, np.ones(1)],
    "FLAG": [0, 1, "yes", None, np.ones(2)],
    "TEXT": [b"cpu", 5, None, ["cpu"]],
    "PATH": [5, None, ["x.h5"], b"x.h5"],
    "FUNCTION": [None, "print", 5],
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_a_kind_takes(name):
    kind = getattr(arguments, name)
    assert all(map(kind.holds, TAKEN[name]))
    assert not any(map(kind.holds, REFUSED[name]))
    assert or_none(kind).holds(None)


def test_the_message_has_name_value_and_kind():
    kinds = {"epochs": arguments.WHOLE, "out": or_none(arguments.PATH)}
    check_arguments(kinds, epochs=5, out=None, other=object())
    with pytest.raises(InputError) as raised:
        check_arguments(kinds, epochs="5", out=5)
    assert str(raised.value) == "epochs: '5' (str), expected a whole number"
    with pytest.raises(InputError) as raised:
        check_arguments(kinds, epochs=5, out=5)
    assert str(raised.value) == "out: 5 (int), expected a path or None"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (dict, "the class dict"),
        (np.zeros((3, 4)), "ndarray of shape (3, 4)"),
        (torch.zeros(3), "Tensor of shape (3,)"),
        (sparse.csr_array((2, 5)), "csr_array of shape (2, 5)"),
        ({"a": "b\n"}, r"{'a': 'b\n'} (dict)"),
    ],
)
def test_values_are_shown(value, text):
    assert shown(value) == text


def test_long_values_are_shown_in_part():
    assert shown([np.zeros(9)] * 10**6).endswith("... (list)")
    assert len(shown("x" * 10**6)) < 80


@pytest.mark.parametrize(
    "value", [None, 5, {}, [[1], [1, 2]], torch.ones(2, requires_grad=True), sparse.eye(3)]
)
def test_what_is_no_array(value):
    with pytest.raises(InputError, match=r"x: .* expected an array"):
        as_array("x", value, "an array")


def test_what_is_an_array():
    array = np.ones(3)
    assert as_array("x", array, "") is array
    assert as_array("x", [[1.0, 2.0]], "").shape == (1, 2)
    assert as_array("x", torch.ones(3, dtype=torch.uint8), "").dtype == np.uint8
