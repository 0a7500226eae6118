"""Measures a workload on every rank: the profile that the schedule is searched in. Collective.

Paper: Pipe-BD, section on automatic hybrid distribution. All ranks measure at the same time, as
they will compete for memory and cores in the run as well.
"""

from __future__ import annotations

import contextlib
import os
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence

import torch
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.comm.world import together
from hpc.io.errors import InputError
from hpc.pipebd.block_timing import BlockTimes, ShareTimes, now, time_block
from hpc.pipebd.link_timing import time_reductions, time_relays
from hpc.pipebd.memory import limit_bytes
from hpc.pipebd.profile_data import BlockProfile, Profile, RankProfile, Shares
from hpc.pipebd.program import Program
from hpc.pipebd.shares import batch_shares
from hpc.pipebd.work import Round

STEPS = 100
"""Steps that count of every measurement, as in the paper."""
LOADS = 10
"""Batches loaded at most to measure loading."""
DIGITS = 7
"""Decimals of seconds in a profile."""
ALIKE = 0.05
"""Ranks whose speed differs by less are taken for equal: that much is noise."""


def measure(
    comm: MPI.Comm,
    program: Program,
    transport: Transport,
    rounds: Sequence[Round],
    *,
    steps: int = STEPS,
    architecture_every: int | None = None,
    workload: str = "",
    advance: Callable[[int, str], None] = lambda steps, note: None,
) -> Profile:
    """Return the profile of a program on these ranks, the same on all. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run.
    program : Program
        Its blocks and, for loading, its feed are measured.
    transport : Transport
        Of this rank, by which reductions and relays are measured.
    rounds : sequence of Round
        The run's first, at least one; their images are loaded.
    steps : int
        That count, of each measurement, at least 1.
    architecture_every : int or None
        Training steps per architecture round; None if it has none.
    workload : str
        Its name.
    advance : callable
        Told of each block that is done, by name.

    Returns
    -------
    Profile
        With an entry for each rank.

    Raises
    ------
    AgreedError : on all ranks: no steps.
    """
    with together(comm):
        if steps < 1:
            raise InputError(f"--steps {steps}; expected at least 1")
    x, load_s = _first_batch(program, rounds[: 1 + min(steps, LOADS)])
    search = architecture_every is not None
    blocks, outputs = _time_blocks(comm, program, x, steps, search, advance)
    reductions = [times.reductions for times in blocks]
    allreduce_s = time_reductions(comm, transport, reductions, program.device, steps)
    relay_s = time_relays(comm, transport, outputs[:-1], program.device, steps)
    everybody: list[list[BlockTimes]] = comm.allgather(blocks)
    speeds = relative_speeds(everybody)
    profile = Profile(
        batch=program.batch,
        ranks=_ranks(comm, program.device, speeds),
        blocks=tuple(combined(ranks, speeds) for ranks in zip(*everybody, strict=True)),
        allreduce_s={size: _rounded(times) for size, times in allreduce_s.items()},
        relay_s=(0.0, *_rounded(relay_s)),
        load_s=round(comm.allreduce(load_s, op=MPI.MAX), DIGITS),
        architecture_every=architecture_every,
        workload=workload,
        dtype=str(outputs[0][1]).removeprefix("torch."),
        machine=_machine(comm, program.device, transport.name),
        steps=steps,
        note=_memory_note(program.device),
    )
    result: Profile = comm.bcast(profile)
    return result


def _time_blocks(
    comm: MPI.Comm,
    program: Program,
    x: torch.Tensor,
    steps: int,
    search: bool,
    advance: Callable[[int, str], None],
) -> tuple[list[BlockTimes], list[tuple[tuple[int, ...], torch.dtype]]]:
    """Return the times of all blocks, and shape and dtype of their outputs."""
    blocks, outputs = [], []
    shares = shares_of(program.batch, comm.size)
    for block in range(program.n_blocks):
        comm.Barrier()
        times, x = time_block(program, block, x, shares, steps, search)
        blocks.append(times)
        outputs.append((tuple(x.shape), x.dtype))
        advance(1, times.name)
    return blocks, outputs


def _rounded(seconds: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(one, DIGITS) for one in seconds)


def shares_of(batch: int, n_ranks: int) -> list[int]:
    """Return the sizes of all shares of a batch that occur for groups of 1..n_ranks ranks.

    Parameters
    ----------
    batch : int
        Samples of a step.
    n_ranks : int
        N.

    Returns
    -------
    list of int
        Ascending; the last is the whole batch.
    """
    sizes = range(1, min(n_ranks, batch) + 1)
    return sorted({stop - start for d in sizes for start, stop in batch_shares(batch, d)})


