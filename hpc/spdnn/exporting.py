"""A network file as files of others: torch, scipy, the Graph Challenge. One layer in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hpc import __version__
from hpc.io.arguments import FUNCTION, PATH, TEXT, check_arguments, or_none
from hpc.io.aside import check_writable
from hpc.io.errors import InputError
from hpc.io.export_formats import ExportFormats
from hpc.io.network import NetworkHeader, open_network
from hpc.spdnn.option_values import EXPORTS

SUFFIXES = {".pt": "torch", ".pth": "torch", ".npz": "npz", "": "tsv"}
format_of = ExportFormats(EXPORTS, SUFFIXES, ".pt, .npz or a folder").format_of
Advance = Callable[[int, str], None]
ARGUMENTS = {"network": PATH, "to": PATH, "form": or_none(TEXT), "progress": FUNCTION}


def export(
    network: str | os.PathLike[str],
    to: str | os.PathLike[str],
    form: str | None = None,
    *,
    progress: Advance = lambda layers, note: None,
) -> str:
    """Write a network file in another format. Serial: one process, no MPI.

    Parameters
    ----------
    network : network file.
    to : file to write, or folder for 'scipy' and 'tsv', which must be new or empty.
    form : 'torch', a state dict of sparse CSR tensors (`export_torch`); 'npz', one archive of
        arrays; 'scipy', a folder of matrices for `scipy.sparse.load_npz`; 'tsv', the Graph
        Challenge's files. By the suffix of `to` where it is None: .pt, .npz, or none for 'tsv'.
    progress : told of each layer.

    Returns
    -------
    The format.

    Raises
    ------
    InputError : no network file; another format or suffix; levels that 'tsv' cannot hold; what
        cannot be written; torch is not installed.
    """
    check_arguments(ARGUMENTS, network=network, to=to, form=form, progress=progress)
    form = format_of(to, form)
    if Path(to).exists() and os.path.samefile(network, to):
        raise InputError(f"{to}: would replace the network that is read")
    if form in ("torch", "npz"):
        check_writable(to)
    with open_network(network) as file:
        if form == "torch":
            _torch()(file, to, metadata(file.header), progress)
        elif form == "npz":
            from hpc.spdnn.export_npz import write_archive

            write_archive(file, to, metadata(file.header), progress)
        elif form == "scipy":
            from hpc.spdnn.export_npz import write_matrices

            write_matrices(file, to, metadata(file.header), progress)
        else:
            from hpc.spdnn.export_tsv import write_tsv

            write_tsv(file, to, progress)
    return form


def metadata(header: NetworkHeader) -> dict[str, Any]:
    """Return what the arrays do not say: plain data, for JSON. Pure.

    Parameters
    ----------
    header : of the network.

    Returns
    -------
    ``sizes`` (L+1,), ``dtype``, ``fingerprint`` of the pattern, ``layers``: of each its
    ``activation`` and its ``clip`` (the upper bound of clipped-relu, else None).
    """
    layers = [
        {"activation": activation, "clip": clip if activation == "clipped-relu" else None}
        for activation, clip in zip(header.activations, header.clips, strict=True)
    ]
    return {
        "creator": f"relaycut {__version__}",
        "sizes": list(header.sizes),
        "dtype": header.dtype.name,
        "fingerprint": header.fingerprint,
        "layers": layers,
    }


def _torch() -> Callable[..., None]:
    try:
        from hpc.spdnn.export_torch import write_state
    except ImportError as error:
        raise InputError("--format torch needs torch: pip install 'relaycut[pipebd]'") from error
    return write_state
