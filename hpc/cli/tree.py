"""A tool's parser as a tree: which commands it has."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

Words = tuple[str, ...]


def subcommands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return a parser's commands by name; none where it takes options itself.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a tool or of one of its commands.

    Returns
    -------
    mapping of str to argparse.ArgumentParser
        Those of the next level only.
    """
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found: Mapping[str, argparse.ArgumentParser] = action.choices
            return found
    return {}


def commands(
    parser: argparse.ArgumentParser, words: Words = ()
) -> Iterator[tuple[Words, argparse.ArgumentParser]]:
    """Yield every parser of a tool with the words that lead to it, () to the tool's own.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a tool.
    words : tuple of str
        That lead to `parser`.

    Yields
    ------
    tuple of str, argparse.ArgumentParser
        Words and parser, a parser before those of its commands.
    """
    yield words, parser
    for name, one in subcommands(parser).items():
        yield from commands(one, (*words, name))


def command_of(
    parser: argparse.ArgumentParser, arguments: list[str]
) -> tuple[Words, argparse.ArgumentParser]:
    """Return the command that a command line names, as far as it does.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a tool.
    arguments : list of str
        Words of the command line.

    Returns
    -------
    tuple of str, argparse.ArgumentParser
        The words at the beginning that name commands, and the parser that they lead to.
    """
    words: Words = ()
    for word in arguments:
        below = subcommands(parser)
        if word not in below:
            break
        words, parser = (*words, word), below[word]
    return words, parser
