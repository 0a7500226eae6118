"""The teacher's weights in one file, under torchvision's key names, whole or block by block."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import torch
from torch import nn

from hpc.io.errors import FormatError, InputError
from hpc.pipebd.torch_file import is_state, load

SHOWN_KEYS = 6
"""How many wrong keys a message lists."""
State = Mapping[str, torch.Tensor]


def teacher_key(block_key: str) -> str:
    """Return torchvision's name of a key of a teacher block or head: numbered layers are features.

    '14.weight' -> 'features.14.weight'; 'classifier.0.bias' stays.

    Parameters
    ----------
    block_key : str
        Of the block's own state dict.

    Returns
    -------
    str
        The key in the teacher's file.
    """
    return f"features.{block_key}" if block_key[0].isdigit() else block_key


def teacher_state(modules: Iterable[nn.Module]) -> dict[str, torch.Tensor]:
    """Return the state dict of the teacher that these blocks and head make up.

    Parameters
    ----------
    modules : iterable of nn.Module
        Blocks and head.

    Returns
    -------
    dict of str to tensor
        Under torchvision's keys; the modules' own tensors, not copied.
    """
    return {
        teacher_key(key): value for module in modules for key, value in module.state_dict().items()
    }


def read_teacher(path: str | os.PathLike[str]) -> State:
    """Read a teacher's state dict; tensors are mapped, so that a rank holds what it uses.

    Parameters
    ----------
    path : path-like
        Of `torch.save`: tensors by name.

    Returns
    -------
    mapping of str to tensor
        In host memory.

    Raises
    ------
    FormatError : no such file, not of torch.save, damaged, or not tensors by name.
    """
    state = load(path, "a state dict that can be loaded", mapped=True)
    if not is_state(state):
        raise FormatError(f"{path}: holds a {type(state).__name__}, expected tensors by name")
    return state


def load_teacher(
    path: str | os.PathLike[str], modules: Iterable[nn.Module], whole: bool = True
) -> None:
    """Load a teacher's weights into its blocks and head.

    Parameters
    ----------
    path : path-like
        A state dict with torchvision's keys.
    modules : iterable of nn.Module
        Blocks and head, or some of them.
    whole : bool
        These are all, so that a key of none of them is an error.

    Raises
    ------
    FormatError : see `read_teacher`.
    InputError : missing or unexpected keys (listed), a tensor of another shape; counters of
        batches may be missing.
    """
    modules = list(modules)
    state = read_teacher(path)
    expected = teacher_state(modules)
    _check_keys(path, state, expected, whole)
    for module in modules:
        own = module.state_dict()
        module.load_state_dict({key: state.get(teacher_key(key), own[key]) for key in own})


def _check_keys(path: str | os.PathLike[str], state: State, expected: State, whole: bool) -> None:
    # Counters of batches, which only a moving average without momentum uses, came late to torch.
    missing = [k for k in expected if k not in state and not k.endswith("num_batches_tracked")]
    unexpected = [k for k in state if k not in expected] if whole else []
    if missing or unexpected:
        wrong = [_listed("missing", missing), _listed("unexpected", unexpected)]
        raise InputError(f"{path}: not this teacher's weights: {'; '.join(filter(None, wrong))}")
    for key, value in expected.items():
        if key in state and state[key].shape != value.shape:
            raise InputError(
                f"{path}: {key} has shape {tuple(state[key].shape)}, expected {tuple(value.shape)}"
            )


def _listed(what: str, keys: list[str]) -> str:
    if not keys:
        return ""
    more = f" and {len(keys) - SHOWN_KEYS} more" if len(keys) > SHOWN_KEYS else ""
    return f"{what} {', '.join(keys[:SHOWN_KEYS])}{more}"
