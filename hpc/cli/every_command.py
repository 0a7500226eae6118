"""What every command of every tool has: --quiet, --config, --version; common options last."""

from __future__ import annotations

import argparse

from hpc.cli.config import add_config
from hpc.cli.shared_options import add_quiet, put_in_order
from hpc.cli.tree import commands, subcommands
from hpc.cli.version import add_version


def complete(parser: argparse.ArgumentParser) -> None:
    """Give all commands of a tool what they share; called when they have all options of their own.

    Parameters
    ----------
    parser : of the tool, or of a command that is built alone.
    """
    add_config(parser)
    for _, command in commands(parser):
        if not subcommands(command) and "--quiet" not in command._option_string_actions:
            add_quiet(command)
        add_version(command)
        put_in_order(command)
