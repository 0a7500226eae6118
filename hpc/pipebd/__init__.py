"""The Pipe-BD engine: blockwise distillation relayed across ranks.

For a script of your own: `train`, `profile`, `plan`, `finetune`, `evaluate`, `export`, and what
they take: `BlockPair`, `TrainingOptions`, `SgdSettings`, `Recipe`, `CheckpointOptions`.
Nothing is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpc.io.lazily import names_of

if TYPE_CHECKING:
    from hpc.io.checkpoint_options import CheckpointOptions
    from hpc.pipebd.blocks import BlockPair
    from hpc.pipebd.exporting import export
    from hpc.pipebd.interface import Distillation, evaluate, finetune, profile, train
    from hpc.pipebd.optimizer import SgdSettings
    from hpc.pipebd.outlook import Plan, plan
    from hpc.pipebd.preparation import TrainingOptions
    from hpc.pipebd.profile_data import Profile
    from hpc.pipebd.recipe import Recipe

__all__ = [
    "BlockPair",
    "CheckpointOptions",
    "Distillation",
    "Plan",
    "Profile",
    "Recipe",
    "SgdSettings",
    "TrainingOptions",
    "evaluate",
    "export",
    "finetune",
    "plan",
    "profile",
    "train",
]
__getattr__, __dir__ = names_of(
    __name__,
    {
        "hpc.io.checkpoint_options": ["CheckpointOptions"],
        "hpc.pipebd.blocks": ["BlockPair"],
        "hpc.pipebd.exporting": ["export"],
        "hpc.pipebd.interface": ["Distillation", "evaluate", "finetune", "profile", "train"],
        "hpc.pipebd.optimizer": ["SgdSettings"],
        "hpc.pipebd.outlook": ["Plan", "plan"],
        "hpc.pipebd.preparation": ["TrainingOptions"],
        "hpc.pipebd.profile_data": ["Profile"],
        "hpc.pipebd.recipe": ["Recipe"],
    },
)
