"""The student file: an assembled student's weights and what it is made from (torch.save)."""

from __future__ import annotations

import os
from dataclasses import fields, replace

import torch
from torch import nn

from hpc.io.container import written_aside
from hpc.io.errors import FormatError
from hpc.pipebd.recipe import Recipe, build_student
from hpc.pipebd.torch_file import load

FORMAT = "relaycut-student"
VERSION = 1
_STORED = ("workload", "blocks", "shape", "width", "n_classes", "batch_norm", "architecture")


def write_student(path: str | os.PathLike[str], recipe: Recipe, model: nn.Module) -> None:
    """Write a student that `build_student(recipe)` builds, weights in host memory."""
    contents = {
        "format": FORMAT,
        "version": VERSION,
        "recipe": {name: getattr(recipe, name) for name in _STORED},
        "state": {key: value.cpu() for key, value in model.state_dict().items()},
    }
    with written_aside(path) as partial:
        torch.save(contents, partial)


def read_student(path: str | os.PathLike[str], dtype: torch.dtype) -> tuple[Recipe, nn.Module]:
    """Read a student.

    Raises
    ------
    FormatError : no such file, not of this format, weights that do not fit.
    """
    contents = load(path, "a student file")
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise FormatError(f"{path}: not a student file (format '{FORMAT}')")
    if contents.get("version") != VERSION:
        raise FormatError(f"{path}: version {contents.get('version')}, expected {VERSION}")
    try:
        stored = {f.name: contents["recipe"][f.name] for f in fields(Recipe) if f.name in _STORED}
        recipe = replace(Recipe(**stored), dtype=dtype)
        model = build_student(recipe)
        model.load_state_dict(contents["state"])
    except (KeyError, TypeError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        raise FormatError(f"{path}: does not fit its own description ({first})") from error
    return recipe, model
