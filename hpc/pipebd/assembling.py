"""The trained blocks as one student: of a search, those of the architecture that was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from hpc.pipebd.compress import assemble
from hpc.pipebd.models.proxyless import DerivedBlock, SupernetBlock, inherit
from hpc.pipebd.nas import Architecture, derive
from hpc.pipebd.preparation import Prepared
from hpc.pipebd.recipe import Recipe, derived_blocks


@dataclass(frozen=True)
class Assembled:
    """A student that can be written, or trained on.

    Attributes
    ----------
    recipe : Recipe
        Of the student.
    student : nn.Sequential
        In host memory.
    architecture : tuple of tuple of str, or None
        That a search has found; None without one.
    """

    recipe: Recipe
    student: nn.Sequential
    architecture: Architecture | None


def assembled(prepared: Prepared, states: Sequence[dict[str, torch.Tensor]]) -> Assembled:
    """Return the student with the weights that were kept. Local.

    Parameters
    ----------
    prepared : Prepared
        What was trained; its students get the weights.
    states : sequence of dict of str to tensor
        Of each block's student, in order.

    Returns
    -------
    Assembled
        Copies of the blocks; of a search, those that its architecture names.
    """
    blocks: list[nn.Module] = []
    for pair, state in zip(prepared.network.pairs, states, strict=True):
        pair.student.load_state_dict(state)
        blocks.append(pair.student)
    recipe, found = prepared.recipe, None
    if prepared.network.searching:
        supernets = [block for block in blocks if isinstance(block, SupernetBlock)]
        found = derive(supernets)
        recipe, blocks = _derived(recipe, found, supernets)
    return Assembled(recipe, assemble(blocks, prepared.network.head).cpu(), found)


def _derived(
    recipe: Recipe, found: Architecture, supernets: Sequence[SupernetBlock]
) -> tuple[Recipe, list[nn.Module]]:
    """Return the derived blocks with the supernets' weights, and their recipe."""
    blocks = derived_blocks(recipe.built_in(), found)
    for block, supernet, names in zip(blocks, supernets, found, strict=True):
        assert isinstance(block, DerivedBlock)
        inherit(block, supernet, names)
    return replace(recipe, architecture=found), blocks