def _first_batch(program: Program, rounds: Sequence[Round]) -> tuple[torch.Tensor, float]:
    """Return the first whole batch and the median seconds of loading one, nothing else going on."""
    began = now(program.device)
    times, first = [], torch.empty(0)
    for x in program.feed(range(program.batch)).inputs(rounds):
        times.append(now(program.device) - began)
        if len(times) == 1:
            first = x.clone()
        began = now(program.device)
    return first, statistics.median(times[1:] or times)


def relative_speeds(everybody: Sequence[Sequence[BlockTimes]]) -> list[float]:
    """Return each rank's speed over the fastest's; those within ALIKE of it are 1. Pure.

    By all that every rank has measured: seconds of teachers and students at all shares.

    Parameters
    ----------
    everybody : sequence of sequence of BlockTimes
        By rank and block.

    Returns
    -------
    list of float
        By rank, in (0, 1].
    """
    common = [
        (block, share)
        for block, times in enumerate(everybody[0])
        for share in times.shares
        if all(blocks[block].shares[share] is not None for blocks in everybody)
    ]
    totals = [sum(_seconds(blocks[b].shares[s]) for b, s in common) for blocks in everybody]
    fastest = min(totals)
    speeds = [fastest / total if total else 1.0 for total in totals]
    return [1.0 if speed > 1 - ALIKE else round(speed, 3) for speed in speeds]


def _seconds(times: ShareTimes | None) -> float:
    return times.teacher_s + times.student_s if times else 0.0


def combined(ranks: Sequence[BlockTimes], speeds: Sequence[float]) -> BlockProfile:
    """Return a block's profile. Pure.

    Seconds are the median, at speed 1, over the ranks that a share fits; bytes the largest.

    Parameters
    ----------
    ranks : sequence of BlockTimes
        What the block takes on each.
    speeds : sequence of float
        By rank, see `relative_speeds`.

    Returns
    -------
    BlockProfile
        A share is None where it fits no rank.
    """
    first = ranks[0]
    plain = [1] * len(ranks)
    architecture = _merged(ranks, speeds, lambda times: times.architecture_s)
    return BlockProfile(
        name=first.name,
        teacher_s=_merged(ranks, speeds, lambda times: times.teacher_s),
        student_s=_merged(ranks, speeds, lambda times: times.student_s),
        memory_bytes=_merged(ranks, plain, lambda times: times.memory_bytes, max),
        gradient_bytes=sum(r.n * r.dtype.itemsize for r in first.reductions if r.gradient),
        output_bytes=first.output_bytes,
        architecture_s=architecture if any(architecture.values()) else None,
    )


def _merged(
    ranks: Sequence[BlockTimes],
    weights: Sequence[float],
    of: Callable[[ShareTimes], float | None],
    merge: Callable[[Iterable[float]], float] = statistics.median,
) -> Shares:
    """Return by share what `merge` makes of the ranks' values times their weights."""
    found: dict[int, float | None] = {}
    for share in ranks[0].shares:
        pairs = zip((times.shares[share] for times in ranks), weights, strict=True)
        seen = [(of(times), weight) for times, weight in pairs if times is not None]
        known = [value * weight for value, weight in seen if value is not None]
        found[share] = round(merge(known), DIGITS) if known else None
    return found


def _ranks(
    comm: MPI.Comm, device: torch.device, speeds: Sequence[float]
) -> tuple[RankProfile, ...]:
    host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    sharing = host.allgather(device.index).count(device.index)
    host.Free()
    limits = comm.allgather(limit_bytes(device, sharing))
    return tuple(RankProfile(*pair) for pair in zip(speeds, limits, strict=True))


def _machine(comm: MPI.Comm, device: torch.device, transport: str) -> dict[str, object]:
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {
        "host": platform.node(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads_a_rank": torch.get_num_threads(),
        "device": gpu or "cpu",
        "ranks": comm.size,
        "transport": transport,
        "torch": torch.__version__,
        "mpi": MPI.Get_library_version().split("\n")[0].strip("\x00 "),
    }


def _processor() -> str:
    """Return the processor's name, as far as the system tells."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory_note(device: torch.device) -> str:
    if device.type == "cuda":
        return "memory_bytes: the allocator's peak in a step"
    return (
        "memory_bytes: weights, gradients, optimizer, input, teacher's output and what the "
        "student saves for its backward pass, counted; temporaries of single layers left out"
    )
