"""The options that say how to cut: of `build` and of `compare`."""

from __future__ import annotations

import argparse

from hpc.io.errors import InputError
from partition.asked import BACKENDS, MAX_WINDOW, PRESETS, Asked
from partition.methods import METHODS


def add_asked(command: argparse.ArgumentParser) -> None:
    """Add the options that `asked_from` reads, but for --parts and --method."""
    add = command.add_argument
    add(
        "--epsilon",
        type=float,
        default=Asked.epsilon,
        metavar="E",
        help="how much heavier than its share a part may be in each layer, where the rows "
        "allow it (default: 0.01)",
    )
    add("--seed", type=int, default=0, metavar="S", help="same seed, same plan (default: 0)")
    add(
        "--window",
        default="auto",
        metavar="auto|W",
        help=f"at most W consecutive layers share owners where that costs less than one layer at "
        f"a time; 1: one at a time (default: auto, {MAX_WINDOW})",
    )
    add(
        "--backend",
        default=Asked.backend,
        metavar="|".join((*BACKENDS, "random", "block")),
        help="partitioner; random and block are those methods (default: kahypar, refined by "
        "mtkahypar where that helps)",
    )
    add(
        "--preset",
        default=Asked.preset,
        metavar="|".join(PRESETS),
        help="of mtkahypar (default: deterministic)",
    )
    add(
        "--threads",
        type=int,
        default=1,
        metavar="T",
        help="of mtkahypar; with more than 1 only 'deterministic' gives the same plan each time "
        "(default: 1)",
    )
    add(
        "--weights",
        default="",
        metavar="W,W,...",
        help="for unequal machines: how much of the work each rank takes, one number a rank",
    )


def asked_from(options: argparse.Namespace, parts: int) -> Asked:
    """Return what the options ask for.

    Raises
    ------
    InputError : a window that is no number, weights that are none.
    """
    method, backend = getattr(options, "method", Asked.method), options.backend
    if backend in METHODS:
        method, backend = backend, Asked.backend
    return Asked(
        parts,
        method,
        options.epsilon,
        options.seed,
        _window(options.window),
        backend,
        options.preset,
        options.threads,
        _weights(options.weights),
    )


def _window(text: str) -> int:
    if text == "auto":
        return MAX_WINDOW
    if not text.isdecimal():
        raise InputError(f"--window {text}: expected auto or 1..{MAX_WINDOW}")
    return int(text)


def _weights(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise InputError(f"--weights {text}: expected numbers with commas between them") from error
