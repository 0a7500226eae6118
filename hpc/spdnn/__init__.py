"""The sparse engine: SpFF and SpBP on row-wise cut sparse networks.

For a script of your own: `infer`, `train`, `measure_machine`, `export`, and what they take,
`TrainOptions`, `CheckpointOptions`, `Layer`, `Plan`. Nothing is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpc.io.lazily import names_of

if TYPE_CHECKING:
    from hpc.io.checkpoint_options import CheckpointOptions
    from hpc.io.network import Layer
    from hpc.io.plan import Plan
    from hpc.spdnn.exporting import export
    from hpc.spdnn.interface import Answer, Trained, infer, measure_machine, train
    from hpc.spdnn.position import Epoch
    from hpc.spdnn.training import TrainOptions

__all__ = [
    "Answer",
    "CheckpointOptions",
    "Epoch",
    "Layer",
    "Plan",
    "TrainOptions",
    "Trained",
    "export",
    "infer",
    "measure_machine",
    "train",
]
__getattr__, __dir__ = names_of(
    __name__,
    {
        "hpc.io.checkpoint_options": ["CheckpointOptions"],
        "hpc.io.network": ["Layer"],
        "hpc.io.plan": ["Plan"],
        "hpc.spdnn.exporting": ["export"],
        "hpc.spdnn.interface": ["Answer", "Trained", "infer", "measure_machine", "train"],
        "hpc.spdnn.position": ["Epoch"],
        "hpc.spdnn.training": ["TrainOptions"],
    },
)
