"""What values in files that others may have touched must be; what is not is refused by its name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from hpc.io import arguments
from hpc.io.arguments import Kind
from hpc.io.errors import FormatError

LARGEST = 1e300
"""Of numbers; charts need room above."""
LARGEST_WHOLE = 2**63 - 1
SHOWN = 60
"""Letters of a wrong value in a message."""
DEEPEST = 20
"""Objects and lists in each other."""


def _is_number(value: Any) -> bool:
    return arguments.NUMBER.holds(value) and abs(value) <= LARGEST and isfinite(value)


def _is_whole(value: Any) -> bool:
    return arguments.WHOLE.holds(value) and 0 <= value <= LARGEST_WHOLE


NUMBER = Kind("a number", _is_number)
AMOUNT = Kind("a number, 0 or more", lambda value: _is_number(value) and value >= 0)
SHARE = Kind("a share in 0..1", lambda value: _is_number(value) and 0 <= value <= 1)
WHOLE = Kind("a whole number, 0 or more", _is_whole)
COUNT = Kind("a whole number above 0", lambda value: _is_whole(value) and value > 0)
TEXT = Kind("a text", lambda value: isinstance(value, str))
WORDS = Kind(
    "a text that can be printed", lambda value: isinstance(value, str) and value.isprintable()
)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))


def one_of(*values: str) -> Kind:
    """Return the kind of these texts.

    Parameters
    ----------
    *values : that are good.

    Returns
    -------
    The kind.
    """
    return Kind(" or ".join(f"'{value}'" for value in values), lambda value: value in values)


def maybe(kind: Kind) -> Kind:
    """Return a kind that may also be null.

    Parameters
    ----------
    kind : otherwise.

    Returns
    -------
    The kind.
    """
    return Kind(f"{kind.said}, or null", lambda value: value is None or kind.holds(value))


def lists(kind: Kind) -> Kind:
    """Return the kind of lists.

    Parameters
    ----------
    kind : of every entry.

    Returns
    -------
    The kind.
    """
    return Kind(
        f"a list, each entry {kind.said}",
        lambda value: isinstance(value, list) and all(map(kind.holds, value)),
    )


def objects(kind: Kind) -> Kind:
    """Return the kind of objects.

    Parameters
    ----------
    kind : of every value in them.

    Returns
    -------
    The kind.
    """
    return Kind(
        f"an object, each value {kind.said}",
        lambda value: isinstance(value, dict) and all(map(kind.holds, value.values())),
    )


def wrong_field(
    found: Mapping[str, Any], kinds: Mapping[str, Kind], needed: bool = False
) -> str | None:
    """Return what is wrong with an object's fields, the first of them.

    Parameters
    ----------
    found : the object.
    kinds : of fields by name; others are not looked at.
    needed : all of them must be there.

    Returns
    -------
    A sentence without its end; None where nothing is wrong.
    """
    for name, kind in kinds.items():
        if name not in found:
            if needed:
                return f"no '{name}'"
        elif not kind.holds(found[name]):
            return f"'{name}' is {shown(found[name])}, expected {kind.said}"
    return None


def wrong_value(found: Any) -> str | None:
    """Return what no file of a run has, wherever it is: NaN and infinity, endless nesting.

    Parameters
    ----------
    found : of a JSON file.

    Returns
    -------
    A sentence without its end; None where nothing is wrong.
    """
    left: list[tuple[Any, tuple[str, ...]]] = [(found, ())]
    while left:
        value, place = left.pop()
        if isinstance(value, float) and not isfinite(value):
            return f"'{_named(place)}' is {shown(value)}, expected a number"
        if isinstance(value, dict | list) and len(place) > DEEPEST:
            return f"'{_named(place[:1])}' is nested too deeply"
        if isinstance(value, dict):
            left += [(one, (*place, name)) for name, one in value.items()]
        elif isinstance(value, list):
            left += [(one, (*place, str(i))) for i, one in enumerate(value)]
    return None


def _named(place: tuple[str, ...]) -> str:
    """Return a place as 'history.3.loss', on one line."""
    return json.dumps(".".join(place))[1:-1][-SHOWN:]


def shown(value: Any) -> str:
    """Return a value as JSON, on one line and not long.

    Parameters
    ----------
    value : that JSON has.

    Returns
    -------
    The text.
    """
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 4]} ..."


def refused(where: object, what: str) -> FormatError:
    """Return the error for a file of a run whose figures are not what a run writes.

    Parameters
    ----------
    where : the file.
    what : is wrong, by its name.

    Returns
    -------
    The error.
    """
    return FormatError(f"{where}: figures damaged or of another program: {what}")
