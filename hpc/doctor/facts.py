"""What a rank knows about where it runs: plain data, so that findings can be tried without."""

from __future__ import annotations

from dataclasses import dataclass, field

from hpc.comm.abilities import Abilities
from hpc.comm.launcher import Launch

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True)
class Gpu:
    """A rank's GPU. identity : unique on its host."""

    name: str
    identity: str


@dataclass(frozen=True)
class Facts:
    """Of one rank.

    world : ranks that MPI sees. launch : what the launcher says, if anything.
    cores : numbers of those that the rank may use, of host_cores.
    threads : of THREAD_VARIABLES those that are set.
    versions : of the program, of Python and of what it uses.
    kernels : name to why it cannot be used, '' if it can.
    gpu : that the rank would take. host_gpus : that the host's driver has.
    cuda_built : whether this torch is built for GPUs; None without torch.
    shm_free : bytes free in /dev/shm, None where there is none.
    folders : that are written to, and whether they can be; the home folder, that of compiled code.
    """

    rank: int
    host: str
    world: int
    launch: Launch | None
    cores: tuple[int, ...]
    host_cores: int
    threads: dict[str, str]
    mpi: Abilities
    versions: dict[str, str]
    kernels: dict[str, str]
    gpu: Gpu | None = None
    host_gpus: int = 0
    cuda_built: bool | None = None
    shm_free: int | None = None
    folders: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class LinkTime:
    """What messages between two ranks take. latency_s : one way. bandwidth : bytes/s."""

    ranks: tuple[int, int]
    latency_s: float
    bandwidth: float
