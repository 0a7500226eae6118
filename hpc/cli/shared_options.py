"""Options that mean the same in every tool: the same words, in one group, in one order."""

from __future__ import annotations

import argparse

MOST_SEEDS = 1 << 31
TITLE = "common options"
ORDER = ("--json", "--quiet", "--verbose", "--seed", "--config", "--version")
"""Of the group, which stands last in a command's help."""


def common_options(parser: argparse._ActionsContainer) -> argparse._ActionsContainer:
    """Return the group in which a command's common options stand.

    Parameters
    ----------
    parser : of the command; a group of it is returned as it is.

    Returns
    -------
    The group; it is made where there is none yet.
    """
    if not isinstance(parser, argparse.ArgumentParser):
        return parser
    found = [group for group in parser._action_groups if group.title == TITLE]
    return found[0] if found else parser.add_argument_group(TITLE)


def put_in_order(parser: argparse.ArgumentParser) -> None:
    """Put a command's common options last, in the order of all commands.

    Parameters
    ----------
    parser : of the command, with all its options.
    """

    def place(action: argparse.Action) -> int:
        names = [name for name in action.option_strings if name in ORDER]
        return ORDER.index(names[0]) if names else -1

    parser._actions.sort(key=place)
    for group in parser._action_groups:
        if group.title == TITLE:
            group._group_actions.sort(key=place)
    parser._action_groups.sort(key=lambda group: group.title == TITLE)


def seed(text: str) -> int:
    """Return a seed: 0..2³¹−1.

    Parameters
    ----------
    text : str
        A word of the command line.

    Returns
    -------
    int
        The seed.

    Raises
    ------
    ValueError : no whole number, or out of range: argparse says so.
    """
    value = int(text)
    if not 0 <= value < MOST_SEEDS:
        raise ValueError
    return value


def add_json(parser: argparse._ActionsContainer, what: str = "the figures") -> None:
    """Add --json.

    Parameters
    ----------
    parser : argparse parser or group
        Of a command.
    what : str
        What is written there, in the help.
    """
    common_options(parser).add_argument("--json", metavar="FILE", help=f"write {what} there")


def add_seed(parser: argparse._ActionsContainer, what: str = "of every random draw") -> None:
    """Add --seed.

    Parameters
    ----------
    parser : argparse parser or group
        Of a command.
    what : str
        What the seed is for, in the help.
    """
    common_options(parser).add_argument(
        "--seed", type=seed, default=0, metavar="S", help=f"{what}; same seed, same result "
        "(default 0)",
    )  # fmt: skip


def add_quiet(parser: argparse._ActionsContainer) -> None:
    """Add --quiet.

    Parameters
    ----------
    parser : argparse parser or group
        Of a command.
    """
    common_options(parser).add_argument(
        "--quiet",
        action="store_true",
        help="only results, warnings and errors: no progress, no notes",
    )


def add_verbose(parser: argparse._ActionsContainer) -> None:
    """Add --verbose.

    Parameters
    ----------
    parser : of a command.
    """
    common_options(parser).add_argument(
        "--verbose",
        action="store_true",
        help="say what runs on what at the start; progress every second also in a file",
    )
