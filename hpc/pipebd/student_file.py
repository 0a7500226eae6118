"""The student file: an assembled student's weights and what it is made from (torch.save)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import fields, replace

import torch
from torch import nn

from hpc.io.aside import written_aside
from hpc.io.errors import FormatError, InputError
from hpc.pipebd.recipe import Recipe, build_student
from hpc.pipebd.torch_file import is_state, load

FORMAT = "relaycut-student"
VERSION = 1
_STORED = ("workload", "blocks", "shape", "width", "n_classes", "batch_norm", "architecture")


def write_student(path: str | os.PathLike[str], recipe: Recipe, model: nn.Module) -> None:
    """Write a student that `build_student(recipe)` builds, weights in host memory.

    Parameters
    ----------
    path : path-like
        File to write, aside and renamed.
    recipe : Recipe
        That the file names; seed and dtype are not kept.
    model : nn.Module
        On any device.

    Raises
    ------
    InputError : the file cannot be written.
    """
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

    Parameters
    ----------
    path : path-like
        From `write_student`.
    dtype : torch.dtype
        Of the weights that it gets.

    Returns
    -------
    recipe : Recipe
        That of the file, with this dtype.
    model : nn.Module
        In host memory.

    Raises
    ------
    FormatError : no such file, not of this format, weights that do not fit.
    InputError : see `build`.
    """
    recipe, state = read_contents(path)
    recipe = replace(recipe, dtype=dtype)
    return recipe, build(path, recipe, state, dtype)


def read_contents(path: str | os.PathLike[str]) -> tuple[Recipe, dict[str, torch.Tensor]]:
    """Read what a student is made from, and its weights, without building it.

    Parameters
    ----------
    path : path-like
        From `write_student`.

    Returns
    -------
    recipe : Recipe
        Of float32 and seed 0, which a file does not keep.
    state : dict of str to tensor
        In host memory, of the dtype that was written.

    Raises
    ------
    FormatError : no such file, not of this format.
    """
    contents = load(path, "a student file")
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise FormatError(f"{path}: not a student file (format '{FORMAT}')")
    if contents.get("version") != VERSION:
        raise FormatError(f"{path}: version {contents.get('version')}, expected {VERSION}")
    with _fitting(path):
        stored = {f.name: contents["recipe"][f.name] for f in fields(Recipe) if f.name in _STORED}
        recipe, state = Recipe(**stored), contents["state"]
    if not is_state(state):
        raise FormatError(f"{path}: its state is a {type(state).__name__}, not tensors by name")
    return recipe, dict(state)


def build(
    path: str | os.PathLike[str], recipe: Recipe, state: dict[str, torch.Tensor], dtype: torch.dtype
) -> nn.Module:
    """Return the student of a file.

    Parameters
    ----------
    path : path-like
        For messages.
    recipe, state : Recipe, dict of str to tensor
        From `read_contents`.
    dtype : torch.dtype
        Of the weights that it gets.

    Returns
    -------
    nn.Module
        In host memory.

    Raises
    ------
    FormatError : its weights do not fit its recipe.
    InputError : see `recipe.build_student`.
    """
    with _fitting(path):
        model = build_student(replace(recipe, dtype=dtype))
        model.load_state_dict(state)
    return model


@contextlib.contextmanager
def _fitting(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # a description of something else raises anything
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise FormatError(f"{path}: does not fit its own description ({first})") from error
