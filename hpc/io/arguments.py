"""What a script may give as an argument: said in one line where it is something else. Pure."""

from __future__ import annotations

import numbers
import os
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpc.io.errors import InputError

SHOWN = 60
"""Characters of a value that a message shows."""


@dataclass(frozen=True)
class Kind:
    """What a value may be, of an argument or of a field in a file.

    Attributes
    ----------
    said : what was expected, in words.
    holds : whether a value is of this kind.
    """

    said: str
    holds: Callable[[Any], bool]


def _of_type(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types)


def _no_flag(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types) and not isinstance(value, bool)


WHOLE = Kind("a whole number", _no_flag(numbers.Integral))
NUMBER = Kind("a number", _no_flag(numbers.Real))
SEED = Kind("a whole number of at least 0", lambda value: WHOLE.holds(value) and value >= 0)
FLAG = Kind("True or False", _of_type(bool, np.bool_))
TEXT = Kind("text", _of_type(str))
PATH = Kind("a path", _of_type(str, os.PathLike))
FUNCTION = Kind("a function", callable)


def instance(*types: type, said: str) -> Kind:
    """Return the kind of the instances of some classes.

    Parameters
    ----------
    *types : the classes.
    said : the kind in words.

    Returns
    -------
    The kind.
    """
    return Kind(said, _of_type(*types))


def or_none(kind: Kind) -> Kind:
    """Return a kind with None.

    Parameters
    ----------
    kind : what else it may be.

    Returns
    -------
    The kind.
    """
    return Kind(f"{kind.said} or None", lambda value: value is None or kind.holds(value))


def check_argument(name: str, value: object, kind: Kind) -> None:
    """Check an argument.

    Parameters
    ----------
    name : of the argument.
    value : that came.
    kind : that is expected.

    Raises
    ------
    InputError : names the argument, what came and what is expected.
    """
    if not kind.holds(value):
        raise InputError(f"{name}: {shown(value)}, expected {kind.said}")


def check_arguments(kinds: Mapping[str, Kind], **given: object) -> None:
    """Check arguments one after the other.

    Parameters
    ----------
    kinds : expected ones, by name.
    **given : what came; those without a kind are left alone.

    Raises
    ------
    InputError : see `check_argument`.
    """
    for name, value in given.items():
        if name in kinds:
            check_argument(name, value, kinds[name])


def shown(value: object) -> str:
    """Return a value as a message shows it.

    Parameters
    ----------
    value : any.

    Returns
    -------
    Its beginning and its type; of an array type and shape; of a class that it is one.
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name, shape = type(value).__name__, getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{name} of shape {tuple(shape)}"
    text = " ".join(reprlib.repr(value).split())
    return f"{text if len(text) <= SHOWN else f'{text[:SHOWN]}...'} ({name})"


def as_array(name: str, value: Any, expected: str) -> npt.NDArray[Any]:
    """Return an argument as an array of numpy.

    Parameters
    ----------
    name : of the argument.
    value : that came.
    expected : in words.

    Returns
    -------
    The array; not copied where it is one.

    Raises
    ------
    InputError : it is none, and cannot be made one.
    """
    try:
        found = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: torch's
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name}: {shown(value)}, expected {expected} ({why})") from error
    if found.ndim == 0:
        raise InputError(f"{name}: {shown(value)}, expected {expected}")
    return found
