"""What the user did wrong, said in one line; and how a tool without MPI ends on it."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

EXIT_BAD_INPUT = 2
"""Exit code for bad usage and bad input, in every tool."""


class InputError(ValueError):
    """A user's input cannot be used. The message names what was found and what was expected."""


class FormatError(InputError):
    """A file is missing, damaged, of another format or of a newer version."""


class _Stopped(BaseException):
    """A signal that ends the program, raised where it is, so that what is open is closed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


ENDING = [signal.SIGTERM, signal.SIGHUP]
"""Besides Ctrl-C, for which Python raises KeyboardInterrupt."""


@contextlib.contextmanager
def _raised() -> Iterator[None]:
    """Raise _Stopped for the signals in ENDING while the block runs."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _Stopped(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_tool(prog: str, main: Callable[[Sequence[str]], None]) -> int:
    """Run a command line of a tool that needs no MPI and return its exit code.

    Parameters
    ----------
    prog : name printed before the message.
    main : takes the arguments; raises InputError for bad input.

    Returns
    -------
    0, or 2 after one line on standard error for an InputError, or 128 + signal for Ctrl-C, TERM
    and HUP.
    """
    try:
        with _raised():
            main(sys.argv[1:])
    except InputError as error:
        print(f"{prog}: error: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except (KeyboardInterrupt, _Stopped) as stopped:
        print(f"{prog}: interrupted; nothing was written", file=sys.stderr)
        return 128 + (stopped.number if isinstance(stopped, _Stopped) else signal.SIGINT)
    return 0
