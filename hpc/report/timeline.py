"""The picture of a run: ranks as rows, blocks as colours, kinds as shades.

Paper: Pipe-BD, Fig. 5. Needs matplotlib, which is imported when a picture is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from hpc.io.container import written_aside
from hpc.io.errors import InputError
from hpc.report.trace import Span, Trace, Window, idle_shares, step_s

Colour = tuple[float, float, float]
PALETTE = (
    "#4477aa", "#ee6677", "#228833", "#ccaa33", "#66ccee", "#aa3377", "#ee8866",
    "#44aa99", "#882255", "#999933", "#6699cc", "#117733", "#dd7788", "#997700",
)  # fmt: skip
"""Colours of blocks, told apart by most eyes (Paul Tol); they repeat after the last."""
SHADES = {"teacher": 0.55, "student": 0.0, "reduce": -0.35, "update": -0.6}
"""Kinds by how far a block's colour goes towards white (> 0) or black (< 0)."""
GREYS = {"load": "#555555", "validate": "#8899aa"}
IDLE = "#f1f1f1"
WAITING_HATCH = "////"
ROW, BAR = 1.0, 0.72
"""Height of a row and of its bars."""
LETTERS = {"teacher": "T", "student": "S"}
LABEL_SHARE = 0.016
"""Bars wider than this share of the picture carry their block's number."""


def draw_timeline(
    trace: Trace, window: Window, path: str | os.PathLike[str], waiting: Collection[str]
) -> None:
    """Draw the steps of a window as a picture.

    Parameters
    ----------
    path : a .png; other endings that matplotlib knows work as well.
    waiting : kinds in which a rank has nothing to do.

    Raises
    ------
    InputError : matplotlib is not installed; an ending that it does not know.
    """
    figure_type, pyplot_error = _matplotlib()
    if figure_type is None:
        raise InputError(f"the picture needs matplotlib: pip install 'relaycut[plot]' ({pyplot_error})")
    kind = os.path.splitext(path)[1].removeprefix(".").lower() or "png"
    n_ranks = trace.n_ranks
    figure = figure_type(figsize=(12, 1.9 + 0.62 * n_ranks), dpi=150, layout="constrained")
    if kind not in figure.canvas.get_supported_filetypes():
        raise InputError(f"{path}: unknown kind of picture '.{kind}'; expected .png, .svg or .pdf")
    axes = figure.add_subplot()
    _draw_spans(axes, trace, window, waiting)
    _label(axes, trace, window, waiting)
    _legend(figure, trace)
    with written_aside(path) as partial:
        figure.savefig(partial, format=kind)


def _matplotlib() -> tuple[Any, ImportError | None]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        return None, error
    return Figure, None
