"""Predicted against measured: step time and idle share of every rank, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from hpc.report.figures import table


def predicted_table(
    step_s: tuple[float, float], idle: tuple[Sequence[float], Sequence[float]]
) -> str:
    """Return predicted against measured as a table.

    Parameters
    ----------
    step_s : (float, float)
        Seconds of a step, predicted and measured.
    idle : (sequence of float, sequence of float)
        Share of the step per rank in which it has nothing to do, likewise.

    Returns
    -------
    str
        A line for the step, in milliseconds, and one for each rank.
    """
    predicted_s, measured_s = step_s
    change = f"{100 * (measured_s / predicted_s - 1):+.1f} %" if predicted_s else "-"
    rows = [("step", f"{1e3 * predicted_s:.2f} ms", f"{1e3 * measured_s:.2f} ms", change)]
    rows += [
        (f"idle, rank {rank}", f"{100 * one:.1f} %", f"{100 * other:.1f} %", "")
        for rank, (one, other) in enumerate(zip(*idle, strict=True))
    ]
    return table(("", "predicted", "measured", "difference"), rows)
