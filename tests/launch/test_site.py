"""Site profiles."""

from __future__ import annotations

import pytest

from hpc.io.errors import InputError
from launch.site import Site, read_site

FULL = """
modules = ["gcc/12", "mpich/4"]
partition = "gpu"
account = "physics"
qos = "long"
mpi = "srun-pmix"
launcher = ["srun", "--network=x"]
container = ["apptainer", "exec", "my image.sif"]
python = "python3.11"
sbatch = ["--constraint=a100", "--exclusive"]
[environment]
UCX_TLS = "rc,self"
"""


def test_all_keys(tmp_path):
    path = tmp_path / "site.toml"
    path.write_text(FULL)
    assert read_site(path) == Site(
        ("gcc/12", "mpich/4"), "gpu", "physics", "long", "srun-pmix", ("srun", "--network=x"),
        ("apptainer", "exec", "my image.sif"), "python3.11", ("--constraint=a100", "--exclusive"),
        {"UCX_TLS": "rc,self"},
    )  # fmt: skip


def test_an_empty_one(tmp_path):
    path = tmp_path / "site.toml"
    path.write_text("")
    assert read_site(path) == Site()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = 1", "unknown key 'colour'; expected one of modules, partition, account"),
        ("modules = 'gcc'", "modules: expected a list of texts"),
        ("modules = ['-x']", "expected a module's name"),
        ("modules = [\"a\\nb\"]", "one line"),
        ("partition = 3", "partition: expected a text"),
        ("partition = 'a b'", "partition 'a b'"),
        ("qos = ''", "qos: expected a text"),
        ("mpi = 'pmi2'", "expected one of srun-pmi2"),
        ("sbatch = ['-N 2']", "expected --name or --name=value"),
        ("sbatch = ['--wrap=rm']", "the launcher writes --wrap itself"),
        ("sbatch = ['--nodes=3']", "the launcher writes --nodes itself"),
        ("sbatch = [\"--mem=1\\n#SBATCH --wrap=x\"]", "one line"),
        ("environment = ['a']", "expected a table"),
        ("[environment]\nA = 1", "expected a table of texts"),
        ("[environment]\n'A B' = 'x'", "'A B' is no variable's name"),
        ("[environment]\n'A=$(x)' = 'x'", "no variable's name"),
        ("python = \"a\\u0000\"", "python: expected a text"),
        ("modules = ", "not TOML"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, text, said):
    path = tmp_path / "site.toml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_site(path)
    assert said in str(error.value)
    assert str(error.value).startswith(f"{path}: ")


def test_no_file(tmp_path):
    with pytest.raises(InputError, match=r"site.toml: No such file"):
        read_site(tmp_path / "site.toml")
