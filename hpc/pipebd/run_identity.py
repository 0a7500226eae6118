"""What makes a distillation another one: a checkpoint of another run is refused."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hpc.pipebd.checkpoint_state import digest_of
from hpc.pipebd.preparation import Prepared, TrainingOptions


def identity(prepared: Prepared, options: TrainingOptions) -> dict[str, Any]:
    """Return what must be the same for a run to go on from another's checkpoint. Local.

    Parameters
    ----------
    prepared, options : of the run.

    Returns
    -------
    Plain data by name.
    """
    network, program, recipe = prepared.network, prepared.program, prepared.recipe
    pairs = [block for pair in network.pairs for block in (pair.teacher, pair.student)]
    search = {
        "architecture": asdict(program.architecture),
        "share": options.architecture_share,
    }
    return {
        "command": "pipebd train",
        "workload": recipe.label,
        "weights at the start": digest_of([*pairs, network.head]),
        "images": program.images.digest(),
        "batch": options.batch,
        "epochs": options.epochs,
        "rounds": sum(map(len, program.epochs)),
        "seed": recipe.seed,
        "dtype": str(recipe.dtype).removeprefix("torch."),
        **asdict(program.settings),
        **(search if network.searching else {}),
    }
