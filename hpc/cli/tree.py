"""A tool's parser as a tree: which commands it has."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

Words = tuple[str, ...]


def subcommands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return a parser's commands by name; none where it takes options itself."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found: Mapping[str, argparse.ArgumentParser] = action.choices
            return found
    return {}


def commands(
    parser: argparse.ArgumentParser, words: Words = ()
) -> Iterator[tuple[Words, argparse.ArgumentParser]]:
    """Yield every parser of a tool with the words that lead to it, () to the tool's own."""
    yield words, parser
    for name, one in subcommands(parser).items():
        yield from commands(one, (*words, name))


def command_of(
    parser: argparse.ArgumentParser, arguments: list[str]
) -> tuple[Words, argparse.ArgumentParser]:
    """Return the command that a command line names, as far as it does."""
    words: Words = ()
    for word in arguments:
        below = subcommands(parser)
        if word not in below:
            break
        words, parser = (*words, word), below[word]
    return words, parser
