"""Signals, deaths and full disks while `spdnn train` keeps checkpoints, under mpirun."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time

import h5py
import numpy as np
import psutil
import pytest

from tests.deaths import killed_often, killed_while_writing
from tests.launching import ROOT, run_alone, run_ranks
from tests.stopping import LAUNCH, ask, outcome, processes, started, wait_for, wait_for_checkpoint

DIGITS = ROOT / "hpc" / "samples" / "digits.h5"
EPOCHS = 8
soak = (pytest.mark.soak, pytest.mark.timeout(900))


def words(network, root, out, epochs=EPOCHS, every="20steps"):
    return [
        "spdnn", "train", network, DIGITS, "--epochs", epochs, "--batch", 25, "--lr", 1e-3,
        "--optimizer", "adam", "--quiet", "--out", out,
        *(["--checkpoint", root, "--every", every] if root else []),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def expected(network, tmp_path_factory):
    """Return the weights of a run on two ranks that nobody stops."""
    out = tmp_path_factory.mktemp("whole") / "o.h5"
    ran = run_ranks(2, "-m", "hpc", *words(network, None, out))
    assert ran.returncode == 0, ran.stderr
    return weights(out)


def weights(path):
    with h5py.File(path) as file:
        return file["data"][:], file["bias"][:]


def same(ours, theirs):
    return all(map(np.array_equal, weights(ours), weights(theirs)))


def gone_on(network, root, out, expected, size=2):
    """Run to the end from what is there; the weights must be those of a run without a stop."""
    ran = run_ranks(size, "-m", "hpc", *words(network, root, out))
    assert ran.returncode == 0, ran.stderr
    for ours, theirs in zip(weights(out), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return ran


@pytest.mark.parametrize(
    ("number", "whom"),
    [
        (signal.SIGUSR1, "mpirun"),
        (signal.SIGTERM, "mpirun"),
        (signal.SIGINT, "mpirun"),
        (signal.SIGTERM, "launch"),
        (signal.SIGUSR1, 1),
        (signal.SIGTERM, 0),
    ],
)
def test_a_signal_keeps_and_ends(tmp_path, network, expected, number, whom):
    root = tmp_path / "c"
    launcher = {"launcher": LAUNCH} if whom == "launch" else {}
    with started(2, *words(network, root, tmp_path / "o.h5"), **launcher) as running:
        wait_for_checkpoint(root)
        if isinstance(whom, str):
            ask(running, number)
        else:
            processes(running)[whom].send_signal(number)
        code, output, errors = outcome(running)
    assert code == 3, (code, output, errors)
    name = signal.Signals(number).name
    assert errors.count(f"hpc: stopped by {name} after step ") == 1, errors
    newest = max(root.glob("checkpoint-*"))
    assert f"kept in {newest}; the same command goes on from there" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "o.h5").exists()
    if whom != 0:
        ran = gone_on(network, root, tmp_path / "o.h5", expected)
        assert f"checkpoint {newest}: going on after step" in ran.stdout


def heeds_signals(process):
    """Return whether a process has its own handler of SIGUSR1."""
    with open(f"/proc/{process.pid}/status") as status:
        caught = next(line.split()[1] for line in status if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (signal.SIGUSR1 - 1) & 1)


def has_mpi(process):
    with open(f"/proc/{process.pid}/maps") as maps:
        return "/libmpi." in maps.read()


@pytest.mark.parametrize(
    ("number", "begun"), [(signal.SIGUSR1, heeds_signals), (signal.SIGTERM, has_mpi)]
)
def test_a_signal_before_training_begins(tmp_path, network, expected, number, begun):
    """It is obeyed after the first step, as any later one."""
    root = tmp_path / "c"
    with started(2, *words(network, root, tmp_path / "o.h5")) as running:
        wait_for(lambda: len(processes(running)) == 2)
        last = processes(running)[-1]
        wait_for(lambda: begun(last), pause_s=0.001)
        last.send_signal(number)
        code, output, errors = outcome(running)
    assert code == 3, (code, output, errors)
    assert f"stopped by {signal.Signals(number).name} after step 2, kept in" in errors
    gone_on(network, root, tmp_path / "o.h5", expected)


def test_a_second_signal_ends_at_once(tmp_path, network):
    """One rank is held up, so that the others cannot agree with it."""
    root = tmp_path / "c"
    with started(2, *words(network, root, tmp_path / "o.h5", epochs=10**6)) as running:
        wait_for_checkpoint(root)
        ranks = processes(running)
        ranks[1].suspend()
        ranks[0].send_signal(signal.SIGTERM)
        time.sleep(1.5)
        assert ranks[0].is_running()
        ranks[0].send_signal(signal.SIGTERM)
        ranks[0].wait(10)
        with contextlib.suppress(psutil.NoSuchProcess):
            ranks[1].resume()
        code, _, errors = outcome(running)
    assert code not in (0, 3)
    assert errors.count("hpc: interrupted (SIGTERM)") == 1, errors


def test_the_same_signal_passed_on_twice_counts_once(tmp_path, network):
    root = tmp_path / "c"
    with started(2, *words(network, root, tmp_path / "o.h5", epochs=10**6)) as running:
        wait_for_checkpoint(root)
        ranks = processes(running)
        for process in ranks:
            process.send_signal(signal.SIGTERM)
        ask(running, signal.SIGTERM, ranks)  # at once: later it would be a second one
        assert outcome(running)[0] == 3


def test_usr1_without_checkpoints_is_ignored(tmp_path, network):
    with started(2, *words(network, None, tmp_path / "o.h5", epochs=3)) as running:
        for line in running.stdout:
            if line.startswith("epoch"):
                break
        running.send_signal(signal.SIGUSR1)
        code, _, errors = outcome(running)
    assert code == 0, errors
    assert errors.count("hpc: SIGUSR1: a run with --checkpoint will stop, others go on") == 1


@pytest.mark.parametrize("deaths", [3, pytest.param(20, marks=soak)])
@pytest.mark.parametrize(
    ("every", "killed"), [("3steps", killed_often), ("1steps", killed_while_writing)]
)
def test_deaths_at_random_moments(tmp_path, network, deaths, every, killed):
    """The run has no end; when it was killed often enough it gets one, soon after."""
    root = tmp_path / "c"
    endless = words(network, root, tmp_path / "o.h5", 10**6, every)
    kept = killed(endless, root, deaths, random.Random(deaths))
    epochs = kept.position["epoch"] + 1
    ran = run_ranks(2, "-m", "hpc", *words(network, root, tmp_path / "o.h5", epochs))
    assert ran.returncode == 0, ran.stderr
    assert f"checkpoint {kept.folder}: going on after step {kept.step}" in ran.stdout
    ran = run_ranks(2, "-m", "hpc", *words(network, None, tmp_path / "w.h5", epochs))
    assert ran.returncode == 0, ran.stderr
    assert same(tmp_path / "o.h5", tmp_path / "w.h5")


def fill_disk(running, root):
    """Let the ranks write no more than a few bytes a file, from when they have begun."""
    wait_for(root.exists)
    for process in processes(running):
        process.rlimit(psutil.RLIMIT_FSIZE, (2000, 2000))


def test_a_disk_that_fills(tmp_path, network, expected):
    """The first run leaves a checkpoint; the second can write none, says so once, and goes on."""
    root = tmp_path / "c"
    with started(2, *words(network, root, tmp_path / "o.h5")) as running:
        wait_for_checkpoint(root)
        running.send_signal(signal.SIGUSR1)
        assert outcome(running)[0] == 3
    every = words(network, root, "", every="5steps")
    del every[every.index("--out") : every.index("--out") + 2]  # the limit is that of all files
    with started(2, *every) as running:
        assert "going on after step" in running.stdout.readline()
        fill_disk(running, root)
        code, _, errors = outcome(running)
    assert code == 0, errors
    assert errors.count("the checkpoint could not be written (rank 0: File too large)") == 1, errors
    assert "the newest is of step" in errors and "the run goes on" in errors
    assert all((folder / "index.h5").exists() for folder in root.glob("checkpoint-*"))
    assert list(root.rglob("*.partial-*")) == []
    gone_on(network, root, tmp_path / "o.h5", expected)


def test_a_stop_that_cannot_be_kept(tmp_path, network):
    root = tmp_path / "c"
    some = words(network, root, tmp_path / "o.h5", epochs=10**6, every="1h")
    with started(2, *some) as running:
        fill_disk(running, root)
        time.sleep(1)
        ask(running, signal.SIGTERM)
        code, _, errors = outcome(running)
    assert code == 1
    assert "the checkpoint could not be written (rank 0: File too large); there is none" in errors


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_small_disk_and_one_that_turns_read_only(tmp_path, network, expected):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        root = disk / "c"
        with started(2, *words(network, root, tmp_path / "o.h5", epochs=10**6)) as running:
            wait_for_checkpoint(root)
            (disk / "filler").write_bytes(bytes(150_000))
            assert running.stderr.readline().startswith("hpc: the checkpoint could not be written")
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            time.sleep(0.3)
            ask(running, signal.SIGTERM)
            code, _, errors = outcome(running)
        assert code == 1
        assert "the newest is of step" in errors
        ran = run_ranks(2, "-m", "hpc", *words(network, root, tmp_path / "o.h5"))
        assert ran.returncode == 2
        assert "cannot be written (Read-only file system)" in ran.stderr
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_bad_options(tmp_path, network):
    (tmp_path / "file").write_text("")
    for extra, says in [
        (["--checkpoint", tmp_path / "c", "--every", "often"], "--every often: expected a time"),
        (["--checkpoint", tmp_path / "c", "--keep", 0], "--keep 0: expected at least 1"),
        (["--every", "5m"], "--every: is for runs with --checkpoint DIR"),
        (["--checkpoint", tmp_path / "file"], "is a file, expected a folder"),
        (["--checkpoint", tmp_path / "no" / "c"], "cannot be made (No such file or directory)"),
    ]:
        ran = run_ranks(2, "-m", "hpc", *words(network, None, tmp_path / "o.h5"), *extra)
        assert ran.returncode == 2, ran.stderr
        assert ran.stderr.count("hpc: error: ") == 1 and says in ran.stderr, ran.stderr
    ran = run_alone("-m", "hpc", "spdnn", "infer", network, DIGITS, "--checkpoint", tmp_path)
    assert ran.returncode == 2
    assert "unrecognized arguments: --checkpoint" in ran.stderr
