"""The picture of a comparison: words and messages over P. Needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hpc.io.aside import written_aside
from hpc.io.errors import InputError
from partition.compare import Row, comparison_figures

KINDS = (".png", ".svg", ".pdf")
COLOURS = {"": "#4477aa", "random_": "#ee6677"}
LABELS = {"": "hypergraph", "random_": "random"}


def check_picture(path: str | os.PathLike[str]) -> None:
    """Check that a picture of this kind can be drawn later.

    Parameters
    ----------
    path : str or os.PathLike
        Picture to write.

    Raises
    ------
    InputError : it ends in none of KINDS, or matplotlib is not installed.
    """
    if Path(path).suffix.lower() not in KINDS:
        raise InputError(f"{path}: a picture ends in {', '.join(KINDS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError("--plot needs matplotlib: pip install 'relaycut[plot]'") from error


def draw_comparison(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Draw what a rank sends over P, average and maximum, hypergraph and random.

    Parameters
    ----------
    rows : sequence of Row
        One per number of ranks, joined by lines in this order.
    path : str or os.PathLike
        Picture to write, aside and renamed, of the kind that it ends in.

    Raises
    ------
    InputError : the file cannot be written.
    """
    from matplotlib.figure import Figure

    found = comparison_figures(rows)
    figure = Figure(figsize=(9, 3.8), dpi=150, layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("words", "messages"), strict=True):
        for prefix, colour in COLOURS.items():
            for measure, style in (("average", "o-"), ("maximum", "x:")):
                axes.plot(
                    found["parts"],
                    found[f"{prefix}{name}_{measure}"],
                    style,
                    color=colour,
                    label=f"{LABELS[prefix]}, {measure}",
                )
        axes.set_xscale("log", base=2)
        axes.set_yscale("symlog" if name == "messages" else "log")
        axes.set_xticks(found["parts"], [str(parts) for parts in found["parts"]])
        axes.set_xlabel("ranks P")
        axes.set_ylabel(f"{name} sent by a rank, for one input")
        axes.grid(True, alpha=0.3)
    figure.axes[0].legend(fontsize=8, frameon=False)
    with written_aside(path) as partial:
        figure.savefig(partial, format=Path(path).suffix.lower().removeprefix("."))
