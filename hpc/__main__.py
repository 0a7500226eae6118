"""`python -m hpc ENGINE COMMAND ...`, under mpirun or alone."""

from __future__ import annotations

import sys

from hpc.comm.interrupt import end_on_signals
from hpc.comm.launcher import launched_rank


def _clean_up() -> None:
    from hpc.io.aside import remove_partials

    remove_partials()


if __name__ == "__main__":
    end_on_signals(launched_rank() == 0, _clean_up)
    from hpc.command_line import main  # takes a while, and signals are heeded by now

    sys.exit(main(sys.argv[1:]))
