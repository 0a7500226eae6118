"""Commands of `python -m hpc` that need no MPI are started once by `launch` too."""

from hpc.cli.tree import commands, subcommands
from hpc.command_line import build_parser
from launch.command import command_of


def test_launch_knows_which_commands_run_on_ranks():
    for words, parser in commands(build_parser()):
        if not subcommands(parser):
            alone = parser.get_default("run_alone") is not None
            assert command_of(words).on_ranks != alone, words
