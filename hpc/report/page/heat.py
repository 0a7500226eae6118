"""A matrix as SVG: the more, the fuller the colour. Pure."""

from __future__ import annotations

from hpc.report.figures import quantity
from hpc.report.page.charts import Heat
from hpc.report.page.svg_parts import element, label, picture, told, upright
from hpc.report.page.ticks import tick_texts, ticks

LEFT, TOP = 64.0, 42.0
LARGEST, CELL, KEY = 300.0, 110.0, 175.0
"""Side of the matrix and of a cell at most; room for the key."""
NUMBERS_FROM = 36
"""Size of cells from which their numbers are in them."""
DARK_FROM = 0.55
"""Share of the colour from which a number in it is written in the other ink."""


def heat_svg(chart: Heat, title: str, width: float) -> str:
    """Return a matrix as SVG.

    Parameters
    ----------
    chart : Heat
        One row or more.
    title : str
        What screen readers say.
    width : float
        Of the picture, in its own units.

    Returns
    -------
    str
        An <svg> element.
    """
    n = len(chart.values)
    side = min(LARGEST, CELL * n, width - LEFT - KEY)
    size, largest = side / n, max(max(row) for row in chart.values)
    parts = []
    for r, row in enumerate(chart.values):
        for c, value in enumerate(row):
            parts += _cell(chart, (r, c), value, largest, size)
    for i in range(0, n, max(1, -(-n // 8))):
        at, text = (i + 0.5) * size, str(i * chart.step)
        parts.append(label(text, LEFT - 8, TOP + at + 4, anchor="end"))
        parts.append(label(text, LEFT + at, TOP - 8))
    parts.append(element("rect", "edge", x=LEFT, y=TOP, width=side, height=side))
    parts.append(label(chart.columns.text, LEFT + side / 2, 14, "name"))
    parts.append(upright(chart.rows.text, 16, TOP + side / 2))
    parts += _key(f"heat-{width:g}", LEFT + side + 40, side, largest, chart.unit)
    return picture(title, parts, width, TOP + side + 14)


def _cell(
    chart: Heat, place: tuple[int, int], value: float, largest: float, size: float
) -> list[str]:
    (r, c), share = place, value / largest if largest else 0.0
    x, y = LEFT + c * size, TOP + r * size
    shape = element("rect", "cell", x=x, y=y, width=size, height=size, fill_opacity=share)
    said = f"{r * chart.step} to {c * chart.step}: {value:,.6g} {chart.unit}"
    parts = [told(shape, said)]
    if size >= NUMBERS_FROM:
        look = "number on" if share > DARK_FROM else "number off"
        text = quantity(value, "").replace(" ", "") if value else "0"
        parts.append(label(text, x + size / 2, y + size / 2 + 4, look))
    return parts


def _key(name: str, x: float, side: float, largest: float, unit: str) -> list[str]:
    """Return the scale of the colours. name : of its gradient, one of its own in the page."""
    stops = element("stop", "heat", offset=0, stop_opacity=1)
    stops += element("stop", "heat", offset=1, stop_opacity=0)
    parts = [
        f'<linearGradient id="{name}" x2="0" y2="1">{stops}</linearGradient>',
        element("rect", x=x, y=TOP, width=18, height=side, fill=f"url(#{name})"),
        element("rect", "edge", x=x, y=TOP, width=18, height=side),
    ]
    marks = [mark for mark in ticks(0.0, largest, 5) if mark <= largest * (1 + 1e-9)]
    texts = tick_texts(marks)
    for mark, text in zip(marks, texts, strict=True):
        at = TOP + side * (1 - mark / largest) if largest else TOP + side
        parts.append(label(text, x + 26, at + 4, anchor="start"))
    return [*parts, upright(unit, x + 50 + 7 * max(map(len, texts)), TOP + side / 2)]
