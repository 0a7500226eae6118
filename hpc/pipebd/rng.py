"""Random draws keyed by what they are for, never by rank, so that no schedule changes them.

A key is (purpose, seed, epoch, step, block) or as many of these as the draw depends
on; equal keys give equal draws on every rank and in every order. Layers that draw by
themselves while training (dropout) cannot be keyed and are refused, see `blocks`.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator

import numpy as np
import torch


class Draw(enum.IntEnum):
    """What a draw is for: the first part of its key, so that two uses never share numbers."""

    TEACHER_WEIGHTS = 0
    STUDENT_WEIGHTS = 1
    SHUFFLE = 2
    AUGMENT = 3
    HOLD_OUT = 4
    PATH = 5
    ARCHITECTURE_PATH = 6


def numpy_generator(draw: Draw, seed: int, *key: int) -> np.random.Generator:
    """Return the generator of a key: Philox, seeded through numpy's SeedSequence.

    Parameters
    ----------
    draw : Draw
        What it is for.
    seed : int
        The run's, >= 0.
    *key : int
        Epoch, step, block or sample, as many as the draw depends on, each >= 0.

    Returns
    -------
    np.random.Generator
        A new one: the same numbers on every call, on every rank.
    """
    return np.random.Generator(np.random.Philox(np.random.SeedSequence((int(draw), seed, *key))))


@contextlib.contextmanager
def seeded(draw: Draw, seed: int, *key: int) -> Iterator[None]:
    """Let torch's global CPU generator be that of a key inside, and as before afterwards.

    For layers, which draw their first weights from the global generator.

    Parameters
    ----------
    draw, seed, *key : Draw, int, int
        As `numpy_generator`'s.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(numpy_generator(draw, seed, *key).integers(2**63)))
        yield
