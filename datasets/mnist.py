"""`mnist`: labelled digits for training, from MNIST's IDX files (plain or .gz)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from datasets import idx
from datasets.arguments import add_first, kept
from datasets.command import command_parser, say
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from hpc.io.errors import FormatError
from hpc.io.outputs import check_outputs
from hpc.io.samples import create_samples

SIDES = (28, 32)
"""As published, or with a border of two zero pixels, which gives the Challenge's 1,024."""
WHITE = 255


def main(arguments: Sequence[str]) -> None:
    """Write a samples file: inputs pixel / 255 in [0, 1], pixel (x, y) at y · side + x; labels.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name.

    Raises
    ------
    InputError : bad files, more samples asked for than there are, an unwritable --out.
    """
    options = parse(build_parser(), arguments)
    check_outputs(vars(options), ["out", "json"])
    images = idx.read_images(options.source, options.split)
    labels = idx.read_labels(options.source, options.split)
    if len(images) != len(labels):
        raise FormatError(f"{options.source}: {len(images)} images but {len(labels)} labels")
    n_samples = kept(options.first, len(images), options.source)
    inputs = neuron_major(images[:n_samples], options.side)
    with create_samples(
        options.out,
        n_samples,
        options.side**2,
        "uint8",
        scale=1 / WHITE,
        compress=bool(options.compress),
    ) as writer:
        writer.put_inputs(0, inputs)
        writer.put_labels(labels[:n_samples], idx.N_CLASSES)
    say(
        options,
        f"{n_samples} digits of {options.side}×{options.side} pixels",
        {"samples": n_samples, "side": options.side},
    )


def neuron_major(images: npt.NDArray[np.uint8], side: int) -> npt.NDArray[np.uint8]:
    """Return images as samples files have them, a column each.

    Parameters
    ----------
    images : (n, 28, 28) uint8 array
        Rows from the top.
    side : int
        28, or an even number above: bordered with zeros.

    Returns
    -------
    (side², n) uint8 array
        Pixel (x, y) in row y · side + x.
    """
    border = (side - idx.IMAGE_SIDE) // 2
    bordered = np.pad(images, ((0, 0), (border, border), (border, border)))
    return np.ascontiguousarray(bordered.reshape(len(images), side**2).T)


def build_parser() -> Parser:
    """Return the command's parser.

    Returns
    -------
    Parser
        Of `python -m datasets mnist`.
    """
    parser = command_parser(
        "mnist",
        __doc__,
        "--source mnist --split train --first 100 --out mnist.h5",
    )
    add = parser.add_argument
    add("--source", required=True, metavar="DIR", help="folder of MNIST's IDX files")
    add("--side", type=int, choices=SIDES, default=SIDES[0], help="pixels a side (default 28)")
    add("--split", choices=idx.SPLITS, default="train", help="which set (default train)")
    add("--out", required=True, metavar="FILE.h5", help="file to write")
    add_first(parser)
    complete(parser)
    return parser
