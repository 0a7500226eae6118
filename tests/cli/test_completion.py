"""--print-completion: what a shell that has evaluated it completes."""

import shutil
import subprocess

import pytest

from hpc import __version__
from hpc.cli.completion import script
from hpc.io.network import ACTIVATIONS
from hpc.pipebd import option_values
from hpc.pipebd.exporting import TRACERS
from hpc.pipebd.models.vgg import SIDES
from hpc.pipebd.names import NAMES
from hpc.pipebd.workloads import WORKLOADS
from hpc.spdnn.kernels import KERNELS
from partition.asked import OBJECTIVES
from partition.methods import METHODS
from tests.cli.tools import PARSERS

ASK = """
complete() {{ :; }}
compopt() {{ echo "compopt $*"; }}
source {functions}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_relaycut; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
"""compopt is the shell's own where it completes, and says here what the shell is to complete."""
SHELLS = [
    pytest.param(shell, marks=pytest.mark.skipif(shutil.which(shell) is None, reason=f"no {shell}"))
    for shell in ("bash", "zsh")
]
FILES: list[str] = []
"""Nothing of ours: the shell then completes names of files."""
FOLDERS = ["compopt", "-o", "dirnames", "+o", "default", "+o", "bashdefault"]
NOTHING = ["compopt", "+o", "default", "+o", "bashdefault"]


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """Return a file with the functions of all tools."""
    path = tmp_path_factory.mktemp("completion") / "all.bash"
    path.write_text("".join(script(build(), "bash") for build in PARSERS.values()))
    return path


def completed(functions, words, shell="bash"):
    """Return what a shell offers for the last of some words."""
    program = ASK.format(functions=functions, words=words)
    options = "-c" if shell == "bash" else "-fc"
    ran = subprocess.run([shell, options, program], capture_output=True, text=True, timeout=20)
    assert ran.stderr == ""
    return ran.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("python -m hpc sp", ["spdnn"]),
        ("python -m hpc spdnn ''", ["infer", "train", "export", "--help", "--version"]),
        ("mpirun -n 2 python -m hpc spdnn infer --rep", ["--replicas"]),
        ("mpirun -n 2 python -m hpc spdnn infer net.h5 x.h5 --batch 3 --cat", ["--categories"]),
        ("python -m hpc spdnn infer --dtype ''", ["float32", "float64"]),
        ("python -m hpc spdnn infer --dtype float6", ["float64"]),
        ("python3 -m partition build net.h5 --obj", ["--objective"]),
        ("python3 -m partition build --out ''", FILES),
        ("python -m datasets g", ["graph-challenge"]),
        ("python -m datasets imagefolder --side ''", ["32", "224"]),
        ("python -m launch slurm --gpu", ["--gpus-per-task", "--gpu-bind"]),
        ("python -m pip inst", []),
        ("python run.p", []),
        ("python -m hpc spdnn infer --kernel ''", ["auto", *KERNELS]),
        ("python -m hpc machine --kernel s", ["scipy"]),
        ("python -m hpc spdnn train --loss ''", ["mse", "cross-entropy"]),
        ("python -m hpc spdnn train --optimizer ''", ["sgd", "momentum", "adam"]),
        ("python -m hpc spdnn train --gradient a", ["averaged"]),
        ("python -m hpc spdnn infer --device c", ["cpu", "cuda"]),
        ("python -m hpc spdnn export n.h5 --format ''", ["torch", "npz", "scipy", "tsv"]),
        ("python -m hpc pipebd train --schedule ''", list(NAMES)),
        ("python -m hpc pipebd plan --schedule t", ["tr+dpu", "tr"]),
        ("python -m hpc pipebd teacher ''", list(WORKLOADS)),
        ("python -m hpc pipebd train --shape ''", list(SIDES)),
        ("python -m hpc pipebd train --transport ''", ["auto", "host", "staged", "cuda-aware"]),
        ("python -m hpc pipebd export s.pt --format e", ["export"]),
        ("python -m partition build n.h5 --objective ''", list(OBJECTIVES)),
        ("python -m partition compare n.h5 --preset d", ["default", "deterministic"]),
        ("python -m partition build n.h5 --method ''", list(METHODS)),
        ("python -m partition build n.h5 --backend m", ["mtkahypar"]),
        ("python -m partition build n.h5 --window a", ["auto"]),
        ("python -m datasets random --activation ''", list(ACTIVATIONS)),
        ("python -m datasets random --activation relu,", [f"relu,{a}" for a in ACTIVATIONS]),
        ("python -m datasets random --activation relu,tanh,s", ["relu,tanh,sigmoid"]),
        ("python -m launch local --bind ''", ["core", "none"]),
        ("python -m launch slurm --mpi srun", ["srun-pmi2", "srun-pmix"]),
        ("python -m hpc spdnn infer ''", FILES),
        ("python -m hpc spdnn infer net.h5 --plan p", FILES),
        ("python -m partition stats ''", FILES),
        ("python -m hpc pipebd train x --config ''", FILES),
        ("python -m datasets from-torch ''", FILES),
        ("python -m datasets imagefolder --source ''", FILES),
        ("python -m hpc report ''", FOLDERS),
        ("python -m hpc spdnn train n.h5 x.h5 --run ''", FOLDERS),
        ("python -m hpc pipebd train w --checkpoint k", FOLDERS),
        ("python -m hpc spdnn train n.h5 x.h5 --epochs ''", NOTHING),
        ("python -m hpc spdnn train n.h5 x.h5 --seed ''", NOTHING),
        ("python -m launch local -n ''", NOTHING),
        ("python -m launch logs ''", NOTHING),
    ],
)
def test_words_are_completed(functions, words, expected, shell):
    assert completed(functions, words, shell) == expected


def test_the_words_are_those_that_are_taken():
    assert tuple(WORKLOADS) == option_values.WORKLOADS and tuple(SIDES) == option_values.SHAPES
    assert ("state", *TRACERS) == option_values.EXPORTS


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
