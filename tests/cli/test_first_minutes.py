"""What newcomers meet first: each is one sentence that says what to do, and exit code 2."""

import os
import subprocess
import sys
from importlib import metadata

import pytest

from hpc import __version__
from hpc.cli.extras import extra
from hpc.comm.crowding import crowded
from tests.launching import ROOT, run_command, run_ranks  # noqa: F401 - names a starter of mpirun
from tests.stopping import OPEN_MPI

MISSING = "raise ModuleNotFoundError(\"No module named '{0}'\", name='{0}')"
INFER = ("hpc", "spdnn", "infer", "net.h5", "x.h5")
TRAIN = ("hpc", "pipebd", "train", "vgg16-dsconv", "--data", "x.h5")


def without(folder, module, words, text=MISSING, size=0):
    """Run a tool where a module cannot be imported; return the finished process."""
    (folder / f"{module}.py").write_text(text.format(module))
    (folder / "sitecustomize.py").write_text("")
    command = [sys.executable, "-m", *words]
    if size:
        command = [os.path.join(os.path.dirname(sys.executable), "mpirun"), "-n", size, *command]
    return run_command(command, 60, {"PYTHONPATH": f"{folder}:{ROOT}"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MISSING, "mpi4py is not installed: pip install 'relaycut[mpich]', or on a cluster"),
        (
            "raise ImportError('libmpi.so.40: cannot open shared object file')",
            "mpi4py finds no MPI library (libmpi.so.40: cannot open shared object file): load the",
        ),
        (
            "raise RuntimeError('cannot load MPI library\\nlibmpi.so.12: no such file')",
            "mpi4py finds no MPI library (cannot load MPI library): load the site's MPI",
        ),
    ],
)
@pytest.mark.parametrize("size", [0, 2])
def test_no_mpi(tmp_path, text, said, size):
    ran = without(tmp_path, "mpi4py", INFER, text, size)
    assert ran.returncode == 2, ran.stderr
    lines = [line for line in ran.stderr.splitlines() if "hpc: error" in line]
    assert len(lines) == 1 and lines[0].startswith(f"hpc: error: {said}")
    assert "Traceback" not in ran.stderr


def test_help_and_tools_need_no_mpi(tmp_path):
    for words in (("hpc", "spdnn", "infer", "--help"), ("partition", "--help")):
        assert without(tmp_path, "mpi4py", words).returncode == 0


@pytest.mark.parametrize(
    ("module", "words", "said"),
    [
        ("torch", TRAIN, "hpc: error: pipebd train needs torch: pip install 'relaycut[pipebd]'"),
        (
            "torch",
            ("hpc", "pipebd", "export", "s.pt", "--to", "x.pt"),
            "hpc: error: pipebd export needs torch: pip install 'relaycut[pipebd]'",
        ),
        (
            "PIL",
            ("datasets", "imagefolder", "--source", "x", "--side", "32", "--out", "x.h5"),
            "datasets: error: datasets imagefolder needs PIL: pip install 'relaycut[pipebd]'",
        ),
        (
            "torch",
            ("datasets", "from-torch", "m.pt", "--input", "3", "--out", "x.h5"),
            "datasets: error: from-torch needs torch: pip install 'relaycut[pipebd]'",
        ),
        (
            "kahypar",
            ("partition", "build", "NET", "--parts", "2", "--out", "OUT"),
            "partition: error: --method hypergraph needs kahypar: pip install "
            "'relaycut[partition]'",
        ),
        (
            "matplotlib",
            ("partition", "compare", "NET", "--parts", "2", "--plot", "x.png"),
            "pip install 'relaycut[plot]'",
        ),
        (
            "numba",
            ("hpc", "spdnn", "infer", "NET", "hpc/samples/digits.h5", "--kernel", "numba"),
            "hpc: error: kernel 'numba': No module named 'numba'; pip install 'relaycut[fast]'",
        ),
    ],
)
def test_a_package_of_an_extra_is_missing(tmp_path, network, module, words, said):
    names = {"NET": str(network), "OUT": str(tmp_path / "plan.h5")}
    ran = without(tmp_path, module, [names.get(word, word) for word in words])
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr.count("\n") == 1 and said in ran.stderr


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "net.h5"
    made = run_command(
        [sys.executable, "-m", "datasets", "random", "--sizes", "784,8,10", "--degree", "4",
         "--out", path], 60,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return path


def test_ranks_agree_on_a_missing_torch(tmp_path):
    ran = without(tmp_path, "torch", TRAIN, size=2)
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr.count("hpc: error: pipebd train needs torch") == 1


def test_a_fault_of_our_own_is_no_missing_package():
    with pytest.raises(ImportError, match="nothing"), extra("x", "fast"):
        from hpc import nothing  # noqa: F401


@pytest.mark.parametrize("tool", ["hpc", "partition", "datasets", "launch"])
def test_an_old_python(tool):
    program = (
        "import sys, runpy; sys.version_info = (3, 9, 2, 'final', 0); "
        f"runpy.run_module('{tool}', run_name='__main__')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("relaycut: error: needs Python 3.11 or newer, and this is 3.9 (")
    assert ran.stderr.count("\n") == 1


def test_the_version_stands_in_one_place():
    assert metadata.version("relaycut") == __version__


def test_no_gpu(network):
    pytest.importorskip("torch")
    words = (network, "hpc/samples/digits.h5", "--device", "cuda")
    environment = {"CUDA_VISIBLE_DEVICES": ""}
    ran = run_command([sys.executable, "-m", *INFER[:3], *words], 60, environment)
    assert ran.returncode == 2
    assert "--device cuda: rank 0 has no CUDA device (" in ran.stderr
    assert "leave --device cuda out" in ran.stderr


def test_more_ranks_than_cores_pure():
    assert crowded("h", 2, 2, "MPICH", False) == crowded("h", 3, 2, "MPICH", True) == ""
    assert crowded("h", 3, 2, "MPICH", None) == ""
    text = "h: 3 ranks on 2 cores, and those that wait do not let others run: set MPIR_CVAR_"
    assert crowded("h", 3, 2, "MPICH", False).startswith(text)
    assert "OMPI_MCA_mpi_yield_when_idle=1" in crowded("h", 3, 2, "Open MPI", False)


def test_more_ranks_than_cores_is_one_warning():
    """Open MPI's ranks yield by themselves where they are too many."""
    mpirun = os.path.join(os.path.dirname(sys.executable), "mpirun")
    size = len(os.sched_getaffinity(0)) + 1
    command = [mpirun, "-n", size, sys.executable, "-m", *INFER]
    for yields, warnings in (("0", int(not OPEN_MPI)), ("1", 0)):
        both = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": yields, "OMPI_MCA_mpi_yield_when_idle": yields}
        ran = run_command(command, 60, both)
        assert ran.returncode == 2
        assert ran.stderr.count("hpc: warning: ") == warnings, ran.stderr
