"""What the user did wrong, said in one line; and how a tool without MPI ends on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

EXIT_BAD_INPUT = 2
"""Exit code for bad usage and bad input, in every tool."""


class InputError(ValueError):
    """A user's input cannot be used. The message names what was found and what was expected."""


class FormatError(InputError):
    """A file is missing, damaged, of another format or of a newer version."""


def run_tool(prog: str, main: Callable[[Sequence[str]], None]) -> int:
    """Run a command line of a tool that needs no MPI and return its exit code.

    Parameters
    ----------
    prog : name printed before the message.
    main : takes the arguments; raises InputError for bad input.

    Returns
    -------
    0, or 2 after one line on standard error for an InputError, or 130 for Ctrl-C.
    """
    try:
        main(sys.argv[1:])
    except InputError as error:
        print(f"{prog}: error: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print(f"{prog}: interrupted; nothing was written", file=sys.stderr)
        return 130
    return 0
