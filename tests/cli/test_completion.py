"""--print-completion: what a shell that has evaluated it completes."""

import shutil
import subprocess

import pytest

from hpc import __version__
from hpc.cli.completion import script
from tests.cli.tools import PARSERS

ASK = """
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_relaycut; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """Return a file with the functions of all tools."""
    path = tmp_path_factory.mktemp("completion") / "all.bash"
    path.write_text("".join(script(build(), "bash") for build in PARSERS.values()))
    return path


def completed(functions, words, shell="bash"):
    """Return what a shell offers for the last of some words."""
    program = f"source {functions}\n" + ASK.format(words=words)
    ran = subprocess.run([shell, "-c", program], capture_output=True, text=True, timeout=20)
    assert ran.stderr == ""
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("python -m hpc sp", ["spdnn"]),
        ("python -m hpc spdnn ''", ["infer", "train", "export", "--help"]),
        ("mpirun -n 2 python -m hpc spdnn infer --rep", ["--replicas"]),
        ("mpirun -n 2 python -m hpc spdnn infer net.h5 x.h5 --batch 3 --cat", ["--categories"]),
        ("python -m hpc spdnn infer --dtype ''", ["float32", "float64"]),
        ("python -m hpc spdnn infer --dtype float6", ["float64"]),
        ("python3 -m partition build net.h5 --obj", ["--objective"]),
        ("python3 -m partition build --out ''", []),
        ("python -m datasets g", ["graph-challenge"]),
        ("python -m datasets imagefolder --side ''", ["32", "224"]),
        ("python -m launch slurm --gpu", ["--gpus-per-task", "--gpu-bind"]),
        ("python -m pip inst", []),
        ("python run.p", []),
    ],
)
def test_words_are_completed(functions, words, expected):
    assert completed(functions, words) == expected


def test_bash_runs_the_function_by_itself(functions):
    program = f"source {functions}; complete -p python mpirun"
    ran = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=20)
    assert ran.stdout.splitlines() == [
        f"complete -o bashdefault -o default -F _relaycut {name}" for name in ("python", "mpirun")
    ]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_knows_the_function(tmp_path):
    path = tmp_path / "hpc.zsh"
    path.write_text(script(PARSERS["hpc"](), "zsh"))
    program = f"autoload -U compinit; compinit -u; source {path}; print $_comps[python]"
    ran = subprocess.run(["zsh", "-fc", program], capture_output=True, text=True, timeout=20)
    assert "_relaycut" in ran.stdout, ran.stderr


@pytest.mark.parametrize("tool", PARSERS)
@pytest.mark.parametrize(
    ("option", "said"),
    [("--version", f"relaycut {__version__}\n"), ("--print-completion=bash", "_relaycut_")],
)
def test_every_tool_says_its_version_and_completion(tool, option, said, capsys):
    with pytest.raises(SystemExit) as ended:
        PARSERS[tool]().parse_args([option])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(said)
