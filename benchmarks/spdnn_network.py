"""Two hosts apart: what waves hide of a network's latency and rate.

python benchmarks/spdnn_network.py --tools FOLDER [--neurons 16384] [--batch 128]

FOLDER holds netup.sh, nsexec.sh and delaynet.c, which make two hosts on one machine as network
namespaces (needs root). Forward passes on one rank a host, every column computed, with one wave
and with several: no delay, then a delay, then limited rates. `kernels` is the compute alone,
`messages` the transfer alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from running import MPIRUN, ROOT, keep, machine
from spdnn_single import prepared

from hpc.report.figures import table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--neurons", type=int, default=16384)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--delay-us", type=int, default=1000)
    parser.add_argument("--rate-mbit", type=int, nargs="+", default=[400, 2000])
    parser.add_argument("--waves", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    network, plan = prepared(args, args.neurons)
    switch = args.work / "delaynet"
    subprocess.run(["gcc", "-O2", "-o", switch, args.tools / "delaynet.c"], check=True)
    settings = {"no delay": (0, 0), f"{args.delay_us} us": (args.delay_us, 0)}
    settings |= {f"{rate} Mbit/s": (0, rate) for rate in args.rate_mbit}
    found: dict[str, Any] = {}
    with hosts(args.tools):
        for name, (delay, rate) in settings.items():
            with delayed(switch, delay, rate):
                for waves in args.waves:
                    found[f"{name}, {waves}"] = passes(args, network, plan, waves)
    base = found[f"no delay, {args.waves[0]}"]
    rows = [
        [name, f"{1e3 * got['forward_s']:.2f}", f"{1e3 * got['kernels_s']:.2f}",
         f"{1e3 * got['messages_s']:.2f}", f"{got['forward_s'] / base['forward_s']:.2f}",
         f"{got['forward_s'] / max(got['kernels_s'], got['messages_s']):.2f}"]
        for name, got in found.items()
    ]  # fmt: skip
    print(f"N = {args.neurons}, L = {args.layers}, batch {args.batch}, two hosts; {machine()}")
    head = ["network, waves", "forward ms", "kernels ms", "messages ms", "of no delay, one wave",
            "of the larger"]  # fmt: skip
    print(table(head, rows))
    keep("spdnn_network", {"settings": {k: str(v) for k, v in vars(args).items()}, "runs": found})


@contextmanager
def hosts(tools: Path) -> Iterator[None]:
    subprocess.run(["bash", tools / "netup.sh", "up", "2"], check=True)
    try:
        yield
    finally:
        subprocess.run(["bash", tools / "netup.sh", "down", "2"], check=False)


@contextmanager
def delayed(switch: Path, delay_us: int, rate_mbit: int) -> Iterator[None]:
    words = [str(switch), "2", str(delay_us), str(rate_mbit)]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    running.stdout.readline()  # "ready"
    try:
        yield
    finally:
        running.terminate()
        running.wait()


def passes(args: argparse.Namespace, network: Path, plan: Path, waves: int) -> dict[str, Any]:
    out = args.work / "network.json"
    command = [
        "ip", "netns", "exec", "h1", MPIRUN, "-localhost", "10.77.0.1", "-launcher", "ssh",
        "-launcher-exec", args.tools / "nsexec.sh", "-hosts", "10.77.0.1,10.77.0.2",
        "-n", 2, sys.executable, "benchmarks/on_ranks.py", network, "--plan", plan,
        "--batch", args.batch, "--waves", waves, "--repeats", args.repeats,
        "--only", "forward", "kernels", "messages", "--json", out,
    ]  # fmt: skip
    env = os.environ | {
        "OMP_NUM_THREADS": "1", "UCX_NET_DEVICES": "tun0", "UCX_TLS": "tcp,self",
        "MPIR_CVAR_CH4_OFI_ENABLE_TAGGED": "1",
    }  # fmt: skip
    ran = subprocess.run(
        list(map(str, command)), cwd=ROOT, env=env, capture_output=True, text=True, timeout=300
    )
    if ran.returncode:
        raise SystemExit(ran.stdout + ran.stderr)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


if __name__ == "__main__":
    main()
