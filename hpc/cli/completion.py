"""`--print-completion bash|zsh`: lets a shell complete `python -m TOOL ...`, also under mpirun.

Programs that are started by `python -m` are beyond what packages for completion know, so the
function is written here: it looks for `-m TOOL`, walks down the commands that were typed, and
offers commands, options and choices; where a value or a file is due, the shell completes names of
files.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any

from hpc.cli.tree import commands, subcommands

SHELLS = ("bash", "zsh")
PROGRAMS = ("python", "python3", "mpirun", "mpiexec", "srun")
"""What a command line of ours begins with."""
FUNCTION = """\
_relaycut_{tool}() {{
  local i command="" word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${{COMP_WORDS[i]}} == -m && ${{COMP_WORDS[i+1]}} == {tool} ]]; then break; fi
  done
  ((i + 1 < COMP_CWORD)) || return 1
  for ((i += 2; i < COMP_CWORD; i++)); do
    case "$command ${{COMP_WORDS[i]}}" in
{paths}
      *) break ;;
    esac
  done
  local words=""
  case "$command $before" in
{values}
    *)
      case "$command" in
{words}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
"""
ALL = """\
_relaycut() {
  local one
  [[ -z ${ZSH_VERSION-} ]] || emulate -L ksh
  for one in "${_relaycut_tools[@]}"; do
    "_relaycut_$one" && return
  done
  COMPREPLY=()
}
"""


class _Print(argparse.Action):
    """Prints the function and ends, like --version."""

    def __init__(self, tree: Callable[[], argparse.ArgumentParser], **options: Any) -> None:
        super().__init__(nargs=1, choices=SHELLS, **options)
        self._tree = tree

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> None:
        shell: Sequence[str] = rest[1]
        sys.stdout.write(script(self._tree(), shell[0]))
        parser.exit()


def add_completion(
    parser: argparse.ArgumentParser, tree: Callable[[], argparse.ArgumentParser]
) -> None:
    """Add --print-completion.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a tool.
    tree : callable
        Returns the tool's parser with all its commands; called when the option is given.
    """
    parser.add_argument(
        "--print-completion",
        action=_Print,
        tree=tree,
        metavar="|".join(SHELLS),
        help=f'print what makes the shell complete: eval "$({parser.prog} --print-completion '
        'bash)"',
    )


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return what the shell is to evaluate. Pure; several tools can be evaluated in turn.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a tool, with all its commands; the last word of its `prog` is the tool's name.
    shell : str
        One of SHELLS.

    Returns
    -------
    str
        Lines for bash, or for zsh.
    """
    tool = parser.prog.split()[-1]
    lines = ["autoload -U +X bashcompinit && bashcompinit"] if shell == "zsh" else []
    lines += [_function(parser, tool)]
    lines += [
        f'[[ " ${{_relaycut_tools[*]}} " == *" {tool} "* ]] || _relaycut_tools+=({tool})',
        ALL,
        f"complete -o default -o bashdefault -F _relaycut {' '.join(PROGRAMS)}",
    ]
    return "\n".join(lines) + "\n"


def _function(parser: argparse.ArgumentParser, tool: str) -> str:
    paths, values, words = [], [], []
    for path, command in commands(parser):
        name = " ".join(("", *path))
        if path:
            paths.append(f"      {shlex.quote(name)}) command={shlex.quote(name)} ;;")
        offered = [*subcommands(command)]
        for action in command._actions:
            offered += [word for word in action.option_strings if word.startswith("--")]
            for option in action.option_strings if action.nargs != 0 else ():
                values.append(f"    {shlex.quote(f'{name} {option}')}) words={_choices(action)} ;;")
        words.append(f"        {shlex.quote(name)}) words={shlex.quote(' '.join(offered))} ;;")
    return FUNCTION.format(
        tool=tool, paths="\n".join(paths), values="\n".join(values), words="\n".join(words)
    )


def _choices(action: argparse.Action) -> str:
    """Return what may follow an option: its choices, '' where a number or a file does."""
    if isinstance(action, argparse._SubParsersAction) or action.choices is None:
        return "''"
    return shlex.quote(" ".join(map(str, action.choices)))
