"""Pictures for papers, drawn by matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hpc.io.aside import written_aside
from hpc.io.errors import InputError
from hpc.report.page.charts import Axis, Bars, Heat, Lines, Picture, Timeline
from hpc.report.page.ticks import tick_texts
from hpc.report.timeline import draw_timeline

COLOURS = (
    "#2f6fb7", "#d9772b", "#2e8b57", "#a8479b", "#8a7420", "#5b5fc7", "#3f9aa8", "#c0453a",
    "#7a5230", "#6b9a1f", "#c2678f", "#4a6b8a", "#9a6fd0",
)  # fmt: skip
GREYS = ("#a9b2bc", "#c6ccd3", "#8b95a1")
SIZE, SQUARE = (6.4, 3.6), (4.4, 3.6)
"""Inches: a column and a half; of a matrix."""
DPI = 200


def draw(picture: Picture, path: Path) -> None:
    """Draw a picture.

    Parameters
    ----------
    picture : Picture
        What is drawn.
    path : Path
        File to write, aside and renamed; ends in .png or .svg.

    Raises
    ------
    InputError : matplotlib is not installed; the file cannot be written.
    """
    chart = picture.chart
    if isinstance(chart, Timeline):
        draw_timeline(chart.trace, chart.window, path, chart.waiting)
        return
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("a picture needs matplotlib: pip install 'relaycut[plot]'") from error
    size = SQUARE if isinstance(chart, Heat) else SIZE
    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    if isinstance(chart, Lines):
        _lines(axes, chart)
    elif isinstance(chart, Bars):
        _bars(axes, chart)
    else:
        _heat(figure, axes, chart)
    axes.set_title(picture.title, fontsize=11, parse_math=False)
    with written_aside(path) as partial:
        figure.savefig(partial, format=path.suffix.removeprefix("."))


def colour(number: int) -> str:
    """Return the colour of a number; greys below 0.

    Parameters
    ----------
    number : int
        Of a series; below 0 for a kind of waiting.

    Returns
    -------
    str
        '#rrggbb'; they repeat.
    """
    return COLOURS[number % len(COLOURS)] if number >= 0 else GREYS[(-number - 1) % len(GREYS)]


def _lines(axes: Any, chart: Lines) -> None:
    for number, one in enumerate(chart.series):
        x, y = zip(*one.points, strict=True)
        marker = "o" if chart.marks or len(x) == 1 else None
        style = "--" if chart.dashed(number) else "-"
        axes.plot(x, y, style, color=colour(one.colour), label=one.name, marker=marker, ms=3.5)
    if chart.y.log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    if chart.whole:
        axes.xaxis.get_major_locator().set_params(integer=True)
    _finish(axes, chart.x, chart.y, len(chart.series))


def _bars(axes: Any, chart: Bars) -> None:
    places = range(len(chart.categories))
    floor = [0.0] * len(places)
    width = 0.7 if chart.stacked else 0.7 / len(chart.parts)
    for number, (name, values, shade) in enumerate(chart.parts):
        shift = 0.0 if chart.stacked else (number - (len(chart.parts) - 1) / 2) * width
        at = [place + shift for place in places]
        bottom = floor if chart.stacked else None
        axes.bar(at, values, width, bottom=bottom, color=colour(shade), label=name)
        floor = [a + b for a, b in zip(floor, values, strict=True)]
    apart = max(1, -(-len(places) // 16))
    axes.set_xticks(list(places)[::apart], chart.categories[::apart])
    _finish(axes, chart.x, chart.y, len(chart.parts))


def _heat(figure: Any, axes: Any, chart: Heat) -> None:
    image = axes.imshow(chart.values, cmap="Blues", vmin=0)
    places = range(len(chart.values))
    apart = max(1, -(-len(places) // 8))
    names = [str(place * chart.step) for place in places]
    axes.set_xticks(list(places)[::apart], names[::apart])
    axes.set_yticks(list(places)[::apart], names[::apart])
    axes.set_xlabel(chart.columns.text)
    axes.set_ylabel(chart.rows.text)
    figure.colorbar(image, ax=axes).set_label(chart.unit, parse_math=False)


def _finish(axes: Any, x: Axis, y: Axis, n_names: int) -> None:
    """Name the axes; a grid, a legend where there are several names."""
    axes.set_xlabel(x.text)
    axes.set_ylabel(y.text, parse_math=False)
    if y.percent:
        axes.yaxis.set_major_formatter(lambda value, place: tick_texts([100 * value])[0])
    axes.grid(axis="y", color="#e6e9ed", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if n_names > 1:
        axes.legend(fontsize=8, frameon=False, ncols=1 + (n_names > 6))
