"""What the SVG of a chart is put together from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

BROAD, NARROW = 640, 420
"""Widths that charts are drawn in, in their own units: for wide pages, and for those of phones."""
COLOURS, GREYS = 13, 3


def element(name: str, look: str = "", text: str = "", **attributes: float | str) -> str:
    """Return an element.

    look : classes. text : inside it, escaped. attributes : '_' stands for '-'; numbers are given
    two decimals.
    """
    found = {"class": look} if look else {}
    for key, value in attributes.items():
        shown = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        found[key.replace("_", "-")] = shown
    written = "".join(f' {key}="{escape(value)}"' for key, value in found.items())
    return f"<{name}{written}>{escape(text)}</{name}>" if text else f"<{name}{written}/>"


def told(shape: str, text: str) -> str:
    """Return a shape that says a text when pointed at."""
    name = shape[1 : shape.index(" ")]
    return f"{shape.removesuffix('/>')}>{element('title', text=text)}</{name}>"


def label(text: str, x: float, y: float, look: str = "tick", anchor: str = "middle") -> str:
    """Return a text. anchor : which end of it stands at x: start, middle, end."""
    return element("text", look, text, x=float(x), y=float(y), text_anchor=anchor)


def upright(text: str, x: float, y: float) -> str:
    """Return the name of a vertical axis, centred at y."""
    turned = f"rotate(-90 {x:g} {y:g})"
    return element(
        "text", "name", text, x=float(x), y=float(y), text_anchor="middle", transform=turned
    )


def picture(title: str, parts: Sequence[str], width: float, height: float) -> str:
    """Return the whole."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}" '
        f'xmlns="http://www.w3.org/2000/svg">\n{body}\n</svg>'
    )


def colour(number: int) -> str:
    """Return the class of a colour's number; greys below 0."""
    return f"c{number % COLOURS}" if number >= 0 else f"w{(-number - 1) % GREYS}"
