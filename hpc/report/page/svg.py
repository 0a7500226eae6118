"""Charts as SVG for the page. Colours are its own, by class: light and dark fit. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log10

from hpc.report.page.charts import Axis, Bars, Chart, Heat, Lines
from hpc.report.page.heat import heat_svg
from hpc.report.page.svg_parts import colour, element, label, picture, told, upright
from hpc.report.page.ticks import log_ticks, tick_texts, ticks

HEIGHT = 320
TOP, BOTTOM, RIGHT = 12, 48, 16
LETTER = 7.2
"""Width of a letter of a label, about."""
WIDEST_BAR = 72.0


@dataclass(frozen=True)
class Scale:
    """From values to places in the picture, with marks and their labels."""

    marks: Sequence[float]
    texts: Sequence[str]
    place: Callable[[float], float]


def svg_of(chart: Chart, title: str, width: float) -> str:
    """Return a chart as SVG.

    Parameters
    ----------
    chart : Chart
        With one value or more.
    title : str
        What screen readers say.
    width : float
        Of the picture, in its own units.

    Returns
    -------
    str
        An <svg> element; '' for a timeline, which the page's script draws.
    """
    if isinstance(chart, Lines):
        return _lines(chart, title, width)
    if isinstance(chart, Bars):
        return _bars(chart, title, width)
    if isinstance(chart, Heat):
        return heat_svg(chart, title, width)
    return ""


def legend_of(chart: Chart) -> list[tuple[str, str]]:
    """Return what the colours mean.

    Parameters
    ----------
    chart : Chart
        What is drawn.

    Returns
    -------
    list of (str, str)
        Class and name; empty where there is but one, and for a matrix or a timeline.
    """
    if isinstance(chart, Lines):
        found = [(colour(one.colour), one.name) for one in chart.series]
    elif isinstance(chart, Bars):
        found = [(colour(number), name) for name, _, number in chart.parts]
    else:
        return []
    return found if len(found) > 1 else []


def _upwards(axis: Axis, values: Sequence[float]) -> Scale:
    """Return the scale of y: from the first mark at the bottom to the last at the top."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    marks = log_ticks(low, high) if axis.log else ticks(low, high)
    of: Callable[[float], float] = log10 if axis.log else float
    first, last, room = of(marks[0]), of(marks[-1]), HEIGHT - BOTTOM - TOP
    texts = [f"{mark:g}" for mark in marks] if axis.log else tick_texts(marks, axis.percent)
    return Scale(marks, texts, lambda v: HEIGHT - BOTTOM - (of(v) - first) / (last - first) * room)


def _along(values: Sequence[float], left: float, right: float) -> Scale:
    """Return the scale of whole numbers along x: it ends where they do."""
    low, high = min(values), max(values)
    span = high - low or 1
    marks = [
        mark
        for mark in ticks(low, low + span, int((right - left) / 60), whole=True)
        if low <= mark <= high
    ]
    start, room = left + 8, right - left - 16
    return Scale(marks, tick_texts(marks), lambda v: start + (v - low) / span * room)


def _frame(y: Scale, left: float, right: float, x_axis: Axis, y_axis: Axis) -> Iterator[str]:
    """Yield grid, labels of y, and names of both axes."""
    for mark, text in zip(y.marks, y.texts, strict=True):
        at = y.place(mark)
        yield element("line", "grid", x1=left, x2=right, y1=at, y2=at)
        yield label(text, left - 6, at + 4, anchor="end")
    yield label(x_axis.text, (left + right) / 2, HEIGHT - 8, "name") if x_axis.text else ""
    yield upright(y_axis.text, 14, (TOP + HEIGHT - BOTTOM) / 2)


def _x_labels(places: Sequence[float], texts: Sequence[str]) -> list[str]:
    """Return labels of x, as many as do not touch."""
    needed = LETTER * max(map(len, texts), default=1) + 12
    there = (max(places) - min(places)) / (len(places) - 1) if len(places) > 1 else needed
    apart = max(1, -(-int(needed) // max(1, int(there))))
    pairs = list(zip(places, texts, strict=True))[::apart]
    return [label(text, at, HEIGHT - BOTTOM + 18) for at, text in pairs]


def _left(y: Scale) -> float:
    return 34 + LETTER * max(map(len, y.texts))


def _lines(chart: Lines, title: str, width: float) -> str:
    ys = [y for one in chart.series for _, y in one.points]
    y = _upwards(chart.y, ys if chart.y.log else [0.0, *ys])
    left, right = _left(y), width - RIGHT
    x = _along([x for one in chart.series for x, _ in one.points], left, right)
    parts = [*_frame(y, left, right, chart.x, chart.y)]
    parts += _x_labels([x.place(mark) for mark in x.marks], x.texts)
    for number, one in enumerate(chart.series):
        look, places = colour(one.colour), [(x.place(a), y.place(b)) for a, b in one.points]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        dashed = " dashed" if chart.dashed(number) else ""
        parts.append(element("polyline", f"line{dashed} {look}", points=path))
        if chart.marks or len(places) == 1:
            for (a, b), (cx, cy) in zip(one.points, places, strict=True):
                dot = element("circle", f"mark {look}", cx=cx, cy=cy, r=3.5)
                parts.append(told(dot, f"{one.name}, {chart.x.label} {a:g}: {_said(b, chart.y)}"))
    return picture(title, parts, width, HEIGHT)


def _said(value: float, axis: Axis) -> str:
    return f"{100 * value:.2f} %" if axis.percent else f"{value:.5g} {axis.unit}".strip()


def _bars(chart: Bars, title: str, width: float) -> str:
    columns = list(zip(*(values for _, values, _ in chart.parts), strict=True))
    y = _upwards(chart.y, [0.0, *(sum(c) if chart.stacked else max(c) for c in columns)])
    left, right, n = _left(y), width - RIGHT, len(chart.categories)
    slot = (right - left) / n
    wide = min(WIDEST_BAR, slot * (0.7 if n < 80 else 1.0))
    middles = [left + (i + 0.5) * slot for i in range(n)]
    parts = [*_frame(y, left, right, chart.x, chart.y), *_x_labels(middles, chart.categories)]
    for category, middle, column in zip(chart.categories, middles, columns, strict=True):
        where = f"{chart.x.label} {category}".strip()
        parts += _one_bar(chart, y, (middle - wide / 2, wide), column, where)
    return picture(title, parts, width, HEIGHT)


def _one_bar(
    chart: Bars, y: Scale, place: tuple[float, float], column: Sequence[float], where: str
) -> Iterator[str]:
    """Yield the parts of one category. place : begin and width."""
    (start, width), floor = place, 0.0
    each = width if chart.stacked else width / len(chart.parts)
    for value, (name, _, number) in zip(column, chart.parts, strict=True):
        top, bottom = y.place(floor + value), y.place(floor)
        look = f"bar {colour(number)}"
        shape = element("rect", look, x=start, y=top, width=each, height=max(0.0, bottom - top))
        yield told(shape, f"{where}, {name}: {_said(value, chart.y)}")
        if chart.stacked:
            floor += value
        else:
            start += each
