"""Replicas: who is with whom, errors on all ranks or none; planned sums."""

import pytest

from hpc.comm.replicas import group_size, replica_groups
from hpc.comm.world import AgreedError, together
from hpc.io.errors import InputError


@pytest.mark.parametrize(("ranks", "replicas", "size"), [(6, 3, 2), (6, 1, 6), (4, 4, 1)])
def test_group_size(ranks, replicas, size):
    assert group_size(ranks, replicas) == size


@pytest.mark.parametrize(
    ("ranks", "replicas", "message"),
    [
        (4, 0, "--replicas 0: expected at least 1"),
        (4, -2, "--replicas -2: expected at least 1"),
        (4, 3, "4 ranks cannot be split into 3 equal groups; expected a divisor of 4"),
        (2, 4, "2 ranks cannot be split into 4 equal groups"),
    ],
)
def test_groups_that_cannot_be(ranks, replicas, message):
    with pytest.raises(InputError, match=message):
        group_size(ranks, replicas)


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


@pytest.mark.mpi
def test_groups_are_consecutive_and_peers_have_the_same_number(comm):
    for count in divisors(comm.size):
        with replica_groups(comm, count) as ranks:
            size = comm.size // count
            assert (ranks.count, ranks.group.size) == (count, size)
            assert ranks.group.allgather(comm.rank) == list(
                range(ranks.number * size, (ranks.number + 1) * size)
            )
            assert ranks.peers.allgather(comm.rank) == list(
                range(ranks.group.rank, comm.size, size)
            )
            shares = ranks.peers.allgather(ranks.share(7))
            assert [start for start, _ in shares] == [0, *(stop for _, stop in shares[:-1])]
            assert shares[-1][1] == 7


@pytest.mark.mpi
def test_too_many_replicas_are_refused_by_all(comm):
    with pytest.raises(AgreedError, match="--replicas"), replica_groups(comm, comm.size + 1):
        pass


@pytest.mark.mpi
def test_an_error_of_one_group_is_raised_by_all(comm):
    """The group itself agrees first; the others pass their block and hear of it after."""
    with replica_groups(comm, comm.size) as ranks:
        with pytest.raises(AgreedError, match="broken in replica"), ranks.together():
            with together(ranks.group):
                if ranks.number == ranks.count - 1:
                    raise InputError("broken in replica")
            ranks.group.Barrier()
        with ranks.together():
            ranks.group.Barrier()
