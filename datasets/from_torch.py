"""`from-torch`: a network file from a Sequential model of torch: linear, convolution, pooling."""

from __future__ import annotations

from collections.abc import Sequence

from datasets.arguments import positive_int
from datasets.command import command_parser, say
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from hpc.io.archive import check_archive
from hpc.io.errors import InputError
from hpc.io.network import read_header, write_network
from hpc.io.outputs import check_outputs


def main(arguments: Sequence[str]) -> None:
    """Write a network file.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name.

    Raises
    ------
    InputError : torch is not installed; a file that torch cannot read, a model with other
        modules, an input that does not fit; an unwritable --out.
    """
    options = parse(build_parser(), arguments)
    check_outputs(vars(options), ["out", "json"])
    try:
        from datasets.torch_layers import sparse_layers
    except ImportError as error:
        raise InputError("from-torch needs torch: pip install 'relaycut[pipebd]'") from error
    layers = sparse_layers(_model(options.model), options.input)
    write_network(options.out, layers[0].weight.shape[1], layers)
    header = read_header(options.out)
    say(
        options,
        f"sizes {header.sizes}, {header.n_edges:,} edges",
        {"sizes": header.sizes, "edges": header.n_edges},
    )


def _model(path: str) -> object:
    """Return the model in a file of ``torch.save(model, path)``; no code in it is run."""
    import torch

    from datasets.torch_layers import ACTIVATIONS, AFFINE

    nn = torch.nn
    known = [*AFFINE, *ACTIVATIONS, nn.BatchNorm2d, nn.Flatten, nn.Sequential, set]
    check_archive(path)
    try:
        with torch.serialization.safe_globals(known):
            model = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle raises anything
        raise InputError(f"{path}: {_reason(path, known)}") from error
    if not isinstance(model, nn.Module):
        kind = type(model).__name__
        raise InputError(f"{path}: holds a {kind}, expected a model saved by torch.save(model)")
    return model.eval()


def _reason(path: str, known: Sequence[type]) -> str:
    """Say why torch would not load a file: what is in it that is not among the known classes."""
    import torch

    try:
        found = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # as above
        return "not a file of torch.save"
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in known}
    foreign = sorted(set(found) - names - {"builtins.set"})
    if any(name.startswith("torch.nn.utils.prune.") for name in foreign):
        return (
            "holds masks of torch.nn.utils.prune; make them weights: prune.remove(module, 'weight')"
        )
    return f"holds {', '.join(foreign)}, which has no sparse counterpart" if foreign else "damaged"


def build_parser() -> Parser:
    """Return the command's parser.

    Returns
    -------
    Parser
        Of `python -m datasets from-torch`.
    """
    parser = command_parser(
        "from-torch",
        __doc__,
        "model.pt --input 784 --out pruned.h5",
    )
    add = parser.add_argument
    add("model", metavar="MODEL.pt", help="file of torch.save(model, MODEL.pt)")
    add("--input", type=_shape, required=True, metavar="CxHxW", help="shape of one input, or N")
    add("--out", required=True, metavar="FILE.h5", help="file to write")
    complete(parser)
    return parser


def _shape(text: str) -> tuple[int, ...]:
    return tuple(positive_int(part) for part in text.split("x"))
