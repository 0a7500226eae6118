"""Where the Graph Challenge's files of a network lie in their folder, and ours beside them. Pure.

Published are the weights, ``neuronN/nN-lK.tsv``: input neuron, output neuron, value, counted
from 1. What they cannot say of a network of ours stands in ``network.json`` (`Told`) and, for a
layer whose neurons have different biases, in ``neuronN/nN-lK-bias.tsv``: neuron, value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hpc.io.errors import FormatError
from hpc.io.network import ACTIVATIONS, FLOATS

DESCRIPTION = "network.json"


@dataclass(frozen=True)
class Told:
    """What ``network.json`` says of one layer.

    activation, clip : see `network.Layer`. bias : of every neuron; None: see its bias file.
    """

    activation: str
    clip: float
    bias: float | None


def layer_path(folder: str | os.PathLike[str], neurons: int, number: int) -> Path:
    """Return the file of the weights of layer `number`, from 1.

    Parameters
    ----------
    folder : that holds all.
    neurons : of every level, N.
    number : of the layer, from 1.

    Returns
    -------
    Its path, whether there is such a file or not.
    """
    return Path(folder) / f"neuron{neurons}" / f"n{neurons}-l{number}.tsv"


def bias_path(layer: Path) -> Path:
    """Return the file of the biases beside that of a layer's weights.

    Parameters
    ----------
    layer : file of the weights.

    Returns
    -------
    Its path.
    """
    return layer.with_name(f"{layer.stem}-bias.tsv")


def description_text(dtype: str, layers: Sequence[Told]) -> str:
    """Return what ``network.json`` holds.

    Parameters
    ----------
    dtype : of the weights, 'float32' or 'float64'.
    layers : what is told of each.

    Returns
    -------
    JSON.
    """
    return json.dumps({"dtype": dtype, "layers": [asdict(layer) for layer in layers]}, indent=1)


def read_description(folder: str | os.PathLike[str]) -> tuple[str, list[Told]] | None:
    """Return dtype and layers as ``network.json`` has them; None where there is no such file.

    Parameters
    ----------
    folder : of an export.

    Returns
    -------
    Both, or None.

    Raises
    ------
    FormatError : it cannot be read, or does not say what it should.
    """
    path = Path(folder) / DESCRIPTION
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        dtype, layers = found["dtype"], [_told(layer) for layer in found["layers"]]
        if dtype not in FLOATS:
            raise ValueError(f"dtype {dtype!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: not the description of a network ({error})") from error
    return dtype, layers


def _told(layer: Any) -> Told:
    if layer["activation"] not in ACTIVATIONS:
        raise ValueError(f"activation {layer['activation']!r}")
    bias = layer["bias"]
    return Told(layer["activation"], float(layer["clip"]), None if bias is None else float(bias))
