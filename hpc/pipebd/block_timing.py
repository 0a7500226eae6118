"""One block on this rank: seconds and bytes at every share of the batch, after warm-up. Local.

Paper: Pipe-BD, section on automatic hybrid distribution: "runs 100 steps of each block with
feasible batch sizes".
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import torch

from hpc.pipebd.memory import peak_bytes, released, resident_bytes
from hpc.pipebd.program import Program
from hpc.pipebd.reducer import Alone, Reducer
from hpc.pipebd.work import BlockWork, Round

WARM_UP = 5
"""Steps before the first that counts."""
ALLOCATION_WORDS = ("out of memory", "can't allocate memory", "failed to allocate")


@dataclass(frozen=True)
class Reduction:
    """A sum over the group in a step.

    Attributes
    ----------
    n : int
        Numbers.
    dtype : torch.dtype
        Of the numbers.
    gradient : bool
        Of weights, not of statistics.
    """

    n: int
    dtype: torch.dtype
    gradient: bool


@dataclass
class CountingReducer:
    """Stands for a group on a single rank: keeps what would be summed, sums nothing.

    With it the student runs the arithmetic of a shared batch (its batch norms differ).

    Attributes
    ----------
    rank, size : int
        Of the group that it stands for.
    seen : list of Reduction
        In the order in which they came.
    gradient : bool
        What comes now is of weights.
    """

    rank: int = 0
    size: int = 2
    seen: list[Reduction] = field(default_factory=list)
    gradient: bool = False

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Note the tensor and return it as it is.

        Parameters
        ----------
        tensor : torch.Tensor
            What a group would sum.

        Returns
        -------
        torch.Tensor
            The same tensor.
        """
        self.seen.append(Reduction(tensor.numel(), tensor.dtype, self.gradient))
        return tensor


@dataclass(frozen=True)
class ShareTimes:
    """What a share of the batch takes on a rank.

    Attributes
    ----------
    teacher_s, student_s : float
        Median seconds of a step.
    memory_bytes : int
        At the peak.
    architecture_s : float or None
        Median seconds of the student's part of an architecture round; None without a search.
    """

    teacher_s: float
    student_s: float
    memory_bytes: int
    architecture_s: float | None = None


@dataclass(frozen=True)
class BlockTimes:
    """A block on one rank.

    Attributes
    ----------
    name : str
        The block's.
    shares : dict of int to ShareTimes or None
        By size; None where memory did not suffice.
    reductions : tuple of Reduction
        Of a training step, in order.
    output_bytes : int
        Of the whole batch's output.
    """

    name: str
    shares: dict[int, ShareTimes | None]
    reductions: tuple[Reduction, ...]
    output_bytes: int


def time_block(
    program: Program, block: int, x: torch.Tensor, shares: Sequence[int], steps: int, search: bool
) -> tuple[BlockTimes, torch.Tensor]:
    """Time a block. Local.

    Parameters
    ----------
    program : Program
        Whose block it is.
    block : int
        From 0.
    x : (batch, ...) tensor
        The block's real input.
    shares : sequence of int
        Sizes, at least one.
    steps : int
        That count, of each size, after `WARM_UP` others.
    search : bool
        Architecture rounds too.

    Returns
    -------
    times : BlockTimes
        What it takes.
    output : (batch, ...) tensor
        Of its teacher.
    """
    found: dict[int, ShareTimes | None] = {}
    if len(x) in shares:
        found[len(x)] = _time_share(program, block, Alone(), x, steps, search)
    for share in sorted(set(shares) - {len(x)}):
        found[share] = _time_share(program, block, CountingReducer(), x[:share], steps, search)
    work = program.work(block, counting := CountingReducer())
    smallest = min(shares)
    _count_reductions(work, counting, x[:smallest])
    output = torch.cat([work.teacher(piece) for piece in x.split(smallest)])
    times = BlockTimes(work.name, found, tuple(counting.seen), output.nbytes)
    return times, output


def _count_reductions(work: BlockWork, counting: CountingReducer, x: torch.Tensor) -> None:
    work.begin(Round(0, 0, 0))
    work.student(x, work.teacher(x))
    counting.gradient = True
    work.reduce()


def _time_share(
    program: Program, block: int, reducer: Reducer, x: torch.Tensor, steps: int, search: bool
) -> ShareTimes | None:
    """Return what a share takes, None if memory does not suffice."""
    try:
        with released(program.device):
            before = resident_bytes(program.device)
            work = program.work(block, reducer)
            memory = peak_bytes(program.device, before, work, x)
            teacher_s, student_s = _median_steps(program.device, work, x, steps)
            architecture_s = None
            if search:
                _, architecture_s = _median_steps(program.device, work, x, steps, True)
            return ShareTimes(teacher_s, student_s, memory, architecture_s)
    except (MemoryError, RuntimeError) as error:
        if not is_allocation_failure(error):
            raise
        return None


def _median_steps(
    device: torch.device, work: BlockWork, x: torch.Tensor, steps: int, search: bool = False
) -> tuple[float, float]:
    """Return the median seconds of the teacher and of the student's part of a round."""
    laps = [
        _lap(device, work, x, Round(number, 0, number, 0.0, search))
        for number in range(WARM_UP + steps)
    ]
    teacher_s, student_s = zip(*laps[WARM_UP:], strict=True)
    return statistics.median(teacher_s), statistics.median(student_s)


def _lap(
    device: torch.device, work: BlockWork, x: torch.Tensor, turn: Round
) -> tuple[float, float]:
    begin = now(device)
    target = work.teacher(x)
    between = now(device)
    work.begin(turn)
    work.student(x, target)
    work.update()
    return between - begin, now(device) - between


def now(device: torch.device) -> float:
    """Return the time, when the device has done all that it was given.

    Parameters
    ----------
    device : torch.device
        A GPU is waited for.

    Returns
    -------
    float
        Seconds, of `perf_counter`.
    """
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return perf_counter()


def is_allocation_failure(error: BaseException) -> bool:
    """Return whether an exception says that memory did not suffice.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Returns
    -------
    bool
        Of torch's RuntimeErrors the words decide.
    """
    if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(w in str(error) for w in ALLOCATION_WORDS)
