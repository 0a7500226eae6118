"""The rules of the house on imports, checked in fresh interpreters and on the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOWER = {
    "hpc/io": (),
    "hpc/cli": ("hpc.io",),
    "hpc/comm": ("hpc.io",),
    "hpc/report": ("hpc.io", "hpc.cli"),
    "hpc/spdnn": ("hpc.io", "hpc.cli", "hpc.comm", "hpc.report"),
    "hpc/pipebd": ("hpc.io", "hpc.cli", "hpc.comm", "hpc.report", "hpc.samples"),
    "hpc/doctor": ("hpc.io", "hpc.cli", "hpc.comm", "hpc.report", "hpc.spdnn"),
    "partition": ("hpc.io", "hpc.cli", "hpc.report"),
    "datasets": ("hpc.io", "hpc.cli", "hpc.report", "hpc.samples"),
    "launch": ("hpc.io", "hpc.cli", "hpc.report", "hpc.command_line", "partition.cli"),
}


def imported(path):
    """Yield every module that a source file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("folder", LOWER)
def test_imports_go_down_only(folder):
    own = folder.replace("/", ".")
    for path in (ROOT / folder).rglob("*.py"):
        for name in imported(path):
            if name.split(".")[0] not in ("hpc", "partition", "launch", "datasets"):
                continue
            allowed = (own, "hpc.__version__", *LOWER[folder])
            assert any(name == a or name.startswith(f"{a}.") for a in allowed), (
                f"{path.relative_to(ROOT)} imports {name}"
            )


@pytest.mark.parametrize(
    "folder", ["partition", "datasets", "hpc/io", "hpc/cli", "hpc/report", "launch"]
)
def test_no_mpi_outside_the_engines(folder):
    for path in (ROOT / folder).rglob("*.py"):
        assert not any(name.split(".")[0] == "mpi4py" for name in imported(path)), path


@pytest.mark.parametrize("module", ["hpc.io.network", "hpc.io.sharded", "hpc.io.samples"])
def test_the_ground_floor_is_light(module):
    code = (
        f"import sys, {module}; "
        "print([m for m in ('mpi4py', 'torch', 'kahypar', 'mtkahypar') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout.strip() == "[]", ran.stdout + ran.stderr


def test_the_sparse_engine_runs_without_kahypar_and_torch():
    code = (
        "import sys; sys.modules['kahypar'] = sys.modules['torch'] = None; "
        "import hpc.spdnn.infer_command, hpc.spdnn.train_command"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_datasets_is_no_package_that_could_be_installed():
    assert not (ROOT / "datasets" / "__init__.py").exists()
