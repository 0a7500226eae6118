"""Which samples train, which validate, and in what order: functions of the seed alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpc.io.errors import InputError

Longs = npt.NDArray[np.int64]


def split_samples(n: int, validation: float, seed: int) -> tuple[Longs, Longs]:
    """Return the sample numbers for training and for validation. Pure.

    Parameters
    ----------
    n : int
        Samples there are.
    validation : float
        Share held out, 0 <= validation < 1, rounded to whole samples.
    seed : int
        Of the choice.

    Returns
    -------
    tuple of two int64 arrays
        Both ascending, disjoint, n numbers in all, 0-based.

    Raises
    ------
    InputError : nothing is left to train on.
    """
    held_out = round(n * validation)
    if held_out >= n:
        raise InputError(f"validation {validation} of {n} samples leaves none to train on")
    order = np.random.default_rng([seed, 0]).permutation(n)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def batches(samples: Longs, batch: int, seed: int, epoch: int) -> list[Longs]:
    """Return an epoch's batches: every sample once, in an order of (seed, epoch).

    Parameters
    ----------
    samples : (n,) int64 array
        Numbers of the training samples.
    batch : int
        How many at a time; the last batch may have fewer.
    seed, epoch : int
        Of the order; the epoch counts from 0.

    Returns
    -------
    list of int64 arrays
        The same on all ranks.
    """
    order = np.random.default_rng([seed, 1, epoch]).permutation(samples)
    return [order[start : start + batch] for start in range(0, len(order), batch)]
