"""`graph-challenge`: networks and inputs of the Sparse DNN Graph Challenge."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

from datasets import challenge_images, challenge_tsv, idx
from datasets.arguments import add_first, kept, positive_int
from datasets.challenge_network import BIASES, challenge_layers
from datasets.command import command_parser, say
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from hpc.io.categories import read_categories
from hpc.io.challenge_files import Told, read_description
from hpc.io.errors import InputError
from hpc.io.network import CHALLENGE_CLIP, FLOATS, Layer, read_header, write_network
from hpc.io.outputs import check_outputs
from hpc.io.samples import create_samples

EPILOG = """\
what is made:
  a network, by the official rule:        --neurons N --layers L
  a network from the official files:      --neurons N --layers L --from-tsv DIR [--bias B]
  inputs from the official file:          --neurons N --images FILE.tsv
  the same inputs from MNIST's files:     --neurons N --images-from DIR
"""
APPLIES = {
    "the official network": {"layers", "dtype"},
    "--from-tsv": {"layers", "dtype", "bias"},
    "--images": {"first", "compress", "categories"},
    "--images-from": {"first", "compress", "categories"},
}
"""What is made: the options that it takes."""


def main(arguments: Sequence[str]) -> None:
    """Write a network file or a samples file.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name.

    Raises
    ------
    InputError : options that do not go together, bad files, an unwritable --out.
    """
    options = parse(build_parser(), arguments)
    _check_options(options)
    check_outputs(vars(options), ["out", "json"])
    if options.images or options.images_from:
        _make_samples(options)
    else:
        _make_network(options)


def build_parser() -> Parser:
    """Return the command's parser.

    Returns
    -------
    Parser
        Of `python -m datasets graph-challenge`.
    """
    parser = command_parser(
        "graph-challenge",
        __doc__,
        "--neurons 1024 --layers 12 --out net.h5",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("--neurons", type=positive_int, required=True, metavar="N", help="neurons per layer")
    add("--layers", type=positive_int, metavar="L", help="layers of the network")
    add("--out", required=True, metavar="FILE.h5", help="file to write")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--from-tsv", metavar="DIR", help="folder that holds neuronN/nN-lK.tsv")
    source.add_argument("--images", metavar="FILE.tsv", help="sparse-images-N.tsv")
    source.add_argument("--images-from", metavar="DIR", help="folder of MNIST's IDX files")
    add("--bias", type=float, metavar="B", help="bias, where N is not one of the official four")
    add("--dtype", choices=FLOATS, help="of the weights (default float32)")
    add("--categories", metavar="TRUTH.tsv", help="official answer, kept with the inputs")
    add_first(parser)
    complete(parser)
    return parser


def _check_options(options: argparse.Namespace) -> None:
    """Raise InputError for an option that does not apply to what is made, or is missing."""
    sources = {"--from-tsv": options.from_tsv, "--images": options.images}
    sources["--images-from"] = options.images_from
    made = next((name for name, value in sources.items() if value), "the official network")
    for name in sorted(set.union(*APPLIES.values()) - APPLIES[made]):
        if getattr(options, name) is not None:
            raise InputError(f"--{name} does not apply to {made}")
    if "layers" in APPLIES[made] and options.layers is None:
        raise InputError("--layers L is needed to make a network")


def _make_network(options: argparse.Namespace) -> None:
    n_layers = options.layers
    layers = track(
        _layers(options),
        "layers",
        total=n_layers,
        console=Console(stderr=True),
        disable=options.quiet,
    )
    write_network(options.out, options.neurons, layers)
    header = read_header(options.out)
    say(
        options,
        f"{options.neurons} neurons, {n_layers} layers, {header.n_edges:,} edges, "
        f"pattern {header.fingerprint}",
        {"sizes": header.sizes, "edges": header.n_edges, "pattern": header.fingerprint},
    )


def _layers(options: argparse.Namespace) -> Iterator[Layer]:
    if not options.from_tsv:
        return challenge_layers(options.neurons, options.layers, options.dtype or "float32")
    dtype, told = _told(options)
    paths = challenge_tsv.layer_paths(options.from_tsv, options.neurons, options.layers)
    return challenge_tsv.tsv_layers(paths, options.neurons, told, options.dtype or dtype)


def _told(options: argparse.Namespace) -> tuple[str, list[Told]]:
    """Return dtype and what the weights' files do not say: of an export, else the official."""
    described = read_description(options.from_tsv)
    if described is not None:
        dtype, told = described
        if options.bias is not None:
            raise InputError(f"--bias: the biases stand in {options.from_tsv} already")
        if len(told) < options.layers:
            raise InputError(
                f"--layers {options.layers}: {options.from_tsv} describes {len(told)} layers"
            )
        return dtype, told[: options.layers]
    bias = BIASES.get(options.neurons) if options.bias is None else options.bias
    if bias is None or not np.isfinite(bias):
        raise InputError(
            f"--bias B is needed, a finite number: only networks of {', '.join(map(str, BIASES))} "
            f"neurons have an official one, this has {options.neurons}"
        )
    return "float32", [Told("clipped-relu", CHALLENGE_CLIP, bias)] * options.layers


def _make_samples(options: argparse.Namespace) -> None:
    numbers = None
    if options.categories:  # read first: a bad line should not cost the interpolation
        numbers = read_categories(options.categories)
    bits, n_samples = _bits(options)
    with create_samples(
        options.out, n_samples, options.neurons, "bits", compress=bool(options.compress)
    ) as writer:
        writer.put_packed(bits)
        if numbers is not None:
            writer.put_categories(numbers[numbers <= n_samples])
    ones = int(np.bitwise_count(bits).sum(dtype=np.int64))
    say(
        options,
        f"{n_samples} images of {options.neurons} pixels, {ones:,} ones",
        {"samples": n_samples, "neurons": options.neurons, "ones": ones},
    )


def _bits(options: argparse.Namespace) -> tuple[npt.NDArray[np.uint8], int]:
    """Return the packed inputs and how many images they are."""
    if options.images_from:
        images = idx.read_images(options.images_from, "train")
        first = kept(options.first, len(images), options.images_from)
        bits = challenge_images.challenge_bits(images, options.neurons, first, options.quiet)
        return bits, first
    return challenge_tsv.read_images(options.images, options.neurons, options.first, options.quiet)
