"""Entry of ``python -m partition``."""

import sys
from collections.abc import Sequence

from hpc.io.errors import run_tool


def main(arguments: Sequence[str]) -> None:
    """Run the command line; its modules load here, where Ctrl-C is met already.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name.

    Raises
    ------
    InputError : bad usage, bad input.
    """
    from partition.cli import main as run

    run(arguments)


if __name__ == "__main__":
    sys.exit(run_tool("partition", main))
