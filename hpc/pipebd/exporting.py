"""A student as files that plain torch loads: a state dict, TorchScript, a torch.export program."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from torch import nn

from hpc.io.arguments import PATH, TEXT, WHOLE, Kind, check_arguments, or_none
from hpc.io.aside import check_writable, written_aside
from hpc.io.errors import InputError
from hpc.io.export_formats import ExportFormats
from hpc.pipebd.option_values import EXPORTS
from hpc.pipebd.recipe import Recipe
from hpc.pipebd.student_file import build, read_contents

SUFFIXES = {".pt": "state", ".pth": "state", ".ts": "torchscript", ".pt2": "export"}
format_of = ExportFormats(EXPORTS, SUFFIXES, ".pt, .ts or .pt2").format_of
SHAPE = Kind(
    "whole numbers",
    lambda value: isinstance(value, Sequence) and all(map(WHOLE.holds, value)),
)
ARGUMENTS = {"student": PATH, "to": PATH, "form": or_none(TEXT), "input_shape": or_none(SHAPE)}
BATCHES = (3, 2)
"""Images of the example that is traced, and of the check that follows."""
Tracer = Callable[[nn.Module, torch.Tensor], tuple[nn.Module, bytes]]


def export(
    student: str | os.PathLike[str],
    to: str | os.PathLike[str],
    form: str | None = None,
    input_shape: Sequence[int] | None = None,
) -> str:
    """Write an assembled student for plain torch, in evaluation mode. Serial: one process, no MPI.

    Parameters
    ----------
    student : file of `pipebd train`, `finetune` or `retrain`.
    to : file to write.
    form : 'state', a plain state dict of an `nn.Sequential` of the blocks (``torch.load``);
        'torchscript' (``torch.jit.load``); 'export', a program (``torch.export.load``). By the
        suffix of `to` where it is None: .pt, .ts, .pt2.
    input_shape : of one input, without the batch's axis; needed to trace blocks of the user's
        own, known for the built-in workloads.

    Returns
    -------
    The format.

    Raises
    ------
    InputError : no student; another format or suffix; a shape that is missing or does not fit;
        a block that cannot be traced (names it); what cannot be written.
    """
    check_arguments(ARGUMENTS, student=student, to=to, form=form, input_shape=input_shape)
    form = format_of(to, form)
    check_writable(to)
    if Path(to).exists() and os.path.samefile(student, to):
        raise InputError(f"{to}: would replace the student that is read")
    recipe, state = read_contents(student)
    if form == "state":
        contents = io.BytesIO()
        torch.save(state, contents)
        written = contents.getvalue()
    else:
        floats = (value.dtype for value in state.values() if value.is_floating_point())
        dtype = next(floats, torch.float32)
        model = build(student, recipe, state, dtype).eval()
        shape = _input_shape(recipe, input_shape)
        written = _traced(model, TRACERS[form], form, _example(shape, dtype))
    with written_aside(to) as partial:
        partial.write_bytes(written)
    return form


def _input_shape(recipe: Recipe, given: Sequence[int] | None) -> tuple[int, ...]:
    if given is not None:
        return tuple(given)
    if recipe.workload:
        return recipe.built_in().input_shape
    raise InputError(
        f"{recipe.label}: blocks of your own are traced with an input; give its shape, "
        "such as --input 3x32x32"
    )


def _example(shape: tuple[int, ...], dtype: torch.dtype) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n, *shape, dtype=dtype, generator=generator) for n in BATCHES]


@torch.no_grad()
def _traced(model: nn.Module, tracer: Tracer, form: str, examples: list[torch.Tensor]) -> bytes:
    """Return the program as a file; checked against the model on a batch of another size."""
    first, other = examples
    _check_takes(model, first)
    try:
        with _quiet():
            program, written = tracer(model, first)
            found = program(other)
    except Exception as error:  # a user's forward may raise anything
        raise InputError(_culprit(model, tracer, form, first, error)) from error
    expected = model(other)
    if found.shape != expected.shape or not torch.allclose(found, expected, rtol=1e-4, atol=1e-5):
        raise InputError(
            f"--format {form}: what was traced gives other outputs than the student for another "
            "batch: its forward depends on chance, or on more than its input; use --format state"
        )
    return written


def _check_takes(model: nn.Module, x: torch.Tensor) -> None:
    try:
        model(x)
    except Exception as error:
        raise InputError(
            f"the student does not take inputs of shape {tuple(x.shape[1:])}: {_first_line(error)}"
        ) from error


def _culprit(model: nn.Module, tracer: Tracer, form: str, x: torch.Tensor, error: Exception) -> str:
    """Say which block cannot be traced, and why."""
    where = "the student"
    for index, block in enumerate(model.children()):
        try:
            with _quiet():
                tracer(block, x)
            x = block(x)
        except Exception as found:
            where, error = f"block {index}", found
            break
    return (
        f"--format {form}: {where} cannot be traced ({_first_line(error)}); "
        "use --format state, or write its forward without Python decisions on values"
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": ")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Let torch's tracers raise and not print: what is wrong is said once, by us."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(record=True) as told,
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", torch.jit.TracerWarning)
            yield
            if told:
                raise torch.jit.TracerWarning(str(told[0].message))
    finally:
        logging.disable(before)


def _script(model: nn.Module, x: torch.Tensor) -> tuple[nn.Module, bytes]:
    program, contents = torch.jit.trace(model, x, check_trace=False), io.BytesIO()
    torch.jit.save(program, contents)
    return program, contents.getvalue()


def _program(model: nn.Module, x: torch.Tensor) -> tuple[nn.Module, bytes]:
    batch, contents = torch.export.Dim("batch", min=1), io.BytesIO()
    program = torch.export.export(model, (x,), dynamic_shapes=({0: batch},))
    torch.export.save(program, contents)
    return program.module(), contents.getvalue()


TRACERS: dict[str, Tracer] = {"torchscript": _script, "export": _program}
