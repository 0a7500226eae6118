"""From a stored image to the (channels, side, side) pixels that the network sees. Pure.

A generator says what is random; None means the fixed view that evaluation takes.
"""

from __future__ import annotations

import io
import math

import numpy as np
import numpy.typing as npt
from PIL import Image

from hpc.io.errors import InputError

Pixels = npt.NDArray[np.uint8]
Box = tuple[int, int, int, int]
"""left, upper, right, lower, in pixels."""

AREA = (0.08, 1.0)
ASPECT = (3 / 4, 4 / 3)
TRIES = 10
"""Random crops of photographs: share of the area, width over height, tries before giving up."""
EVALUATION_MARGIN = 8 / 7
"""The shorter side is scaled to this times the side before the centre is cut out (256 for 224)."""


def decode(content: bytes, where: str) -> Image.Image:
    """Return an image file's image as RGB.

    Raises
    ------
    InputError : not an image, or a damaged one; `where` names it.
    """
    try:
        return Image.open(io.BytesIO(content)).convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(f"{where}: cannot be decoded ({error})") from error


def as_pixels(image: Image.Image) -> Pixels:
    """Return an RGB image as (3, height, width) uint8."""
    return np.asarray(image).transpose(2, 0, 1)


def fitted(image: Image.Image, side: int, generator: np.random.Generator | None) -> Pixels:
    """Return a photograph of any size as (3, side, side): a random crop, scaled, or the centre."""
    if generator is not None:
        box: tuple[float, ...] = random_box(image.width, image.height, generator)
    else:
        box = centre_box(image.width, image.height)
    return as_pixels(image.resize((side, side), Image.Resampling.BILINEAR, box=box))


def random_box(width: int, height: int, generator: np.random.Generator) -> Box:
    """Return a crop of random area and aspect within the image.

    Source: Szegedy et al. 2015, as in torchvision's RandomResizedCrop.
    """
    for _ in range(TRIES):
        area = width * height * generator.uniform(*AREA)
        aspect = math.exp(generator.uniform(*np.log(ASPECT)))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            left = int(generator.integers(width - w, endpoint=True))
            upper = int(generator.integers(height - h, endpoint=True))
            return left, upper, left + w, upper + h
    side = min(width, height)
    left, upper = (width - side) // 2, (height - side) // 2
    return left, upper, left + side, upper + side


def centre_box(width: int, height: int) -> tuple[float, float, float, float]:
    """Return the square in the middle that evaluation sees."""
    half = min(width, height) / EVALUATION_MARGIN / 2
    x, y = width / 2, height / 2
    return x - half, y - half, x + half, y + half


def shifted(pixels: Pixels, pad: int, generator: np.random.Generator) -> Pixels:
    """Return a random crop of (channels, side, side) padded with `pad` zeros on every side."""
    down, right = generator.integers(2 * pad, size=2, endpoint=True)
    channels, side, _ = pixels.shape
    padded = np.zeros((channels, side + 2 * pad, side + 2 * pad), np.uint8)
    padded[:, pad : pad + side, pad : pad + side] = pixels
    return padded[:, down : down + side, right : right + side]


def mirrored(pixels: Pixels, generator: np.random.Generator) -> Pixels:
    """Return the image or, as often, its mirror image."""
    return pixels[..., ::-1] if generator.random() < 0.5 else pixels
