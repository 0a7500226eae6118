"""A real SLURM in a temporary folder: munged, slurmctld and virtual nodes on this machine."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
NODES, CPUS = 3, 4
START_S, STOP_S = 20, 5
SBIN = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def missing():
    """Return which of the programs are not installed."""
    return [name for name in DAEMONS if shutil.which(name, path=SBIN) is None]


@contextlib.contextmanager
def cluster(folder):
    """Yield the environment in which SLURM's commands speak to a cluster of NODES nodes.

    folder : a new one, with a short path: sockets lie in it.
    """
    folder.chmod(0o711)
    stopping = []
    try:
        _munged(folder, stopping)
        conf = _configuration(folder)
        _daemon(folder / "slurmctld.pid", stopping, "slurmctld", "-i", "-f", conf)
        for node in range(1, NODES + 1):
            name = f"node{node}"
            _daemon(folder / f"{name}.pid", stopping, "slurmd", "-f", conf, "-N", name)
        environment = os.environ | {"SLURM_CONF": str(conf)}
        _wait(lambda: _idle(environment), f"the nodes are not up; see {folder}/*.log")
        yield environment
    finally:
        _stop(stopping)


def _munged(folder, stopping):
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    _daemon(
        folder / "munged.pid", stopping, "munged", "--force", f"--key-file={key}",
        f"--socket={folder / 'munge.socket'}", f"--pid-file={folder / 'munged.pid'}",
        f"--log-file={folder / 'munged.log'}", f"--seed-file={folder / 'munge.seed'}",
    )  # fmt: skip


def _daemon(pid_file, stopping, *words):
    stopping.append(pid_file)
    program = shutil.which(words[0], path=SBIN)
    ran = subprocess.run(
        [program, *map(str, words[1:])], capture_output=True, text=True, timeout=START_S
    )
    assert ran.returncode == 0, ran.stderr
    _wait(lambda: pid_file.exists() and pid_file.read_text().strip(), f"{words[0]} did not start")


def _stop(pid_files):
    """End the daemons: all are asked together, and killed where they do not hear."""
    pids = []
    for pid_file in reversed(pid_files):
        with contextlib.suppress(OSError, ValueError):
            pids.append(int(pid_file.read_text()))
            os.kill(pids[-1], signal.SIGTERM)
    deadline = time.monotonic() + STOP_S
    while any(map(_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in filter(_alive, pids):
        os.kill(pid, signal.SIGKILL)


def _alive(pid):
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


def _wait(condition, message):
    deadline = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < deadline, message
        time.sleep(0.02)


def _idle(environment):
    asked = subprocess.run(
        ["sinfo", "-h", "-N", "-p", "main", "-o", "%T"],
        env=environment, capture_output=True, text=True, timeout=START_S,
    )  # fmt: skip
    return asked.stdout.split() == ["idle"] * NODES


def _free_ports(number):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _configuration(folder):
    """Write slurm.conf and gres.conf; return the former's path."""
    controller, *ports = _free_ports(NODES + 1)
    user = getpass.getuser()
    for name in ("state", "spool", "tmp"):
        (folder / name).mkdir()
    for node in range(1, NODES + 1):
        (folder / "tmp" / f"node{node}").mkdir()
    nodes = "\n".join(
        f"NodeName=node{index} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} "
        "RealMemory=4000 Gres=gpu:2 State=UNKNOWN"
        for index, port in enumerate(ports, 1)
    )
    (folder / "gres.conf").write_text("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n")
    conf = folder / "slurm.conf"
    conf.write_text(f"""\
ClusterName=test
SlurmctldHost=localhost
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
GresTypes=gpu
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobRequeue=1
KillWait=10
MinJobAge=300
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
TmpFS={folder}/tmp/%n
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=other Nodes=ALL MaxTime=INFINITE State=UP
""")
    return conf


def tail(folder: Path, lines=15):
    """Return the ends of the daemons' logs, for a failing test's message."""
    return "\n".join(
        f"== {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
        for log in sorted(folder.glob("*.log"))
    )
