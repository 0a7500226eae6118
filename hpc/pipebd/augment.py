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

    Parameters
    ----------
    content : bytes
        Of the file.
    where : str
        Begins the message.

    Returns
    -------
    PIL.Image.Image
        Of the size that is stored.

    Raises
    ------
    InputError : not an image, or a damaged one; `where` names it.
    """
    try:
        return Image.open(io.BytesIO(content)).convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(f"{where}: cannot be decoded ({error})") from error


def as_pixels(image: Image.Image) -> Pixels:
    """Return an RGB image as (3, height, width) uint8.

    Parameters
    ----------
    image : PIL.Image.Image
        Of any size.

    Returns
    -------
    (3, height, width) uint8 array
        Not to be written to.
    """
    return np.asarray(image).transpose(2, 0, 1)


def fitted(image: Image.Image, side: int, generator: np.random.Generator | None) -> Pixels:
    """Return a photograph of any size as (3, side, side): a random crop, scaled, or the centre.

    Parameters
    ----------
    image : PIL.Image.Image
        RGB.
    side : int
        Pixels a side of what the network sees.
    generator : np.random.Generator or None
        Of the crop; None takes the centre.

    Returns
    -------
    (3, side, side) uint8 array
        Scaled bilinearly.
    """
    if generator is not None:
        box: tuple[float, ...] = random_box(image.width, image.height, generator)
    else:
        box = centre_box(image.width, image.height)
    return as_pixels(image.resize((side, side), Image.Resampling.BILINEAR, box=box))


def random_box(width: int, height: int, generator: np.random.Generator) -> Box:
    """Return a crop of random area and aspect within the image.

    Source: Szegedy et al. 2015, as in torchvision's RandomResizedCrop.

    Parameters
    ----------
    width, height : int
        Of the image, in pixels.
    generator : np.random.Generator
        Two draws a try, at most `TRIES` tries, and two for the place.

    Returns
    -------
    (left, upper, right, lower)
        In pixels; the largest square in the middle where no try fits.
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
    """Return the square in the middle that evaluation sees.

    Parameters
    ----------
    width, height : int
        Of the image, in pixels.

    Returns
    -------
    (left, upper, right, lower)
        In pixels, not whole: 7/8 of the shorter side.
    """
    half = min(width, height) / EVALUATION_MARGIN / 2
    x, y = width / 2, height / 2
    return x - half, y - half, x + half, y + half


def shifted(pixels: Pixels, pad: int, generator: np.random.Generator) -> Pixels:
    """Return a random crop of an image padded with zeros on every side.

    Parameters
    ----------
    pixels : (channels, side, side) uint8 array
        Of the size that the network sees.
    pad : int
        Pixels of zeros on each side.
    generator : np.random.Generator
        Gives two draws.

    Returns
    -------
    (channels, side, side) uint8 array
        Moved by -pad..pad pixels.
    """
    down, right = generator.integers(2 * pad, size=2, endpoint=True)
    channels, side, _ = pixels.shape
    padded = np.zeros((channels, side + 2 * pad, side + 2 * pad), np.uint8)
    padded[:, pad : pad + side, pad : pad + side] = pixels
    return padded[:, down : down + side, right : right + side]


def mirrored(pixels: Pixels, generator: np.random.Generator) -> Pixels:
    """Return the image or, as often, its mirror image.

    Parameters
    ----------
    pixels : (channels, side, side) uint8 array
        Not changed.
    generator : np.random.Generator
        Gives one draw.

    Returns
    -------
    (channels, side, side) uint8 array
        A view.
    """
    return pixels[..., ::-1] if generator.random() < 0.5 else pixels
