"""The parser of all tools: bad usage raises, examples stand at the end of the help."""

from __future__ import annotations

import argparse
import difflib
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from hpc.io.errors import InputError


class HelpFormat(argparse.HelpFormatter):
    """Wraps what is prose and leaves what is laid out (lists, examples) as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = text.strip().split("\n\n")
        return "\n\n".join(
            textwrap.indent(block, indent)
            if any(line.startswith("  ") for line in block.splitlines())
            else super(HelpFormat, self)._fill_text(block, width, indent)
            for block in blocks
        )


class Parser(argparse.ArgumentParser):
    """Raises InputError for bad usage, so that of many ranks one prints it.

    Parameters
    ----------
    examples : command lines, shown below the help; the tests run them.
    **options : of argparse.ArgumentParser.
    """

    def __init__(self, *, examples: Iterable[str] = (), **options: Any) -> None:
        self.examples = tuple(examples)
        epilog = [options.pop("epilog", None), examples_text(self.examples)]
        super().__init__(
            allow_abbrev=False,
            formatter_class=HelpFormat,
            epilog="\n\n".join(filter(None, epilog)) or None,
            **options,
        )
        self.set_defaults(run=None, run_alone=None, any_launcher=False)
        self.configured = False
        """Whether a config file has been laid under the options."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError with the message and where to read more.

        Parameters
        ----------
        message : str
            What is wrong.

        Raises
        ------
        InputError : always.
        """
        raise InputError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse; refuse unknown options here, where the help that lists the valid ones is.

        Parameters
        ----------
        args : list of str or None
            Words of the command line; None takes those of the process.
        namespace : argparse.Namespace or None
            To put the options into; None: a new one.

        Returns
        -------
        argparse.Namespace, list of str
            The options, and unknown words: none, but within argparse's two passes.

        Raises
        ------
        InputError : bad usage, unknown options.
        """
        if self.configured:  # positionals may be missing anywhere: argparse's two passes
            self.configured = False
            self._parsing_twice = True
            found, unknown = self.parse_known_intermixed_args(args, namespace)
            self._parsing_twice = False
        else:
            found, unknown = super().parse_known_args(args, namespace)
        if unknown and not getattr(self, "_parsing_twice", False):
            self.error(unknown_text(unknown, list(self.option_names())))
        return found, unknown

    def option_names(self) -> Iterator[str]:
        """Yield the options' names as they are best given: '--batch'."""
        for action in self._actions:
            names = [word for word in action.option_strings if word.startswith("--")]
            yield from (names or action.option_strings)[:1]


def unknown_text(unknown: list[str], valid: list[str]) -> str:
    """Return what is said of words that no option takes: the nearest ones, or all.

    Parameters
    ----------
    unknown : list of str
        Words that are no option, or the values of one.
    valid : list of str
        Options that there are: '--batch'.

    Returns
    -------
    str
        In one line; without options where no word begins with '--'.
    """
    text = f"unrecognized arguments: {' '.join(unknown)}"
    wrong = next((word.partition("=")[0] for word in unknown if word.startswith("--")), None)
    if wrong is None:
        return text
    names = {name.lstrip("-"): name for name in valid}
    near = difflib.get_close_matches(wrong.lstrip("-"), names, cutoff=0.6)
    if near:
        return f"{text}; did you mean {' or '.join(map(names.__getitem__, near))}?"
    return f"{text}; valid options: {' '.join(valid)}"


def examples_text(examples: Iterable[str]) -> str:
    """Return the examples as the help shows them, long ones on several lines.

    Parameters
    ----------
    examples : iterable of str
        Command lines.

    Returns
    -------
    str
        With a heading; '' without examples.
    """
    lines = list(map(_wrapped, examples))
    return "\n".join([f"example{'s' * (len(lines) > 1)}:", *lines]) if lines else ""


def _wrapped(example: str) -> str:
    kept = re.sub(r"(--[\w-]+) (?=[^-])", "\\1\0", example)  # an option beside its value
    lines = " \\\n".join(
        textwrap.wrap(
            kept,
            width=92,
            initial_indent="  ",
            subsequent_indent="      ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
    return lines.replace("\0", " ")
