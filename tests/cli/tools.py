"""The parsers of all four tools."""

from hpc import command_line
from launch import cli as launch
from partition import cli as partition

import datasets.__main__ as datasets  # isort: skip

PARSERS = {
    "datasets": datasets.build_parser,
    "partition": partition.build_parser,
    "hpc": command_line.build_parser,
    "launch": launch.build_parser,
}
