"""The picture of a run: ranks as rows, blocks as colours, kinds of work as shades.

Paper: Pipe-BD, Fig. 5. Needs matplotlib, which is imported when a picture is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from hpc.io.aside import written_aside
from hpc.io.errors import InputError
from hpc.report.trace import Span, Trace, Window, measured, of_whole_run, start_of, step_s

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = (
    "#4477aa", "#ee6677", "#228833", "#ccaa33", "#66bbdd", "#aa3377", "#ee8844",
    "#44aa99", "#882255", "#999933", "#6655aa", "#bb5566", "#77aa55",
)  # fmt: skip
"""Colours of the blocks, after Paul Tol's for readers of all kinds of sight; they repeat."""
SHADES = {"teacher": 0.5, "student": 0.0, "reduce": -0.4, "update": -0.75}
"""Kinds by how far the block's colour goes towards white (above 0) or black (below)."""
OWN = {"load": "#b8a07a", "validate": "#99aabb"}
"""Colours of kinds that are of no block."""
LETTERS = {"teacher": "T", "student": "S"}
BAR = 0.7
"""Height of a bar; rows are 1 apart."""
INCHES = 12.0
LETTER_INCHES = 0.085
"""Width of the picture, and of a letter on a bar."""


def draw_timeline(
    trace: Trace, window: Window, path: str | os.PathLike[str], waiting: Collection[str]
) -> None:
    """Draw the steps of a window.

    Paper: Pipe-BD, Fig. 5.

    Parameters
    ----------
    trace : Trace
        Of all ranks.
    window : Window
        Steps that are shown, one or more.
    path : str or os.PathLike
        File to write, aside and renamed; a .png; .svg and .pdf work as well.
    waiting : collection of str
        Kinds in which a rank has nothing to do.

    Raises
    ------
    InputError : matplotlib is not installed; another kind of picture.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("a picture needs matplotlib: pip install 'relaycut[plot]'") from error
    kind = os.path.splitext(path)[1].removeprefix(".").lower()
    if kind not in ("png", "svg", "pdf"):
        raise InputError(f"{path}: a picture ends in .png, .svg or .pdf")
    figure = Figure(figsize=(INCHES, 1.7 + 0.6 * trace.n_ranks), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    begin = min(start_of(trace, window.first).values(), default=0.0)
    took = len(window) * step_s(trace, window)
    _draw_rows(axes, trace, begin, took, waiting)
    _draw_steps(axes, trace, window, begin)
    _label(axes, trace, window, waiting)
    _legend(figure, trace, waiting)
    with written_aside(path) as partial:
        figure.savefig(partial, format=kind)


def _draw_rows(
    axes: Axes, trace: Trace, begin: float, took: float, waiting: Collection[str]
) -> None:
    axes.set_xlim(0, 1e3 * took)
    axes.set_ylim(trace.n_ranks - 0.4, -0.75)
    for rank in range(trace.n_ranks):
        axes.barh(rank, 1e3 * took, height=BAR, color="#f3f3f3", zorder=0)
    for span in trace.spans:
        start = max(span.start_s - begin, 0.0)
        end = min(span.end_s - begin, took)
        if start < end:
            _draw_span(axes, span, (1e3 * start, 1e3 * (end - start)), 1e3 * took, waiting)


def _draw_span(
    axes: Axes, span: Span, bar: tuple[float, float], width: float, waiting: Collection[str]
) -> None:
    """Draw a span. bar : begin and length in ms. width : of the picture in ms."""
    begin, length = bar
    style = _style(span, waiting)
    axes.barh(span.rank, length, left=begin, height=BAR, linewidth=0.3, **style)
    text = f"{LETTERS.get(span.kind, '')}{span.block}"
    if span.kind in LETTERS and length / width * INCHES > LETTER_INCHES * (len(text) + 0.5):
        ink = "#222222" if span.kind == "teacher" else "white"
        axes.text(
            begin + length / 2, span.rank, text, ha="center", va="center", color=ink, fontsize=8
        )


def _style(span: Span, waiting: Collection[str]) -> dict[str, Any]:
    if span.kind in waiting:
        return {"color": "none", "hatch": "////", "edgecolor": "#cccccc"}
    return {"color": _colour(span.kind, span.block), "edgecolor": "white"}


def _colour(kind: str, block: int) -> Any:
    from matplotlib.colors import to_rgb

    if kind in OWN:
        return OWN[kind]
    shade = SHADES.get(kind, 0.0)
    aim = 1.0 if shade > 0 else 0.0
    base = to_rgb(PALETTE[block % len(PALETTE)])
    return tuple(part + abs(shade) * (aim - part) for part in base)


def _draw_steps(axes: Axes, trace: Trace, window: Window, begin: float) -> None:
    """Mark on every rank where a step begins."""
    right = axes.get_xlim()[1]
    for step in range(window.first - trace.n_ranks, window.last + 1):
        for rank, start_s in start_of(trace, step).items():
            at = 1e3 * (start_s - begin)
            if 0 <= at < 0.99 * right:
                axes.plot([at, at], [rank - 0.5, rank + BAR / 2], color="black", linewidth=0.9)
                axes.text(at, rank - 0.37, f" {step}", fontsize=7, va="bottom", color="#333333")


def _label(axes: Axes, trace: Trace, window: Window, waiting: Collection[str]) -> None:
    one_step_s, idle = measured(trace, window, waiting)
    axes.set_yticks(
        range(trace.n_ranks),
        [f"rank {rank}\n{100 * share:.0f} % idle" for rank, share in enumerate(idle)],
    )
    axes.set_xlabel("time [ms]; the small numbers are steps")
    schedule = trace.about.get("schedule")
    of = "the whole run" if of_whole_run(trace) else f"steps {window.first} to {window.last - 1}"
    each = f"{1e3 * one_step_s:.1f} ms a step, idle shares of {of}"
    title = f"{schedule}: {each}" if schedule else each
    axes.set_title(title, fontsize=11, parse_math=False)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _legend(figure: Figure, trace: Trace, waiting: Collection[str]) -> None:
    from matplotlib.patches import Patch

    kinds = {span.kind for span in trace.spans}
    blocks = sorted({span.block for span in trace.spans if span.kind in SHADES})
    handles = [Patch(color=_colour("student", block), label=f"block {block}") for block in blocks]
    handles += [Patch(color=_shade_sample(kind), label=kind) for kind in SHADES if kind in kinds]
    handles += [Patch(color=OWN[kind], label=kind) for kind in OWN if kind in kinds]
    if kinds & set(waiting):
        label = "waiting"
        handles.append(Patch(facecolor="none", hatch="////", edgecolor="#bbbbbb", label=label))
    figure.legend(handles=handles, loc="outside lower center", ncols=9, fontsize=8, frameon=False)


def _shade_sample(kind: str) -> Any:
    """Return the shade of a kind, in grey."""
    return str(0.5 + 0.5 * SHADES[kind])
