"""Bad input ends every rank in seconds with exit code 2 and one message from rank 0."""

import json
import shutil

import h5py
import numpy as np
import pytest

from hpc.io.network import write_network
from hpc.io.plan import Plan, write_plan
from hpc.io.samples import create_samples
from tests.launching import run_ranks
from tests.spdnn.serial import random_layers, random_plan

SIZES = (12, 9, 7)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a network, a plan for two ranks and labelled inputs."""
    layers = random_layers(SIZES, 0.5, 1, np.float32)
    fingerprint = write_network(tmp_path / "net.h5", SIZES[0], layers)
    free = random_plan(SIZES, 2, 1)
    write_plan(tmp_path / "plan.h5", Plan(2, free.owners, fingerprint, {}))
    write_inputs(tmp_path / "x.h5", SIZES[0])
    return tmp_path


def write_inputs(path, width, classes=5):
    with create_samples(path, 30, width, "float32") as writer:
        writer.put_inputs(0, np.ones((width, 30), np.float32))
        writer.put_labels(np.arange(30) % classes, classes)


def refused(folder, *arguments, size=2):
    """Run and return the one message."""
    ran = run_ranks(size, "-m", "hpc", "spdnn", *arguments, timeout=60)
    assert ran.returncode == 2, f"exit code {ran.returncode}\n{ran.stdout}{ran.stderr}"
    lines = [line for line in ran.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, ran.stderr
    assert lines[0].startswith("hpc: error: ")
    return lines[0]


def infer(folder, *options, network="net.h5", inputs="x.h5", size=2):
    return refused(folder, "infer", folder / network, folder / inputs, *options, size=size)


def test_what_is_no_file_of_ours(folder):
    assert "nowhere.h5: no such file" in infer(folder, network="nowhere.h5")
    (folder / "text.h5").write_text("hello")
    assert "text.h5: not an HDF5 file" in infer(folder, network="text.h5")
    with h5py.File(folder / "other.h5", "w") as file:
        file["x"] = 1
    assert "not a file of relaycut" in infer(folder, network="other.h5")
    assert "a samples file, expected a network" in infer(folder, network="x.h5")
    assert "'relaycut-network', expected 'relaycut-samples'" in infer(folder, inputs="net.h5")
    assert "'relaycut-network', expected 'relaycut-plan'" in infer(
        folder, "--plan", folder / "net.h5"
    )


def test_a_newer_version(folder):
    with h5py.File(folder / "net.h5", "r+") as file:
        file.attrs["version"] = 99
    assert "version 99 of relaycut-network, this program reads up to 1" in infer(folder)


def test_a_truncated_file(folder):
    whole = (folder / "net.h5").read_bytes()
    (folder / "net.h5").write_bytes(whole[: len(whole) // 2])
    assert "net.h5: truncated file" in infer(folder)


def flip(path, values):
    """Flip a byte in the middle of the stored `values`."""
    whole = bytearray(path.read_bytes())
    at = whole.find(values.tobytes())
    assert at > 0
    whole[at + values.nbytes // 2] ^= 0x10
    path.write_bytes(whole)


@pytest.mark.parametrize(
    ("name", "dataset"), [("net.h5", "data"), ("plan.h5", "owners"), ("x.h5", "x")]
)
def test_a_flipped_byte(folder, name, dataset):
    with h5py.File(folder / name) as file:
        values = file[dataset][:]
    flip(folder / name, values)
    message = infer(folder, "--plan", folder / "plan.h5")
    assert f"{name}: checksum mismatch" in message


def change(path, dataset, where, value):
    with h5py.File(path, "r+") as file:
        file[dataset][where] = value


def test_weights_that_make_no_sense(folder):
    shutil.copy(folder / "net.h5", folder / "good.h5")
    change(folder / "net.h5", "indices", 3, 12)
    assert "layer 1, row" in (message := infer(folder))
    assert "column index 12 outside 0..11" in message
    shutil.copy(folder / "good.h5", folder / "net.h5")
    with h5py.File(folder / "net.h5") as file:
        first = file["indices"][:2]
    change(folder / "net.h5", "indices", slice(0, 2), first[::-1])
    assert "not sorted" in infer(folder)
    shutil.copy(folder / "good.h5", folder / "net.h5")
    change(folder / "net.h5", "data", -1, np.inf)
    assert "layer 2, row 6: weight is inf, not finite" in infer(folder)


def test_plans_that_do_not_fit(folder):
    message = infer(folder, "--plan", folder / "plan.h5", size=3)
    assert "plan.h5: made for 2 ranks, the job has 3" in message
    layers = random_layers(SIZES, 0.5, 2, np.float32)
    write_network(folder / "net.h5", SIZES[0], layers)
    assert "made for another network" in infer(folder, "--plan", folder / "plan.h5")


def test_inputs_that_do_not_fit(folder):
    write_inputs(folder / "wide.h5", 13)
    assert "inputs of width 13, the network takes 12" in infer(folder, inputs="wide.h5")
    write_inputs(folder / "classes.h5", 12, classes=8)
    message = refused(folder, "train", folder / "net.h5", folder / "classes.h5")
    assert "8 classes, the network has only 7 outputs" in message
    change(folder / "x.h5", "labels", 4, 5)
    message = refused(folder, "train", folder / "net.h5", folder / "x.h5")
    assert "label 5 of sample 4 is outside 0..4" in message
    change(folder / "x.h5", "x", (2, 9), np.nan)
    assert "sample 9 has an input that is not finite" in infer(folder)


def test_options_out_of_range(folder):
    assert "batch 0: expected at least 1" in infer(folder, "--batch", "0")
    assert "batch -3: expected at least 1" in refused(
        folder, "train", folder / "net.h5", folder / "x.h5", "--batch", "-3"
    )
    assert "kernel 'none': expected one of auto, numba, scipy" in infer(folder, "--kernel", "none")
    assert "unrecognized arguments: --frobnicate" in infer(folder, "--frobnicate")
    assert "invalid int value" in infer(folder, "--batch", "many")


def test_unwritable_output_is_found_before_the_work(folder):
    message = infer(folder, "--out", folder / "no" / "r.tsv", network="nowhere.h5")
    assert "the folder" in message and "does not exist" in message
    message = refused(folder, "train", folder / "nowhere.h5", folder / "x.h5", "--out", folder)
    assert "is a folder" in message


def test_more_ranks_than_rows(folder):
    layers = random_layers((3, 1, 2), 1.0, 2, np.float32)
    write_network(folder / "tiny.h5", 3, layers)
    write_inputs(folder / "three.h5", 3)
    message = infer(folder, network="tiny.h5", inputs="three.h5", size=4)
    assert "4 ranks: " in message and "has 3 rows in all layers, expected 1..3" in message


def test_categories_errors_name_the_line(folder):
    (folder / "truth.tsv").write_text("3\n4x\n")
    assert "truth.tsv, line 2: found '4x'" in infer(folder, "--categories", folder / "truth.tsv")


def test_an_uncaught_exception_aborts_with_the_traceback(folder):
    script = folder / "raises.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "from hpc.comm.world import run_program\n"
        "def main():\n"
        "    if MPI.COMM_WORLD.rank == 1:\n"
        "        raise RuntimeError('boom')\n"
        "    MPI.COMM_WORLD.Barrier()\n"
        "    return 0\n"
        "raise SystemExit(run_program(main, MPI.COMM_WORLD))\n"
    )
    ran = run_ranks(2, script, timeout=60)
    assert ran.returncode == 1
    assert ran.stderr.count("Traceback") == 1
    assert "[rank 1 on" in ran.stderr and "RuntimeError: boom" in ran.stderr


def test_good_input_is_taken(folder):
    ran = run_ranks(
        2, "-m", "hpc", "spdnn", "train", folder / "net.h5", folder / "x.h5", "--epochs", 1,
        "--plan", folder / "plan.h5", "--out", folder / "t.h5", "--json", folder / "t.json",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    figures = json.loads((folder / "t.json").read_text())
    assert len(figures["history"]) == 1 and figures["ranks"] == 2
    assert not list(folder.glob("*.partial-*"))
