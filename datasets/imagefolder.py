"""`imagefolder`: class folders of JPEGs, as ImageNet users have them, in one file, still as JPEGs.

Nothing is encoded again: each file's bytes are kept, and decoded, cropped and scaled while
training.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from datasets.command import command_parser, say
from datasets.image_tree import ImageEntry, ImageTree, by_split, entries, open_tree
from datasets.moments import channel_moments
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from hpc.io.errors import FormatError
from hpc.io.images import ImageTraits, create_images
from hpc.io.outputs import check_outputs

SIDES = {32: 4, 224: 28}
"""Pixels a side, and the padding for random crops of images that have that size already."""
FORMATS = frozenset({"JPEG", "PNG"})
"""What Pillow may find under the name of a JPEG: ImageNet has one PNG called .JPEG."""
UNREADABLE = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)
"""What Pillow raises for a file that is no image, or a damaged one."""
SAMPLED = 2000
"""Mean and deviation are of at most this many training images, evenly spaced."""
TEST_FOLDERS = ("test", "val")


def main(arguments: Sequence[str]) -> None:
    """Write an images file of the training and, where there are any, the test images.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name.

    Raises
    ------
    InputError : no images, files that are none, an unwritable --out.
    """
    options = parse(build_parser(), arguments)
    check_outputs(vars(options), ["out", "json"])
    tests = [options.test] if options.test else TEST_FOLDERS
    with open_tree(options.source) as tree:
        splits = by_split(
            entries(tree.paths(), options.source), options.train, tests, options.source
        )
        classes = tuple(sorted({entry.label for entry in splits["train"]}))
        number = {name: label for label, name in enumerate(classes)}
        mean, std = _moments(tree, splits["train"], options.side)
        traits = ImageTraits(classes, options.side, mean, std, SIDES[options.side], True)
        with create_images(options.out, traits) as writer:
            for split, found in splits.items():
                labels = np.array([number[entry.label] for entry in found])
                writer.put_encoded(split, _checked(tree, found), labels)
    counts = " and ".join(f"{len(found)} {split}" for split, found in splits.items())
    say(
        options,
        f"{counts} images of {len(classes)} classes",
        {name: len(found) for name, found in splits.items()},
    )


def _moments(
    tree: ImageTree, train: Sequence[ImageEntry], side: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    chosen = train[:: -(-len(train) // SAMPLED)]
    return channel_moments(_pixels(tree.read(entry.path), entry.path, side) for entry in chosen)


def _pixels(content: bytes, path: str, side: int) -> npt.NDArray[np.uint8]:
    """Return an image scaled to (1, 3, side, side)."""
    try:
        with Image.open(io.BytesIO(content)) as image:
            scaled = image.convert("RGB").resize((side, side))
    except UNREADABLE as error:
        raise FormatError(f"{path}: cannot be decoded ({error})") from error
    return np.asarray(scaled).transpose(2, 0, 1)[None]


def _checked(tree: ImageTree, found: Sequence[ImageEntry]) -> Iterator[bytes]:
    """Yield the files' contents; a file whose head is not an image's is an error."""
    for entry in found:
        content = tree.read(entry.path)
        try:
            with Image.open(io.BytesIO(content)) as image:
                kind = image.format
        except UNREADABLE as error:
            raise FormatError(f"{entry.path}: not an image ({error})") from error
        if kind not in FORMATS:
            raise FormatError(f"{entry.path}: is {kind}, expected JPEG")
        yield content


def build_parser() -> Parser:
    """Return the command's parser.

    Returns
    -------
    Parser
        Of `python -m datasets imagefolder`.
    """
    parser = command_parser(
        "imagefolder",
        __doc__,
        "--source photos --side 32 --out photos.h5",
    )
    add = parser.add_argument
    add(
        "--source",
        required=True,
        metavar="DIR_OR_TAR",
        help="SPLIT/CLASS/NAME.jpg (or CLASS/NAME.jpg, all training), in a folder or tar archive",
    )
    add("--side", type=int, choices=SIDES, required=True, help="pixels a side for the network")
    add("--train", default="train", metavar="NAME", help="folder of the training images")
    add(
        "--test",
        metavar="NAME",
        help=f"folder of the test images (default {' or '.join(TEST_FOLDERS)})",
    )
    add("--out", required=True, metavar="FILE.h5", help="file to write")
    complete(parser)
    return parser
