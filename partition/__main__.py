"""Entry of ``python -m partition``."""

import sys

from hpc.io.errors import run_tool
from partition.cli import main

if __name__ == "__main__":
    sys.exit(run_tool("partition", main))
