"""Networks for scipy: one archive of arrays, or a folder of matrices.

An archive (``numpy.load``) holds for layer k, from 0, ``k.data``, ``k.indices``, ``k.indptr``
and ``k.shape`` of its CSR matrix and ``k.bias``, and ``metadata``, JSON text. A folder holds
``layer-0001.npz`` (``scipy.sparse.load_npz``), ``bias-0001.npy`` and so on, and ``metadata.json``.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from hpc.io.aside import folder_aside, written_aside
from hpc.io.network import NetworkFile
from hpc.spdnn.narrow_index import narrow_index

Advance = Callable[[int, str], None]


def write_archive(
    file: NetworkFile, to: str | os.PathLike[str], metadata: dict[str, Any], advance: Advance
) -> None:
    """Write one archive, array by array.

    Parameters
    ----------
    file : the network.
    to : file to write.
    metadata : plain data.
    advance : told of layers.

    Raises
    ------
    InputError : it cannot be written.
    """
    with (
        written_aside(to) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED, allowZip64=True) as archive,
    ):
        _put(archive, "metadata", np.array(json.dumps(metadata)))
        for k, layer in enumerate(file.layers()):
            weight = narrow_index(layer.weight)
            for name in ("data", "indices", "indptr"):
                _put(archive, f"{k}.{name}", getattr(weight, name))
            _put(archive, f"{k}.shape", np.array(weight.shape, np.int64))
            _put(archive, f"{k}.bias", layer.bias)
            advance(1, "")


def _put(archive: zipfile.ZipFile, name: str, array: np.ndarray[Any, Any]) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def write_matrices(
    file: NetworkFile, to: str | os.PathLike[str], metadata: dict[str, Any], advance: Advance
) -> None:
    """Write a folder of matrices and biases.

    Parameters
    ----------
    file : the network.
    to : folder to make.
    metadata : plain data.
    advance : told of layers.

    Raises
    ------
    InputError : the folder is there already, or cannot be written.
    """
    with folder_aside(to) as folder:
        text = json.dumps(metadata, indent=1) + "\n"
        (folder / "metadata.json").write_text(text, encoding="utf-8")
        for number, layer in enumerate(file.layers(), 1):
            sparse.save_npz(
                folder / f"layer-{number:04}.npz", narrow_index(layer.weight), compressed=False
            )
            np.save(folder / f"bias-{number:04}.npy", layer.bias)
            advance(1, "")
