"""What is wrong with where ranks run, and what to set. Pure: from facts to sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hpc.comm.crowding import remedy
from hpc.comm.foreign_launcher import advice, alone
from hpc.doctor.facts import Facts, LinkTime

SHM_BYTES = 8 << 20
"""What MPI takes of /dev/shm for each rank, and a little more (measured: 1 to 5 MiB)."""
SLOW_S = 5e-3
"""A small message that takes longer was not held up by any network, but by a missing core."""
Everybody = Sequence[Facts]


@dataclass(frozen=True)
class Finding:
    """wrong : what was found, with the ranks. remedy : what to set or to do."""

    wrong: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.wrong}: {self.remedy}"


def findings(everybody: Everybody, links: Sequence[LinkTime] = ()) -> list[Finding]:
    """Return all that is wrong.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.
    links : sequence of LinkTime
        What messages take, where they were timed.

    Returns
    -------
    list of Finding
        In the order of CHECKS, then of `links`; empty where nothing is wrong.
    """
    found: list[Finding] = []
    for check in CHECKS:
        found += check(everybody)
    return found + list(slow_links(everybody, links))


def ranks_text(ranks: Iterable[int]) -> str:
    """Return ranks for people.

    Parameters
    ----------
    ranks : iterable of int
        In any order, none twice.

    Returns
    -------
    str
        'rank 3', 'ranks 0-2, 5'.
    """
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and spans[-1][1] == rank - 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    texts = [str(a) if a == b else f"{a}-{b}" for a, b in spans]
    several = sum(last - first + 1 for first, last in spans) > 1
    return f"rank{'s' * several} {', '.join(texts)}"


def foreign_launcher(everybody: Everybody) -> Iterator[Finding]:
    """The mpirun of another MPI than mpi4py's.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.

    Yields
    ------
    Finding
        One at most, by rank 0.
    """
    one = everybody[0]
    if one.launch is not None and alone(one.launch, one.world):
        wrong, remedy = advice(one.launch, one.mpi.library, None).split(": ", 1)
        yield Finding(wrong, remedy)


def different_versions(everybody: Everybody) -> Iterator[Finding]:
    """Ranks that do not run the same program with the same libraries.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.

    Yields
    ------
    Finding
        One for each name whose versions differ.
    """
    told = [one.versions | {"MPI": one.mpi.library} for one in everybody]
    for name in sorted(set().union(*told)):
        who: dict[str, list[int]] = defaultdict(list)
        for one, versions in zip(everybody, told, strict=True):
            who[versions.get(name, "none")].append(one.rank)
        if len(who) > 1:
            each = "; ".join(f"{ranks_text(ranks)} {value}" for value, ranks in who.items())
            yield Finding(
                f"{name} differs: {each}",
                "let all ranks use one environment, on a file system that all hosts share",
            )


def more_ranks_than_cores(everybody: Everybody) -> Iterator[Finding]:
    """Ranks that wait would keep the cores from those that compute.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.

    Yields
    ------
    Finding
        One for each host of which that is known.
    """
    for host, ours in _hosts(everybody).items():
        cores = _cores(ours)
        if len(ours) > len(cores) and any(one.mpi.yields is False for one in ours):
            yield Finding(
                f"{host}: {len(ours)} ranks on {_of(cores, ours)}, and those that wait do not "
                "let others run",
                remedy(ours[0].mpi.vendor),
            )


def bound_together(everybody: Everybody) -> Iterator[Finding]:
    """Ranks that share a core, or few, of more that the host has.

    Several cores for all ranks of a host are no binding but what the job was given.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.

    Yields
    ------
    Finding
        One for each set of cores that too many ranks are bound to.
    """
    for host, ours in _hosts(everybody).items():
        everything, total = _cores(ours), ours[0].host_cores
        for cores in sorted({one.cores for one in ours}):
            sharing = [one.rank for one in ours if set(one.cores) <= set(cores)]
            bound = cores != everything or len(cores) == 1
            if bound and len(cores) < min(len(sharing), total):
                yield Finding(
                    f"{host}: {ranks_text(sharing)} may use only {_named(cores)} of {total}",
                    "give each rank a core of its own: MPICH's mpirun -bind-to core, Open MPI's "
                    "--map-by core --bind-to core, srun --cpus-per-task, or a larger allocation",
                )


def too_many_threads(everybody: Everybody) -> Iterator[Finding]:
    """Threads of all ranks together against the cores that they may use.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.

    Yields
    ------
    Finding
        Two at most for each host: no number is set; the numbers are too large.
    """
    for host, ours in _hosts(everybody).items():
        cores, unset = _cores(ours), [o.rank for o in ours if "OMP_NUM_THREADS" not in o.threads]
        each = max(1, len(cores) // len(ours))
        if unset and len(ours) > 1:
            yield Finding(
                f"{host}: OMP_NUM_THREADS is not set for {ranks_text(unset)}, and libraries then "
                "start as many threads as there are cores on every rank",
                f"set OMP_NUM_THREADS={each}",
            )
        most = [max(map(_number, one.threads.values()), default=1) for one in ours]
        if sum(most) > max(len(cores), len(ours)):
            names = sorted({n for o in ours for n, v in o.threads.items() if _number(v) > each})
            yield Finding(
                f"{host}: {sum(most)} threads of {len(ours)} rank{'s' * (len(ours) > 1)} on "
                f"{_of(cores, ours)}",
                f"set {', '.join(names)} to {each}, or start fewer ranks",
            )


def slow_kernel(everybody: Everybody) -> Iterator[Finding]:
    """The compiled multiply is missing.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.

    Yields
    ------
    Finding
        One at most, for all ranks without numba.
    """
    ranks = [one.rank for one in everybody if one.kernels.get("numba")]
    if ranks:
        why = next(one.kernels["numba"] for one in everybody if one.kernels.get("numba"))
        short = "is not there" if "No module" in why else f"cannot be used ({why.strip()})"
        yield Finding(
            f"{ranks_text(ranks)}: numba {short}, and scipy multiplies several times slower",
            "pip install 'relaycut[fast]'",
        )


def shared_gpus(everybody: Everybody) -> Iterator[Finding]:
    """Ranks that would take turns on a GPU, and a torch that sees none.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.

    Yields
    ------
    Finding
        One for each GPU of several ranks, and one for all ranks of such a torch.
    """
    who: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one in everybody:
        if one.gpu is not None:
            who[one.host, one.gpu.identity].append(one.rank)
    for (host, _), ranks in who.items():
        if len(ranks) > 1:
            yield Finding(
                f"{host}: {ranks_text(ranks)} share a GPU and take turns on it",
                "start one rank for each GPU, or --device cpu for the others",
            )
    blind = [one.rank for one in everybody if one.host_gpus and one.cuda_built is False]
    if blind:
        yield Finding(
            f"{ranks_text(blind)}: the host has GPUs, but this torch is built without CUDA",
            "install a build of torch for CUDA (pytorch.org names the index)",
        )


def small_shared_memory(everybody: Everybody) -> Iterator[Finding]:
    """/dev/shm holds what the ranks of a host send each other.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.

    Yields
    ------
    Finding
        One for each host with less than SHM_BYTES a rank.
    """
    for host, ours in _hosts(everybody).items():
        free = [one.shm_free for one in ours if one.shm_free is not None]
        if free and min(free) < SHM_BYTES * len(ours):
            yield Finding(
                f"{host}: {min(free) >> 20} MiB free in /dev/shm for {len(ours)} "
                f"rank{'s' * (len(ours) > 1)}, which may need {SHM_BYTES * len(ours) >> 20}",
                "remove what dead jobs left there (mpich_shm_*, sm_segment*), or give the "
                "container more (docker run --shm-size=1g)",
            )


def unwritable_folders(everybody: Everybody) -> Iterator[Finding]:
    """The home folder and that of compiled code.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.

    Yields
    ------
    Finding
        One for each folder that some rank cannot write to.
    """
    who: dict[str, list[int]] = defaultdict(list)
    for one in everybody:
        for folder, writable in one.folders.items():
            if not writable:
                who[folder].append(one.rank)
    for folder, ranks in who.items():
        yield Finding(
            f"{ranks_text(ranks)}: {folder} cannot be written",
            "set NUMBA_CACHE_DIR to a folder that can, or kernels are compiled anew in /tmp",
        )


def slow_links(everybody: Everybody, links: Sequence[LinkTime]) -> Iterator[Finding]:
    """Messages that wait for something else than the network.

    Parameters
    ----------
    everybody : sequence of Facts
        Of every rank, in order.
    links : sequence of LinkTime
        What messages take.

    Yields
    ------
    Finding
        One for each pair whose small messages take more than SLOW_S seconds.
    """
    for link in links:
        hosts = [everybody[rank].host for rank in link.ranks]
        if link.latency_s > SLOW_S:
            yield Finding(
                f"a message between {ranks_text(link.ranks)} takes {1e3 * link.latency_s:.3g} ms",
                "another program keeps their cores busy, or there are more ranks than cores"
                if hosts[0] == hosts[1]
                else f"see which network MPI uses between {hosts[0]} and {hosts[1]} "
                "(UCX_NET_DEVICES, FI_PROVIDER, OMPI_MCA_btl_tcp_if_include)",
            )


CHECKS: tuple[Callable[[Everybody], Iterator[Finding]], ...] = (
    foreign_launcher,
    different_versions,
    more_ranks_than_cores,
    bound_together,
    too_many_threads,
    slow_kernel,
    shared_gpus,
    small_shared_memory,
    unwritable_folders,
)


def _hosts(everybody: Everybody) -> dict[str, list[Facts]]:
    hosts: dict[str, list[Facts]] = defaultdict(list)
    for one in everybody:
        hosts[one.host].append(one)
    return hosts


def _cores(ours: Everybody) -> tuple[int, ...]:
    """Return the cores that any of some ranks of a host may use."""
    return tuple(sorted(set().union(*(one.cores for one in ours))))


def _of(cores: Sequence[int], ours: Everybody) -> str:
    total = ours[0].host_cores
    return f"{len(cores)} core{'s' * (len(cores) > 1)}" + f" of {total}" * (len(cores) < total)


def _named(cores: Sequence[int]) -> str:
    return ranks_text(cores).replace("rank", "core")


def _number(text: str) -> int:
    """Return a number of threads: OMP_NUM_THREADS may be a list, for nested regions."""
    first = text.split(",")[0].strip()
    return int(first) if first.isdigit() else 1
