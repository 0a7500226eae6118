"""Where an axis has its marks, and what they say. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

STEPS = (1, 2, 2.5, 5, 10)
LEAST, GREATEST_POWER = 1e-290, 307
"""Distances below count as none, and so many tens are in a float: marks are never out of range."""


def ticks(low: float, high: float, most: int = 6, whole: bool = False) -> list[float]:
    """Return round numbers that cover low..high, evenly apart, at most about `most`.

    Parameters
    ----------
    low, high : of what is shown; where they are the same, something above is covered.
    most : numbers.
    whole : they are whole.

    Returns
    -------
    At least two, ascending.
    """
    if not high - low > LEAST:
        high = low + (abs(low) if abs(low) > LEAST else 1.0)
    rough = (high - low) / max(1, most - 1)
    power = 10.0 ** floor(log10(rough))
    step = next(s * power for s in STEPS if s * power >= rough * (1 - 1e-9))
    if whole:
        step = max(1.0, float(round(step)) if step >= 1 else 1.0)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten, with 2 and 5 where there are few, that cover low..high.

    Parameters
    ----------
    low, high : of what is shown, above LEAST.

    Returns
    -------
    At least two, ascending.
    """
    first, last = floor(log10(low)), ceil(log10(high) - 1e-9)
    powers = range(first, max(last, first + 1) + 1)
    if len(powers) > 4:
        apart = ceil(len(powers) / 7)
        kept = range(first, powers[-1] + apart, apart)
        return sorted({10.0 ** min(power, GREATEST_POWER) for power in kept})
    marks = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    start = max(mark for mark in marks if mark <= low * (1 + 1e-9))
    stop = min((mark for mark in marks if mark >= high * (1 - 1e-9)), default=marks[-1])
    return [mark for mark in marks if start <= mark <= stop]


def tick_texts(values: Sequence[float], percent: bool = False) -> list[str]:
    """Return the labels of marks, all with as many digits as they need to differ.

    Parameters
    ----------
    values : sequence of float
        Of the marks.
    percent : bool
        Whether they are shares, to be shown as per cent.

    Returns
    -------
    list of str
        One a mark, with the prefix k, M or G where the largest is large.
    """
    if percent:
        return [f"{text} %" for text in tick_texts([100 * value for value in values])]
    largest = max(map(abs, values), default=0.0)
    factor, prefix = next(
        ((f, p) for f, p in ((1e9, "G"), (1e6, "M"), (1e4, "k")) if largest >= f), (1.0, "")
    )
    if prefix == "k":
        factor = 1e3
    scaled = [value / factor for value in values]
    for digits in range(4):
        texts = [f"{value:.{digits}f}" for value in scaled]
        exact = all(
            abs(float(text) - value) <= 1e-6 * max(1.0, abs(value))
            for text, value in zip(texts, scaled, strict=True)
        )
        if exact:
            return [f"{text}{prefix}" if float(text) else "0" for text in texts]
    return [f"{value:,.0f}" if value == int(value) else f"{value:.6g}" for value in values]
