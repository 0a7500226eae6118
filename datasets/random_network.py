"""`random`: irregular networks with random weights, for tests, benchmarks and training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track
from scipy import sparse

from datasets.arguments import positive_int
from datasets.command import command_parser, say
from datasets.random_pattern import KINDS, random_pattern
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from hpc.cli.shared_options import add_seed
from hpc.cli.words import Words
from hpc.io.errors import InputError
from hpc.io.network import ACTIVATIONS, FLOATS, Layer, read_header, write_network
from hpc.io.outputs import check_outputs

INITS = {
    "uniform": "weights uniform in [-1, 1], as the paper's",
    "scaled": "uniform in ±gain·sqrt(3 / weights of the row), gain sqrt(2) before relu and "
    "clipped-relu, else 1: keeps the variance from layer to layer, for training",
}
GAINS = {"relu": 2**0.5, "clipped-relu": 2**0.5}
"""Gain of the 'scaled' weights where it is not 1: a ReLU halves the second moment."""


def main(arguments: Sequence[str]) -> None:
    """Write a network file.

    Parameters
    ----------
    arguments : of the command line.

    Raises
    ------
    InputError : a degree above a layer's inputs, activations that do not fit, unwritable --out.
    """
    options = parse(build_parser(), arguments)
    check_outputs(vars(options), ["out", "json"])
    sizes = options.sizes
    layers = random_layers(
        sizes,
        options.degree,
        options.kind,
        options.seed,
        activations=options.activation.split(","),
        init=options.init,
        bias=options.bias,
        dtype=options.dtype,
    )
    shown = Console(stderr=True)
    bar = track(layers, "layers", total=len(sizes) - 1, console=shown, disable=options.quiet)
    write_network(options.out, sizes[0], bar)
    header = read_header(options.out)
    say(
        options,
        f"sizes {header.sizes}, {header.n_edges:,} edges",
        {"sizes": header.sizes, "edges": header.n_edges},
    )


def random_layers(
    sizes: Sequence[int],
    degree: int,
    kind: str,
    seed: int,
    *,
    activations: Sequence[str] = ("sigmoid",),
    init: str = "uniform",
    bias: float = 0.0,
    dtype: npt.DTypeLike = "float32",
) -> Iterator[Layer]:
    """Yield the layers of a random network; the same for the same seed.

    Parameters
    ----------
    sizes : (L+1,) neurons per level.
    degree : mean weights of a row.
    kind : of KINDS.
    seed : of all that is drawn.
    activations : one, or one a layer.
    init : of INITS.
    bias : of every neuron.
    dtype : of the weights, float32 or float64.

    Yields
    ------
    Layer
        Columns ascending in each row; a layer is drawn when it is asked for.

    Raises
    ------
    InputError : fewer than two sizes, a degree above a layer's inputs, an unknown activation
        or another number of them.
    """
    per_layer = _per_layer(activations, len(sizes) - 1)
    if degree > min(sizes[:-1]):
        raise InputError(f"--degree {degree}: a layer has only {min(sizes[:-1])} inputs")
    rng = np.random.default_rng(seed)
    for n_in, n_out, activation in zip(sizes[:-1], sizes[1:], per_layer, strict=True):
        weight = random_pattern(rng, n_out, n_in, degree, kind)
        weight.data = _weights(rng, weight, init, activation).astype(dtype)
        yield Layer(weight, np.full(n_out, bias, dtype), activation)


def _per_layer(activations: Sequence[str], n_layers: int) -> list[str]:
    if n_layers < 1:
        raise InputError("--sizes: expected two or more, inputs first")
    per_layer = list(activations) * (n_layers if len(activations) == 1 else 1)
    if len(per_layer) != n_layers or not set(per_layer) <= set(ACTIVATIONS):
        raise InputError(
            f"--activation {','.join(activations)}: expected one or {n_layers} of "
            f"{', '.join(ACTIVATIONS)}"
        )
    return per_layer


def _weights(
    rng: np.random.Generator, pattern: sparse.csr_array, init: str, activation: str
) -> npt.NDArray[np.float64]:
    """Draw a layer's weights: (nnz,) float64."""
    weights = rng.uniform(-1, 1, pattern.nnz)
    if init == "scaled":
        fan_in = np.diff(pattern.indptr)
        bound = GAINS.get(activation, 1.0) * np.sqrt(3 / np.maximum(fan_in, 1))
        weights *= np.repeat(bound, fan_in)
    return weights


def build_parser() -> Parser:
    """Make the command's parser.

    Returns
    -------
    parser : of `python -m datasets random`.
    """
    kinds = "; ".join(f"{name}: {text}" for name, text in KINDS.items())
    inits = "; ".join(f"{name}: {text}" for name, text in INITS.items())
    parser = command_parser(
        "random",
        __doc__,
        "--sizes 784,64,10 --degree 16 --activation relu,identity "
        "--init scaled --seed 1 --out random.h5",
    )
    add = parser.add_argument
    add("--sizes", type=_sizes, required=True, metavar="N0,N1,...", help="neurons, inputs first")
    add("--degree", type=positive_int, required=True, metavar="D", help="mean weights of a row")
    add("--kind", choices=KINDS, default="er", help=f"pattern ({kinds}; default er)")
    add_seed(parser)
    add("--out", required=True, metavar="FILE.h5", help="file to write")
    add(
        "--activation",
        type=Words(ACTIVATIONS, listed=True),
        default="sigmoid",
        metavar="A[,A...]",
        help=f"one, or one a layer, of {', '.join(ACTIVATIONS)} (default sigmoid, as the paper's)",
    )
    add("--init", choices=INITS, default="uniform", help=f"{inits} (default uniform)")
    add("--bias", type=float, default=0.0, metavar="B", help="of every neuron (default 0)")
    add("--dtype", choices=FLOATS, default="float32", help="of the weights (default float32)")
    complete(parser)
    return parser


def _sizes(text: str) -> list[int]:
    return [positive_int(part) for part in text.split(",")]
