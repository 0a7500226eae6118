"""`digits`: real handwritten digits as 32×32 colour images, from samples files; no download.

Without --train: the 2,000 digits that are shipped, of which the last fifth is for testing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from datasets.command import command_parser, say
from datasets.moments import channel_moments
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from hpc.io.errors import InputError
from hpc.io.images import ImageTraits, create_images
from hpc.io.outputs import check_outputs
from hpc.io.samples import open_samples
from hpc.samples import sample_path

SIDE = 32
PAD = 2
"""Digits are shifted by up to this many pixels while training, and not mirrored."""
TEST_SHARE = 5
"""Without --test, one in this many digits, the last ones, is for testing."""

Images = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]
"""Pixels (n, 3, 32, 32), three equal channels, and labels (n,)."""


def main(arguments: Sequence[str]) -> None:
    """Write an images file with both splits.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name.

    Raises
    ------
    InputError : files that hold no labelled square images of at most 32×32, an unwritable --out.
    """
    options = parse(build_parser(), arguments)
    check_outputs(vars(options), ["out", "json"])
    train = read_digits(options.train or str(sample_path("digits")))
    if options.test:
        test = read_digits(options.test)
    else:
        cut = len(train[1]) - len(train[1]) // TEST_SHARE
        test = train[0][cut:], train[1][cut:]
        train = train[0][:cut], train[1][:cut]
    mean, std = channel_moments([train[0]])
    names = tuple(map(str, range(10)))
    with create_images(options.out, ImageTraits(names, SIDE, mean, std, PAD, False)) as writer:
        writer.put_pixels("train", *train)
        if len(test[1]):
            writer.put_pixels("test", *test)
    say(
        options,
        f"{len(train[1])} training and {len(test[1])} test digits",
        {"train": len(train[1]), "test": len(test[1])},
    )


def read_digits(path: str) -> Images:
    """Return the images of a samples file, centred on black 32×32 and in three equal channels.

    Parameters
    ----------
    path : str
        Samples file.

    Returns
    -------
    pixels : (n, 3, 32, 32) uint8 array
        0 is black; rows from the top.
    labels : (n,) int32 array
        As the file has them.

    Raises
    ------
    InputError : not a samples file with labels; inputs that are no square of bytes up to 32×32.
    """
    with open_samples(path) as file:
        width, labels = file.header.width, file.labels()
        raw = file.raw(0, file.header.n_samples)
    side = math.isqrt(width)
    if file.header.packed or raw.dtype != np.uint8 or side**2 != width or side > SIDE:
        raise InputError(
            f"{path}: inputs of width {width}, expected bytes of at most {SIDE}×{SIDE}"
        )
    before = (SIDE - side) // 2
    pixels = np.zeros((len(labels), 3, SIDE, SIDE), np.uint8)
    inner = slice(before, before + side)
    pixels[:, :, inner, inner] = raw.T.reshape(-1, 1, side, side)
    return pixels, labels


def build_parser() -> Parser:
    """Return the command's parser.

    Returns
    -------
    Parser
        Of `python -m datasets digits`.
    """
    parser = command_parser(
        "digits",
        __doc__,
        "--out digits.h5",
    )
    add = parser.add_argument
    add("--train", metavar="FILE.h5", help="samples file of training digits (see: mnist)")
    add("--test", metavar="FILE.h5", help="samples file of test digits")
    add("--out", required=True, metavar="FILE.h5", help="file to write")
    complete(parser)
    return parser
