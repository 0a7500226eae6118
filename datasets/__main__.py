"""Makes input files: ``python -m datasets NAME --help``.

``python datasets NAME`` does the same, also where another package called
`datasets` (Hugging Face's) is installed, which would win over this folder.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import types
from collections.abc import Sequence
from pathlib import Path

from hpc.io.errors import run_tool

COMMANDS = {
    "cifar10": ("cifar10", "CIFAR-10, from the official archive"),
    "digits": ("digits", "real handwritten digits as 32×32 images, shipped"),
    "from-torch": ("from_torch", "sparse networks from a Sequential model of torch"),
    "graph-challenge": ("graph_challenge", "networks and inputs of the Sparse DNN Graph Challenge"),
    "imagefolder": ("imagefolder", "class folders of JPEGs, as ImageNet users have them"),
    "mnist": ("mnist", "labelled digits for training, from MNIST's files"),
    "random": ("random_network", "irregular random networks"),
}
"""Name on the command line: (module, what it makes). A module has `main(arguments)`."""


def main(arguments: Sequence[str]) -> None:
    """Run the command named by the first argument with the rest."""
    names = "\n".join(f"  {name:16} {text}" for name, (_, text) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m datasets",
        description=f"Make input files. NAME is one of\n\n{names}\n\nNAME --help says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", choices=COMMANDS)
    module, _ = COMMANDS[parser.parse_args(arguments[:1]).name]
    importlib.import_module(f"datasets.{module}").main(arguments[1:])


def _own_the_name() -> None:
    """Let `datasets` mean this folder, whatever else is installed under that name."""
    package = types.ModuleType("datasets")
    package.__path__ = [str(Path(__file__).parent)]
    sys.modules["datasets"] = package


if __name__ == "__main__":
    if not __package__:
        _own_the_name()
    sys.exit(run_tool("datasets", main))
