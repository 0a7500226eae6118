"""Command-line arguments that several commands of this folder take."""

from __future__ import annotations

import argparse

from hpc.io.errors import InputError


def natural_int(text: str) -> int:
    """Return a text as a whole number of at least 0 (an argparse type).

    Parameters
    ----------
    text : str
        What the user wrote.

    Returns
    -------
    int
        0 or more.

    Raises
    ------
    argparse.ArgumentTypeError : something else than decimal digits.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)


def positive_int(text: str) -> int:
    """Return a text as a whole number of at least 1 (an argparse type).

    Parameters
    ----------
    text : str
        What the user wrote.

    Returns
    -------
    int
        1 or more.

    Raises
    ------
    argparse.ArgumentTypeError : something else than decimal digits, or 0.
    """
    if natural_int(text) == 0:
        raise argparse.ArgumentTypeError("0 is too small, expected 1 or more")
    return int(text)


def add_first(parser: argparse.ArgumentParser) -> None:
    """Add --first M and --compress, which every command that writes samples has.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of the command.
    """
    parser.add_argument(
        "--first", type=positive_int, metavar="M", help="keep the first M samples only"
    )
    parser.add_argument(
        "--compress", action="store_true", default=None, help="gzip the inputs (slower to read)"
    )


def kept(first: int | None, found: int, where: str) -> int:
    """Return how many samples --first keeps.

    Parameters
    ----------
    first : int or None
        How many are asked for, 1 or more; None for all.
    found : int
        How many there are.
    where : str
        Begins the message.

    Returns
    -------
    int
        1..found.

    Raises
    ------
    InputError : there are none, or fewer than asked for.
    """
    if found == 0:
        raise InputError(f"{where}: holds no images")
    if first is not None and first > found:
        raise InputError(f"{where}: holds {found} images, --first {first} asks for more")
    return found if first is None else first
