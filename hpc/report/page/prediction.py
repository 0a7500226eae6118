"""What `partition predict --json` wrote, read and checked against the run that it stands beside."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpc.io.errors import FormatError
from hpc.report.fields import AMOUNT, COUNT, NUMBER, lists, one_of, shown, wrong_field
from hpc.report.run_folder import read_object

SOURCE = "'partition predict --json'"
FIELDS = {
    "kind": one_of("inference", "training"), "batch": COUNT, "parts": lists(COUNT),
    "batch_s": lists(AMOUNT), "compute_s": lists(AMOUNT), "latency_s": lists(AMOUNT),
    "bandwidth_s": lists(AMOUNT), "imbalance_s": lists(NUMBER), "layer_s": lists(lists(AMOUNT)),
}  # fmt: skip
KINDS = {"spdnn infer": "inference", "spdnn train": "training"}
"""What of a prediction is for runs of a command."""

Object = Mapping[str, Any]


def read_prediction(path: Path) -> dict[str, Any]:
    """Read a prediction.

    Parameters
    ----------
    path : of the file.

    Returns
    -------
    Its fields: lists over numbers of ranks, `parts`; seconds of a batch.

    Raises
    ------
    FormatError : it cannot be read; not what `partition predict --json` writes.
    """
    found = read_object(path)
    wrong = wrong_field(found, FIELDS, needed=True)
    if wrong is None and not found["parts"]:
        wrong = "'parts' is empty"
    for name in FIELDS:
        if wrong is None and name.endswith("_s") and len(found[name]) != len(found["parts"]):
            wrong = f"'{name}' has {len(found[name])} entries, 'parts' {len(found['parts'])}"
    if wrong is not None:
        raise FormatError(f"{path}: not from {SOURCE}: {wrong}")
    return found


def group_size(figures: Object) -> int:
    """Return on how many ranks a run has its network, one replica of it.

    Parameters
    ----------
    figures : of the run, with `ranks`.

    Returns
    -------
    Ranks.
    """
    return int(figures["ranks"]) // int(figures.get("replicas", 1))


def check_fits(
    path: str | os.PathLike[str], found: Object, about: Object, figures: Object, traffic: Any
) -> None:
    """Check that a prediction is for what was run.

    Parameters
    ----------
    path : of the prediction.
    found : the prediction.
    about, figures, traffic : of the run, checked; without figures there is little to compare.

    Raises
    ------
    FormatError : the run is of another kind; not predicted for its ranks, layers or batch.
    """
    command = str(about.get("command", "?"))
    kind = KINDS.get(command)
    if kind is None:
        raise FormatError(f"{path}: predicts runs of {' and '.join(KINDS)}, this is of '{command}'")
    if found["kind"] != kind:
        raise FormatError(f"{path}: predicts {found['kind']}, the run is of '{command}'")
    if "ranks" in figures:
        _check_ranks(path, found, group_size(figures))
    layers = (traffic or {}).get("layers")
    if layers is not None and any(len(one) != len(layers["words"]) for one in found["layer_s"]):
        raise FormatError(
            f"{path}: predicts a network of {len(found['layer_s'][0])} layer(s), the run's has "
            f"{len(layers['words'])}"
        )
    if "batch" in figures:
        shared = figures.get("replicas", 1) if kind == "training" else 1
        _check_batch(path, found["batch"], -(-figures["batch"] // shared))


def _check_ranks(path: str | os.PathLike[str], found: Object, ranks: int) -> None:
    if ranks not in found["parts"]:
        raise FormatError(
            f"{path}: 'parts' is {shown(found['parts'])}, the run cut its network for {ranks} "
            f"rank(s); predict a plan for {ranks}, or give --network and --parts {ranks}"
        )


def _check_batch(path: str | os.PathLike[str], predicted: int, batch: int) -> None:
    if predicted != batch:
        raise FormatError(
            f"{path}: 'batch' is {predicted}, a replica of the run has batches of {batch}; predict "
            f"with --batch {batch}"
        )
