"""`--print-completion bash|zsh`: lets a shell complete `python -m TOOL ...`, also under mpirun.

Programs that are started by `python -m` are beyond what packages for completion know, so the
function is written here: it looks for `-m TOOL`, walks down the commands that were typed, and
offers commands, options and the words that an option takes. Where a file is due, the shell
completes names of files, where a folder is, names of folders, and of a number nothing.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from hpc.cli.tree import commands, subcommands
from hpc.cli.words import Words

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
  local kind=words words="" head="" one
  case "$command $before" in
{values}
    *)
      case "$command" in
{words}
      esac ;;
  esac
  if [[ $kind == list && $word == *,* ]]; then head="${{word%,*}},"; fi
  case $kind in
    words|list)
      for one in $words; do
        if [[ "$head$one" == "$word"* ]]; then COMPREPLY+=("$head$one"); fi
      done ;;
    folder) compopt -o dirnames +o default +o bashdefault 2>/dev/null ;;
    nothing) compopt +o default +o bashdefault 2>/dev/null ;;
  esac
  return 0
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
        values += _values(name, command)
        words.append(f"        {shlex.quote(name)})\n{_begun(command)} ;;")
    return FUNCTION.format(
        tool=tool, paths="\n".join(paths), values="\n".join(values), words="\n".join(words)
    )


def _values(name: str, command: argparse.ArgumentParser) -> list[str]:
    """Return what follows the options of a command: a line for those that take the same."""
    same: dict[str, list[str]] = defaultdict(list)
    for action in command._actions:
        for option in action.option_strings if action.nargs != 0 else ():
            same[_due(action)].append(shlex.quote(f"{name} {option}"))
    return [f"    {'|'.join(options)}) {due} ;;" for due, options in same.items()]


def _begun(command: argparse.ArgumentParser) -> str:
    """Return what is due where no option stands before: after a dash options, else arguments."""
    options = [word for word in command._option_string_actions if word.startswith("--")]
    below = [*subcommands(command)]
    given = [action for action in command._get_positional_actions() if not below]
    after = f"words={shlex.quote(' '.join([*below, *options]))}"
    if not given:
        return f"          {after}"
    first = next((due for due in map(_due, given) if due.startswith("words")), _due(given[0]))
    return f"          if [[ $word == -* ]]; then {after}; else {first}; fi"


FILE = re.compile(r"FILE|TAR|\.\w+$")
"""In what stands for the value of an option that takes a file."""
FOLDER = re.compile(r"DIR$")


def _due(action: argparse.Action) -> str:
    """Return what may stand in an option's or an argument's place, in the shell's language."""
    kind = action.type if isinstance(action.type, Words) else None
    if kind is not None or action.choices is not None:
        words = map(str, kind.values if kind is not None else action.choices or ())
        listed = "kind=list " if kind is not None and kind.listed else ""
        return f"words={shlex.quote(' '.join(words))} {listed}".strip()
    shown = action.metavar if isinstance(action.metavar, str) else ""
    if FILE.search(shown) or not (action.option_strings or shown):
        return "kind=file"
    return "kind=folder" if FOLDER.search(shown) else "kind=nothing"
