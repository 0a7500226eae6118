"""Networks as the Graph Challenge's files: a folder that `datasets graph-challenge` reads back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpc.io.aside import folder_aside
from hpc.io.challenge_files import DESCRIPTION, Told, bias_path, description_text, layer_path
from hpc.io.errors import InputError
from hpc.io.network import Layer, NetworkFile

Advance = Callable[[int, str], None]
DIGITS = {"float32": 9, "float64": 17}
"""Significant digits that give the same number back."""


def write_tsv(file: NetworkFile, to: str | os.PathLike[str], advance: Advance) -> None:
    """Write the folder: weights in the Challenge's format, the rest beside; see `challenge_files`.

    Parameters
    ----------
    file : the network, all levels of one width.
    to : folder to make.
    advance : told of layers.

    Raises
    ------
    InputError : levels of other widths; the folder is there already, or cannot be written.
    """
    header = file.header
    neurons = header.sizes[0]
    if set(header.sizes) != {neurons}:
        raise InputError(
            f"{header.path}: levels of {min(header.sizes)} to {max(header.sizes)} neurons; the "
            "Graph Challenge's files hold networks of one width: export to .pt or .npz"
        )
    with folder_aside(to) as folder:
        layer_path(folder, neurons, 1).parent.mkdir()
        number = f"%.{DIGITS[header.dtype.name]}g"
        told = []
        for k, layer in enumerate(file.layers(), 1):
            told.append(_write_layer(layer_path(folder, neurons, k), layer, number))
            advance(1, "")
        text = description_text(header.dtype.name, told) + "\n"
        (folder / DESCRIPTION).write_text(text, encoding="utf-8")


def _write_layer(path: Path, layer: Layer, number: str) -> Told:
    """Write a layer's weights, by input neuron, and its biases if they differ."""
    by_input = layer.weight.tocsc()
    inputs = np.repeat(np.arange(by_input.shape[1]), np.diff(by_input.indptr))
    _write(path, inputs, by_input.indices, by_input.data, number=number)
    first = layer.bias[0]
    if (layer.bias == first).all():
        return Told(layer.activation, layer.clip, float(first))
    _write(bias_path(path), np.arange(len(layer.bias)), layer.bias, number=number)
    return Told(layer.activation, layer.clip, None)


def _write(path: Path, *columns: npt.NDArray[np.generic], number: str) -> None:
    """Write columns side by side: neurons, counted from 1, then values."""
    *neurons, values = columns
    line = "\t".join(["%d"] * len(neurons) + [number]) + "\n"
    with open(path, "w", encoding="ascii") as file:
        file.writelines(
            line % record
            for record in zip(
                *((ids + 1).tolist() for ids in neurons), values.tolist(), strict=True
            )
        )
