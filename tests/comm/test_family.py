"""A communicator and what is made of it."""

from __future__ import annotations

import pytest
from mpi4py import MPI

from hpc.comm.family import Family
from hpc.comm.world import owned

pytestmark = pytest.mark.mpi


def members(family):
    return list(family._members)


def test_what_is_made_of_it_belongs_to_it(comm):
    family = Family.of(comm)
    copy = family.Dup()
    half = copy.Split(comm.rank % 2, comm.rank)
    host = half.Split_type(MPI.COMM_TYPE_SHARED)
    assert members(family) == [family, copy, half, host]
    assert members(host) == members(family)
    assert copy.allreduce(1) == comm.size
    assert half.size == (comm.size + 1 - comm.rank % 2) // 2
    for made in (half, host, copy):
        made.Free()
    assert members(family) == [family]


def test_ranks_that_are_left_out_have_nothing(comm):
    family = Family.of(comm)
    some = family.Split(MPI.UNDEFINED if comm.rank == 0 else 0)
    assert (some == MPI.COMM_NULL) == (comm.rank == 0)
    assert len(members(family)) == 1 + (comm.rank > 0)
    if comm.rank:
        some.Free()


def test_what_is_owned_is_freed_and_forgotten(comm):
    family = Family.of(comm)
    with owned(family) as mine:
        assert members(family) == [family, mine]
    assert members(family) == [family]
