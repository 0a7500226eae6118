"""The Graph Challenge's own files: layers, images and categories as tab-separated text.

A folder as published holds ``neuronN/nN-lK.tsv``, a weight a line: input
neuron, output neuron, value, counted from 1. Files may have any order, and,
unlike the official ones, any weights, empty rows and empty columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from datasets import tsv
from datasets.arguments import kept
from hpc.io.errors import InputError
from hpc.io.network import Layer

WEIGHT_LINE = np.dtype([("row", np.int64), ("col", np.int64), ("value", np.float64)])
PIXEL_LINE = np.dtype([("image", np.int64), ("pixel", np.int64), ("value", np.float64)])
MAX_IMAGES = 1 << 24
"""Sanity limit on an image number, since memory follows the largest one."""


def layer_paths(folder: str | os.PathLike[str], neurons: int, n_layers: int) -> list[Path]:
    """Return the files of an official network's layers.

    Raises
    ------
    InputError : one is missing.
    """
    inside = Path(folder) / f"neuron{neurons}"
    paths = [inside / f"n{neurons}-l{k}.tsv" for k in range(1, n_layers + 1)]
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected {n_layers} layers in {inside}")
    return paths


def read_layer(path: Path, neurons: int, bias: float, dtype: npt.DTypeLike) -> Layer:
    """Return the layer in one file; the file has W transposed, as its rows are the inputs.

    Raises
    ------
    InputError : naming the line: not a record, a neuron outside 1..neurons, a weight that is
        not finite in `dtype`, a connection given twice.
    """
    edges = tsv.read(path, WEIGHT_LINE)
    for field in ("row", "col"):
        tsv.check_range(path, edges, field, neurons)
    with np.errstate(over="ignore"):
        weights = edges["value"].astype(dtype)
    if not np.isfinite(weights).all():
        at = int(np.isfinite(weights).argmin())
        found = edges["value"][at]
        tsv.fail_at_record(path, at, f"weight {found} is not finite in {weights.dtype}")
    outputs, inputs = edges["col"] - 1, edges["row"] - 1
    matrix = sparse.coo_array((weights, (outputs, inputs)), shape=(neurons, neurons)).tocsr()
    if matrix.nnz < len(edges):
        _fail_at_repeated(path, outputs * neurons + inputs)
    return Layer(matrix, np.full(neurons, bias, weights.dtype), "clipped-relu")


def tsv_layers(
    paths: list[Path], neurons: int, bias: float, dtype: npt.DTypeLike
) -> Iterator[Layer]:
    """Yield the layers in `paths`, one in memory at a time; see `read_layer`."""
    for path in paths:
        yield read_layer(path, neurons, bias, dtype)


def _fail_at_repeated(path: Path, keys: npt.NDArray[np.int64]) -> None:
    order = np.argsort(keys, kind="stable")
    repeated = order[1:][keys[order[1:]] == keys[order[:-1]]]
    tsv.fail_at_record(path, int(repeated.min()), "this connection was given on a line above")


def read_images(
    path: str | os.PathLike[str], neurons: int, first: int | None
) -> tuple[npt.NDArray[np.uint8], int]:
    """Return the first images of an official file (None: all), bit-packed, and how many.

    Lines may have any order, so the bits of all images are held: N · 7,500 bytes for 60,000.

    Returns
    -------
    bits : (neurons, ceil(n / 8)) uint8: image s is bit s % 8 of byte s // 8.
    n : `first`, or the highest image number in the file.

    Raises
    ------
    InputError : naming the line: not a record, a number out of range, a value other than 1.
        Fewer images than `first`.
    """
    bits = np.zeros((neurons, 1), np.uint8)
    n_images = n_lines = 0
    for block in tsv.blocks(path, PIXEL_LINE, progress="images"):
        _check_pixels(path, block, neurons, n_lines)
        n_lines += len(block)
        n_images = max(n_images, int(block["image"].max()))
        wanted = block if first is None else block[block["image"] <= first]
        bits = _with_room(bits, min(n_images, first or n_images))
        _set_bits(bits, wanted["image"] - 1, wanted["pixel"] - 1)
    n_kept = kept(first, n_images, os.fspath(path))
    return bits[:, : -(-n_kept // 8)], n_kept


def _check_pixels(
    path: str | os.PathLike[str], block: npt.NDArray[np.void], neurons: int, first: int
) -> None:
    tsv.check_range(path, block, "image", MAX_IMAGES, first)
    tsv.check_range(path, block, "pixel", neurons, first)
    other = block["value"] != 1
    if other.any():
        at = int(other.argmax())
        tsv.fail_at_record(path, first + at, f"value {block['value'][at]}, expected 1")


def _with_room(bits: npt.NDArray[np.uint8], n_images: int) -> npt.NDArray[np.uint8]:
    """Return `bits` with columns for n_images, at least doubled where it grows."""
    missing = -(-n_images // 8) - bits.shape[1]
    return bits if missing <= 0 else np.pad(bits, ((0, 0), (0, max(missing, bits.shape[1]))))


def _set_bits(
    bits: npt.NDArray[np.uint8], images: npt.NDArray[np.int64], pixels: npt.NDArray[np.int64]
) -> None:
    cells = bits.reshape(-1)
    at = pixels * bits.shape[1] + images // 8
    for bit in range(8):
        cells[at[images % 8 == bit]] |= np.uint8(1 << bit)
