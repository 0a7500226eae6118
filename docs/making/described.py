"""The house's docstrings for mkdocstrings: `name : what it is`, with types in the signature.

Griffe takes what follows the colon for a type, as in `x : int`. It is the description.
"""

from __future__ import annotations

from typing import Any

import griffe

KINDS = ("parameters", "attributes", "other parameters")


class Described(griffe.Extension):
    """Moves descriptions to their place and takes types from the signature."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Mend an object's docstring. Griffe calls it when the object is loaded."""
        if obj.docstring is None:
            return
        sections = obj.docstring.parse(griffe.Parser.numpy, warnings=False)
        obj.docstring.parsed = sections  # cached there, and shown from there
        for section in sections:
            if section.kind.value in KINDS:
                for one in section.value:
                    mend(one, annotation_of(obj, one.name))
            elif section.kind.value in ("returns", "yields"):
                for one in section.value:
                    mend(one, getattr(obj, "returns", None))
            elif section.kind.value == "raises":
                for one in section.value:
                    split(one)


def annotation_of(obj: Any, name: str) -> Any:
    """Return the type of a parameter or attribute as the code has it."""
    if obj.is_function:
        return next((one.annotation for one in obj.parameters if one.name == name), None)
    return getattr(obj.members.get(name), "annotation", None)


def mend(item: Any, annotation: Any) -> None:
    """Join what Griffe took for a type with what it took for the rest."""
    item.description = "\n".join(filter(None, (str(item.annotation or ""), item.description)))
    item.annotation = annotation


def split(item: Any) -> None:
    """Take the name of an exception off its description."""
    name, _, text = str(item.annotation or "").partition(" : ")
    item.annotation = name
    item.description = "\n".join(filter(None, (text, item.description)))
