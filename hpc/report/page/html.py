"""The page of a run: one file, no network; style and script are in it. Pure, but for its parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from hpc.report.page.charts import Picture, Table, Timeline, Value
from hpc.report.page.parts import Note
from hpc.report.page.run_data import RunData
from hpc.report.page.summary import LINE, Tile, about_rows, options_rows, tiles
from hpc.report.page.svg import legend_of, svg_of
from hpc.report.page.svg_parts import BROAD, NARROW
from hpc.report.trace import start_of

MOST_SPANS = 20_000
"""Of a timeline in the page: the middle of a longer one."""
MOST_BESIDE = 6
"""Columns of a table that stands beside its chart; one with more stands below it."""


def page_of(run: RunData, pictures: Sequence[Picture]) -> str:
    """Return the page.

    Parameters
    ----------
    run : RunData
        For the head of the page.
    pictures : sequence of Picture
        In the order of the page.

    Returns
    -------
    str
        HTML, whole.
    """
    here = files("hpc.report.page")
    parts = {
        "title": escape(f"{run.command}, {run.about.get('started', '')}"),
        "heading": escape(run.command),
        "status": _status(run),
        "style": (here / "page.css").read_text(encoding="utf-8"),
        "script": (here / "page.js").read_text(encoding="utf-8"),
        "tiles": "\n".join(map(_tile, tiles(run))),
        "notes": _notes(run.notes),
        "links": "\n".join(f'<a href="#{p.name}">{escape(p.title)}</a>' for p in pictures),
        "about": _pairs(about_rows(run)),
        "options": _pairs(options_rows(run)),
        "pictures": "\n".join(map(section_of, pictures)),
    }
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(parts)


def section_of(picture: Picture) -> str:
    """Return a picture with its caption and its table.

    Parameters
    ----------
    picture : Picture
        What is drawn.

    Returns
    -------
    str
        A <section> element, whose id is the picture's name.
    """
    drawn = (
        _timeline(picture.chart)
        if isinstance(picture.chart, Timeline)
        else f'<div class="plot">{_both(picture)}</div>'
    )
    keys = "".join(
        f'<li><i class="key {name}"></i>{escape(text)}</li>'
        for name, text in legend_of(picture.chart)
    )
    legend = f'<ul class="legend">{keys}</ul>' if keys else ""
    below = isinstance(picture.chart, Timeline) or len(picture.table.columns) > MOST_BESIDE
    wide = " wide" if below else ""
    return (
        f'<section class="picture{wide}" id="{picture.name}">\n<h2>{escape(picture.title)}</h2>\n'
        f"<p>{escape(picture.caption)}</p>\n"
        f'<div class="beside"><figure>{legend}{drawn}</figure>\n'
        f'<div class="numbers" tabindex="0">{table_of(picture.table)}</div></div>\n</section>'
    )


def _both(picture: Picture) -> str:
    """Return a chart for wide pages and for narrow ones; the style shows one of them."""
    return "".join(
        f'<div class="{name}">{svg_of(picture.chart, picture.title, width)}</div>'
        for name, width in (("broad", BROAD), ("narrow", NARROW))
    )


def table_of(table: Table) -> str:
    """Return a table; every number stands in a <data> with its exact value.

    Parameters
    ----------
    table : Table
        Values and their forms.

    Returns
    -------
    str
        A <table> element.
    """
    head = "".join(
        f'<th scope="col" class="{"number" if one.form else "text"}">{escape(one.title)}'
        f"{f' <small>{escape(one.unit)}</small>' if one.unit else ''}</th>"
        for one in table.columns
    )
    forms = [column.form for column in table.columns]
    rows = "\n".join(
        "<tr>" + "".join(_cell(v, form) for v, form in zip(row, forms, strict=True)) + "</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>"


def _cell(value: Value, form: str) -> str:
    if value is None:
        return '<td class="number">–</td>'
    if isinstance(value, str) or not form:
        return f"<td>{escape(str(value))}</td>"
    text = format(value, form) if form.endswith(("d", "%")) else format(float(value), form)
    return f'<td class="number"><data value="{value!r}">{_spaced(text)}</data></td>'


def _spaced(text: str) -> str:
    return text.replace("%", " %")


def _status(run: RunData) -> str:
    status = str(run.about.get("status", "unknown"))
    kind = {"done": "good", "stopped": "even", "running": "even"}.get(status, "bad")
    text = "not ended, as far as is known" if status == "running" else status
    return f'<span class="status {kind}">{escape(text)}</span>'


def _tile(tile: Tile) -> str:
    number, _, unit = tile.shown.partition(" ")
    return (
        f'<div><dt>{escape(tile.name)}</dt><dd><data value="{tile.value!r}">{number}</data>'
        f"{f' <small>{escape(unit)}</small>' if unit else ''}</dd>"
        f'<dd class="covers">{escape(tile.covers)}</dd></div>'
    )


def _notes(notes: Sequence[Note]) -> str:
    """Return what is said of parts that are missing or not whole; '' where all are there."""
    if not notes:
        return ""
    items = "\n".join(f"<li><b>{escape(note.file)}</b>: {escape(note.why)}</li>" for note in notes)
    head = "Not on this page, since parts of the run are not there:"
    return f'<div class="notes" role="note"><p>{head}</p>\n<ul>\n{items}\n</ul></div>'


def _pairs(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(
        f"<dt>{escape(name)}</dt>" + (_line(value) if name == LINE else f"<dd>{escape(value)}</dd>")
        for name, value in rows
    )


def _line(text: str) -> str:
    """Return a command line that breaks between words only, as far as they fit."""
    words = " ".join(f"<span>{escape(word)}</span>" for word in text.split(" "))
    return f'<dd class="line">{words}</dd>'


def _timeline(chart: Timeline) -> str:
    """Return the place of a timeline and what the script draws there."""
    data = json.dumps(timeline_data(chart), separators=(",", ":")).replace("</", "<\\/")
    return (
        '<div class="timeline"><div class="tools"></div><div class="plot"></div>'
        "<noscript>The timeline needs JavaScript; the table does not.</noscript></div>"
        f'<script type="application/json" class="spans">{data}</script>'
    )


def timeline_data(chart: Timeline) -> dict[str, Any]:
    """Return what the script needs to draw a timeline.

    Parameters
    ----------
    chart : Timeline
        With one span or more.

    Returns
    -------
    dict of str to Any
        `spans`, up to MOST_SPANS, are [rank, number in `kinds`, step, block, begin, length]; begin
        and `shown` are in µs from the first one's begin, length in µs.
    """
    trace = chart.trace
    spans = sorted(trace.spans, key=lambda span: span.start_s)
    if len(spans) > MOST_SPANS:
        middle = (chart.window.first + chart.window.last) // 2
        at = next((i for i, span in enumerate(spans) if span.step >= middle), 0)
        start = min(max(0, at - MOST_SPANS // 2), len(spans) - MOST_SPANS)
        spans = spans[start : start + MOST_SPANS]
    zero = spans[0].start_s
    kinds = sorted({span.kind for span in spans})
    begins = start_of(trace, chart.window.first).values()
    ends = start_of(trace, chart.window.last).values()
    return {
        "ranks": trace.n_ranks,
        "kinds": kinds,
        "waiting": [kind for kind in kinds if kind in chart.waiting],
        "left_out": len(trace.spans) - len(spans),
        "shown": [1e6 * (min(begins) - zero), 1e6 * (max(ends) - zero)],
        "spans": [
            [
                span.rank,
                kinds.index(span.kind),
                span.step,
                span.block,
                round(1e6 * (span.start_s - zero), 1),
                round(1e6 * (span.end_s - span.start_s), 1),
            ]
            for span in spans
        ],
    }
