"""Blocks: pairs of a frozen teacher block and the student block that learns its output.

Paper: Pipe-BD, section II (blockwise distillation), its figure 1: both blocks of a pair
take the output of the teacher block before them.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from hpc.io.arguments import FUNCTION, TEXT, check_arguments, instance
from hpc.io.errors import InputError
from hpc.pipebd.losses import Loss, mean_squared_error


@dataclass
class BlockPair:
    """One block: teacher and student take the same input, the student learns to give the output.

    Attributes
    ----------
    teacher : frozen on construction: eval mode, no gradients.
    student : output of the same shape as the teacher's.
    loss : see `losses.Loss`; the mean squared error unless given.
    name : for messages and reports.
    """

    teacher: nn.Module
    student: nn.Module
    loss: Loss = mean_squared_error
    name: str = "block"

    def __post_init__(self) -> None:
        check_arguments(PARTS, **vars(self))
        freeze(self.teacher)


PARTS = {
    **dict.fromkeys(("teacher", "student"), instance(nn.Module, said="a module of torch")),
    "loss": FUNCTION,
    "name": TEXT,
}


def freeze(module: nn.Module) -> nn.Module:
    """Put `module` in eval mode without gradients and return it.

    Parameters
    ----------
    module : any.

    Returns
    -------
    The same module.
    """
    return module.eval().requires_grad_(False)


def check_pairs(pairs: Sequence[BlockPair], sample_input: torch.Tensor) -> list[torch.Size]:
    """Run one input through all blocks and check that they fit together.

    Parameters
    ----------
    pairs : all blocks, in order.
    sample_input : (n, ...) what block 0 is to receive.

    Returns
    -------
    The shape of every block's output, the samples' axis included.

    Raises
    ------
    InputError : input that does not fit block 0; a block that does not take its predecessor's
        output; one that writes into its input, which the other of the pair reads as well; a
        student whose output shape differs from the teacher's, that has nothing to train, that
        has dropout, or that shares parameters with another; dtypes that differ.
    """
    _check_apart(pairs)
    shapes, x = [], sample_input
    for index, pair in enumerate(pairs):
        where = f"block {index} ({pair.name})"
        _check_trainable(pair.student, where)
        target = _output(pair.teacher, x, where, "teacher", index)
        output = _output(pair.student, x, where, "student", index)
        if output.shape != target.shape:
            raise InputError(
                f"{where}: the student's output has shape {_sample_shape(output)}, "
                f"expected the teacher's {_sample_shape(target)}"
            )
        for role, found in (("teacher", target), ("student", output)):
            if found.dtype != x.dtype:
                raise InputError(
                    f"{where}: the {role} makes {found.dtype} of {x.dtype}; expected the same dtype"
                )
        shapes.append(target.shape)
        x = target
    return shapes


def _check_apart(pairs: Sequence[BlockPair]) -> None:
    """Raise InputError where two students share parameters: one rank would undo the other's."""
    owner: dict[int, str] = {}
    for index, pair in enumerate(pairs):
        where = f"block {index} ({pair.name})"
        for parameter in pair.student.parameters():
            other = owner.setdefault(id(parameter), where)
            if other != where:
                raise InputError(f"{where}: its student shares parameters with that of {other}")


def _output(module: nn.Module, x: torch.Tensor, where: str, role: str, index: int) -> torch.Tensor:
    """Run `module` in eval mode, so that no running statistics move, and restore its mode."""
    was_training, version = module.training, x._version
    module.eval()
    try:
        with torch.no_grad():
            output = module(x)
    except Exception as error:
        source = "the data have" if index == 0 else "its input has"
        raise InputError(
            f"{where}: {source} shape {_sample_shape(x)}, which the {role} does not take: "
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        ) from error
    finally:
        module.train(was_training)
    if x._version != version:
        raise InputError(f"{where}: the {role} writes into its input; make its first layer copy")
    if not isinstance(output, torch.Tensor) or output.dim() < 1 or len(output) != len(x):
        raise InputError(f"{where}: the {role} must give one tensor with a row for every sample")
    return output


def _sample_shape(x: torch.Tensor) -> tuple[int, ...]:
    return tuple(x.shape[1:])


def check_parameters(module: nn.Module, where: str) -> None:
    """Raise InputError unless there are parameters to train, of one dtype.

    Parameters
    ----------
    module : that is to be trained.
    where : begins the message.
    """
    dtypes = {str(p.dtype) for p in module.parameters() if p.requires_grad}
    if not dtypes:
        raise InputError(f"{where} has no parameters to train")
    if len(dtypes) > 1:
        raise InputError(
            f"{where} has parameters that differ in dtype: {', '.join(sorted(dtypes))}"
        )


def _check_trainable(student: nn.Module, where: str) -> None:
    check_parameters(student, f"{where}: the student")
    for name, layer in student.named_modules():
        if isinstance(layer, nn.modules.dropout._DropoutNd) and layer.p > 0:
            raise InputError(
                f"{where}: the student has dropout ({name}), whose draws would depend on the "
                "schedule; remove it or set p to 0"
            )


def load_blocks(spec: str) -> list[BlockPair]:
    """Return the user's own blocks: what calling FUNCTION of "MODULE:FUNCTION" returns.

    Parameters
    ----------
    spec : "MODULE:FUNCTION".

    Returns
    -------
    The pairs, at least one.

    Raises
    ------
    InputError : no such module or function; it raises; it returns anything but a list of
        at least one BlockPair.
    """
    module_name, _, function_name = spec.partition(":")
    if not module_name or not function_name:
        raise InputError(f"{spec!r}: expected MODULE:FUNCTION")
    try:
        function = getattr(importlib.import_module(module_name), function_name)
        pairs = function()
    except Exception as error:
        raise InputError(f"{spec}: {type(error).__name__}: {error}") from error
    if not isinstance(pairs, list) or not pairs:
        raise InputError(f"{spec}: returned {_described(pairs)}, expected a list of BlockPair")
    for index, pair in enumerate(pairs):
        if not isinstance(pair, BlockPair):
            raise InputError(f"{spec}: item {index} is {_described(pair)}, expected a BlockPair")
    return pairs


def _described(value: object) -> str:
    return "an empty list" if value == [] else f"a {type(value).__name__}"
