"""Options that mean the same in all tools: every command has them, in the same words and order."""

import re

import pytest

from hpc import __version__
from hpc.cli.shared_options import ORDER, TITLE
from hpc.cli.tree import commands, subcommands
from tests.cli.tools import PARSERS
from tests.launching import ROOT, run_alone

NO_RESULT = ("hpc report", "launch logs")
"""Commands that make a page or show text, and need no --json."""
TREES = {tool: list(commands(build())) for tool, build in PARSERS.items()}
LEAVES = [
    pytest.param(parser, " ".join((tool, *words)), id=" ".join((tool, *words)))
    for tool, tree in TREES.items()
    for words, parser in tree
    if not subcommands(parser)
]


def common(parser):
    """Return a command's common options by name, in the order of its help."""
    return {
        name: action
        for action in parser._actions
        for name in action.option_strings
        if name in ORDER
    }


@pytest.mark.parametrize(("parser", "name"), LEAVES)
def test_every_command_has_them(parser, name):
    found = set(common(parser))
    assert {"--quiet", "--config", "--version"} <= found
    assert "--json" in found or name in NO_RESULT


@pytest.mark.parametrize(("parser", "name"), LEAVES)
def test_they_stand_last_in_one_order(parser, name):
    found = list(common(parser))
    assert found == [option for option in ORDER if option in found]
    last = parser._action_groups[-1]
    assert last.title == TITLE
    assert last._group_actions == list(common(parser).values())


def test_one_option_is_said_in_the_same_words_everywhere():
    for option in ORDER:
        every = [common(leaf.values[0]).get(option) for leaf in LEAVES]
        told = {action.help for action in every if action is not None}
        if option == "--json":
            assert all(one.startswith("write ") and one.endswith(" there") for one in told), told
        else:
            assert len(told) == 1, told
        assert len({action.metavar for action in every if action is not None}) == 1, option


PICTURE = ": .png, .svg or .pdf (needs relaycut[plot])"


def test_a_picture_is_asked_for_by_plot():
    drawing = {
        leaf.values[1]: action.option_strings[0]
        for leaf in LEAVES
        for action in leaf.values[0]._actions
        if PICTURE in (action.help or "")
    }
    assert drawing == dict.fromkeys(
        ("partition compare", "partition predict", "hpc pipebd timeline"), "--plot"
    )
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        assert not re.search("timeline .*--png", page.read_text(encoding="utf-8")), page


@pytest.mark.parametrize("tool", PARSERS)
def test_every_level_says_the_version(tool, capsys):
    for words, _ in TREES[tool]:
        with pytest.raises(SystemExit) as ended:
            PARSERS[tool]().parse_args([*words, "--version"])
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(f"relaycut {__version__}\n"), words


@pytest.mark.parametrize("words", [("hpc", "spdnn", "infer"), ("datasets", "random"), ("launch",)])
def test_the_version_is_printed_alone(words):
    ran = run_alone("-m", *words, "--version")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"relaycut {__version__}\n")
