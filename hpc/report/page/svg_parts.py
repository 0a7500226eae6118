"""What the SVG of a chart is put together from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

BROAD, NARROW = 640, 420
"""Widths that charts are drawn in, in their own units: for wide pages, and for those of phones."""
COLOURS, GREYS = 13, 3


def element(name: str, look: str = "", text: str = "", **attributes: float | str) -> str:
    """Return an element.

    Parameters
    ----------
    name : str
        Of the element.
    look : str
        Its classes; '' for none.
    text : str
        Inside it, escaped.
    **attributes : float or str
        '_' in a name stands for '-'; floats get at most two decimals, texts are escaped.

    Returns
    -------
    str
        The element.
    """
    found = {"class": look} if look else {}
    for key, value in attributes.items():
        shown = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        found[key.replace("_", "-")] = shown
    written = "".join(f' {key}="{escape(value)}"' for key, value in found.items())
    return f"<{name}{written}>{escape(text)}</{name}>" if text else f"<{name}{written}/>"


def told(shape: str, text: str) -> str:
    """Return a shape that says a text when pointed at.

    Parameters
    ----------
    shape : str
        An element with attributes and nothing inside.
    text : str
        Not escaped yet.

    Returns
    -------
    str
        The element with a <title>.
    """
    name = shape[1 : shape.index(" ")]
    return f"{shape.removesuffix('/>')}>{element('title', text=text)}</{name}>"


def label(text: str, x: float, y: float, look: str = "tick", anchor: str = "middle") -> str:
    """Return a text.

    Parameters
    ----------
    text : str
        Not escaped yet.
    x, y : float
        Where it stands, in the picture's own units.
    look : str
        Its classes.
    anchor : str
        Which end of it stands at x: 'start', 'middle' or 'end'.

    Returns
    -------
    str
        A <text> element.
    """
    return element("text", look, text, x=float(x), y=float(y), text_anchor=anchor)


def upright(text: str, x: float, y: float) -> str:
    """Return the name of a vertical axis.

    Parameters
    ----------
    text : str
        Not escaped yet.
    x, y : float
        Of its middle, in the picture's own units.

    Returns
    -------
    str
        A <text> element.
    """
    turned = f"rotate(-90 {x:g} {y:g})"
    return element(
        "text", "name", text, x=float(x), y=float(y), text_anchor="middle", transform=turned
    )


def picture(title: str, parts: Sequence[str], width: float, height: float) -> str:
    """Return the whole.

    Parameters
    ----------
    title : str
        What screen readers say; escaped here.
    parts : sequence of str
        Elements; empty ones are left out.
    width, height : float
        Of the picture, in its own units.

    Returns
    -------
    str
        An <svg> element.
    """
    body = "\n".join(part for part in parts if part)
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}" '
        f'xmlns="http://www.w3.org/2000/svg">\n{body}\n</svg>'
    )


def colour(number: int) -> str:
    """Return the class of a colour's number; greys below 0.

    Parameters
    ----------
    number : int
        Of a series; below 0 for a kind of waiting.

    Returns
    -------
    str
        'c0' to 'c12', 'w0' to 'w2'; they repeat.
    """
    return f"c{number % COLOURS}" if number >= 0 else f"w{(-number - 1) % GREYS}"
