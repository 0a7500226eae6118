"""The picture of predicted strong scaling. Needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hpc.io.aside import written_aside
from partition.predict import KINDS, Prediction

COLOURS = ("#4477aa", "#ccaa33", "#ee6677", "#bbbbbb")


def draw_scaling(every: Sequence[Prediction], path: str | os.PathLike[str]) -> None:
    """Draw the time of a batch over P, by kind, and what perfect scaling would give.

    Parameters
    ----------
    every : sequence of Prediction
        One per number of ranks, the fewest first: perfect scaling starts there.
    path : str or os.PathLike
        Picture to write, aside and renamed, of the kind that it ends in; see `check_picture`.

    Raises
    ------
    InputError : the file cannot be written.
    """
    from matplotlib.figure import Figure

    parts = [one.parts for one in every]
    places = np.arange(len(every))
    figure = Figure(figsize=(7, 4), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    below = np.zeros(len(every))
    for kind, colour in zip(KINDS, COLOURS, strict=True):
        height = 1e3 * np.array([one.by_kind()[kind] for one in every])
        axes.bar(places, height, bottom=below, color=colour, label=kind)
        below += height
    ideal = 1e3 * every[0].total_s * parts[0] / np.array(parts)
    axes.plot(places, ideal, "k:", marker=".", label="perfect scaling")
    axes.set_xticks(places, [str(one) for one in parts])
    axes.set_xlabel("ranks P")
    axes.set_ylabel("predicted time of a batch [ms]")
    axes.legend(frameon=False, fontsize=8)
    with written_aside(path) as partial:
        figure.savefig(partial, format=Path(path).suffix.lower().removeprefix("."))
