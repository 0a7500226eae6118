"""The Graph Challenge's own files: layers, images and categories as tab-separated text.

A folder as published holds ``neuronN/nN-lK.tsv``, a weight a line: input
neuron, output neuron, value, counted from 1. Files may have any order, and,
unlike the official ones, any weights, empty rows and empty columns. A folder of
`hpc spdnn export` says more of its network, see `hpc.io.challenge_files`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from datasets import tsv
from datasets.arguments import kept
from hpc.io.challenge_files import Told, bias_path, layer_path
from hpc.io.errors import InputError
from hpc.io.network import Layer

BIAS_LINE = np.dtype([("neuron", np.int64), ("value", np.float64)])
WEIGHT_LINE = np.dtype([("row", np.int64), ("col", np.int64), ("value", np.float64)])
PIXEL_LINE = np.dtype([("image", np.int64), ("pixel", np.int64), ("value", np.float64)])
MAX_IMAGES = 1 << 24
"""Sanity limit on an image number, since memory follows the largest one."""


def layer_paths(folder: str | os.PathLike[str], neurons: int, n_layers: int) -> list[Path]:
    """Return the files of an official network's layers.

    Parameters
    ----------
    folder : that holds ``neuronN``.
    neurons : N.
    n_layers : how many there are to be.

    Returns
    -------
    The files, first layer first.

    Raises
    ------
    InputError : one is missing.
    """
    paths = [layer_path(folder, neurons, k) for k in range(1, n_layers + 1)]
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected {n_layers} layers in {path.parent}")
    return paths


def read_layer(path: Path, neurons: int, told: Told, dtype: npt.DTypeLike) -> Layer:
    """Return the layer in one file; the file has W transposed, as its rows are the inputs.

    Parameters
    ----------
    path : its weights.
    neurons : of either level.
    told : activation and bias.
    dtype : of weights.

    Returns
    -------
    The layer.

    Raises
    ------
    InputError : naming the line: not a record, a neuron outside 1..neurons, a number that is
        not finite in `dtype`, a connection or a neuron's bias given twice; biases missing.
    """
    edges = tsv.read(path, WEIGHT_LINE)
    for field in ("row", "col"):
        tsv.check_range(path, edges, field, neurons)
    weights = _finite(path, edges["value"], "weight", dtype)
    outputs, inputs = edges["col"] - 1, edges["row"] - 1
    matrix = sparse.coo_array((weights, (outputs, inputs)), shape=(neurons, neurons)).tocsr()
    if matrix.nnz < len(edges):
        _fail_at_repeated(path, outputs * neurons + inputs)
    if told.bias is None:
        bias = _read_biases(bias_path(path), neurons, weights.dtype)
    else:
        bias = np.full(neurons, told.bias, weights.dtype)
    return Layer(matrix, bias, told.activation, told.clip)


def _finite(
    path: Path, values: npt.NDArray[np.float64], what: str, dtype: npt.DTypeLike
) -> npt.NDArray[np.floating]:
    """Return the values of a file in `dtype`."""
    with np.errstate(over="ignore"):
        found = values.astype(dtype)
    if not np.isfinite(found).all():
        at = int(np.isfinite(found).argmin())
        tsv.fail_at_record(path, at, f"{what} {values[at]} is not finite in {found.dtype}")
    return found


def _read_biases(path: Path, neurons: int, dtype: npt.DTypeLike) -> npt.NDArray[np.floating]:
    lines = tsv.read(path, BIAS_LINE)
    tsv.check_range(path, lines, "neuron", neurons)
    if len(np.unique(lines["neuron"])) != neurons or len(lines) != neurons:
        raise InputError(f"{path}: {len(lines)} lines, expected one for each of {neurons} neurons")
    return _finite(path, lines["value"], "bias", dtype)[np.argsort(lines["neuron"])]


def tsv_layers(
    paths: list[Path], neurons: int, told: Sequence[Told], dtype: npt.DTypeLike
) -> Iterator[Layer]:
    """Yield the layers in `paths`, one in memory at a time.

    Parameters
    ----------
    paths : of weights.
    neurons : of every level.
    told : of each layer.
    dtype : of the weights.

    Yields
    ------
    The layers; raises as `read_layer`.
    """
    for path, layer in zip(paths, told, strict=True):
        yield read_layer(path, neurons, layer, dtype)


def _fail_at_repeated(path: Path, keys: npt.NDArray[np.int64]) -> None:
    order = np.argsort(keys, kind="stable")
    repeated = order[1:][keys[order[1:]] == keys[order[:-1]]]
    tsv.fail_at_record(path, int(repeated.min()), "this connection was given on a line above")


def read_images(
    path: str | os.PathLike[str], neurons: int, first: int | None, quiet: bool = False
) -> tuple[npt.NDArray[np.uint8], int]:
    """Return the first images of an official file (None: all), bit-packed, and how many.

    Lines may have any order, so the bits of all images are held: N · 7,500 bytes for 60,000.

    Parameters
    ----------
    path : the file.
    neurons : pixels of an image.
    first : how many images to keep.
    quiet : show no progress.

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
    for block in tsv.blocks(path, PIXEL_LINE, progress="" if quiet else "images"):
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
