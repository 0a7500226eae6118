"""Makes input files: ``python -m datasets NAME --help``.

``python datasets NAME`` does the same, also where another package called
`datasets` (Hugging Face's) is installed, which would win over this folder.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Sequence
from pathlib import Path

from hpc.cli.completion import add_completion
from hpc.cli.extras import extra
from hpc.cli.parser import Parser
from hpc.cli.version import add_version
from hpc.io.errors import InputError, run_tool

COMMANDS = {
    "cifar10": ("cifar10", "CIFAR-10, from the official archive"),
    "digits": ("digits", "real handwritten digits as 32×32 images, shipped"),
    "from-torch": ("from_torch", "sparse networks from a Sequential model of torch"),
    "graph-challenge": ("graph_challenge", "networks and inputs of the Sparse DNN Graph Challenge"),
    "imagefolder": ("imagefolder", "class folders of JPEGs, as ImageNet users have them"),
    "mnist": ("mnist", "labelled digits for training, from MNIST's files"),
    "random": ("random_network", "irregular random networks"),
}
"""Name on the command line: (module, what it makes). A module has `main(arguments)` and
`build_parser()`."""


PROG = "python -m datasets"


def main(arguments: Sequence[str]) -> None:
    """Run the command named by the first argument with the rest.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name.

    Raises
    ------
    InputError : bad usage, bad input; packages that the command needs are not installed.
    """
    parser = _first_parser()
    parser.add_argument("name", metavar="NAME", choices=COMMANDS)
    _module(parser.parse_args(arguments[:1]).name).main(arguments[1:])


def build_parser() -> Parser:
    """Return the parser with those of all commands, whose modules are imported.

    Returns
    -------
    Parser
        Of `python -m datasets`, without the commands whose packages are not installed.
    """
    parser = _first_parser()
    commands = parser.add_subparsers(metavar="NAME", required=True)
    for name in COMMANDS:
        with contextlib.suppress(InputError):  # its packages are not installed
            commands.choices[name] = _module(name).build_parser()
    return parser


def _first_parser() -> Parser:
    names = "\n".join(f"  {name:16} {text}" for name, (_, text) in COMMANDS.items())
    parser = Parser(
        prog=PROG,
        description=f"Make input files. NAME is one of\n\n{names}\n\nNAME --help says more.",
        examples=[f"{PROG} graph-challenge --neurons 1024 --layers 12 --out net.h5"],
    )
    add_version(parser)
    add_completion(parser, build_parser)
    return parser


def _module(name: str) -> types.ModuleType:
    with extra(f"datasets {name}", "pipebd"):
        return importlib.import_module(f"datasets.{COMMANDS[name][0]}")


def _own_the_name() -> None:
    """Let `datasets` mean this folder, whatever else is installed under that name."""
    package = types.ModuleType("datasets")
    package.__path__ = [str(Path(__file__).parent)]
    sys.modules["datasets"] = package


if __name__ == "__main__":
    if not __package__:
        _own_the_name()
    sys.exit(run_tool("datasets", main))
