"""Entry of ``python -m launch``."""

import sys

from hpc.io.errors import run_tool
from launch.cli import main

if __name__ == "__main__":
    sys.exit(run_tool("launch", main))
