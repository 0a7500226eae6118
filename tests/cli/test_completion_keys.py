"""What a shell shows when the tab key is pressed, in a terminal."""

import os
import shutil

import pytest

from hpc.cli.completion import script
from tests.cli.shell_in_terminal import shell
from tests.cli.tools import PARSERS

START = {"bash": ("bash", "--norc", "--noprofile", "-i"), "zsh": ("zsh", "-fi")}
BEFORE = {"bash": "", "zsh": "autoload -U compinit; compinit -u -D; "}
CLEAR = "\x05\x15"
"""Keys: to the end of the line; away with it."""


@pytest.mark.parametrize("name", START)
def test_files_folders_and_words(name, tmp_path):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    (tmp_path / "plan.h5").touch()
    (tmp_path / "planned").mkdir()
    (tmp_path / "complete.sh").write_text(script(PARSERS["hpc"](), name))
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "PS1": "> ", "HOME": str(tmp_path)}
    with shell(START[name], tmp_path, environment) as keys:
        keys(f"{BEFORE[name]}source ./complete.sh && echo re''ady\n", "ready")
        infer = "python -m hpc spdnn infer"
        keys(f"{infer} net.h5 --plan plan.\t", "plan.h5 ")
        keys(f"{CLEAR}{infer} plan.\t", "plan.h5 ")
        keys(f"{CLEAR}{infer} --kernel num\t", "numba ")
        keys(f"{CLEAR}{infer} net.h5 x.h5 --bat\t", "--batch ")
        if name == "bash":  # zsh completes files where the function has nothing
            keys(f"{CLEAR}{infer} --run pla\t", "planned/")
            shown = keys(f"{CLEAR}{infer} --batch pla\tEND", "END")
            assert shown.replace("\a", "").endswith("--batch plaEND")
