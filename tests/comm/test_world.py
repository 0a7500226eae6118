"""Errors agreed on by all ranks."""

import pytest

from hpc.comm.world import AgreedError, owned, together
from hpc.io.errors import InputError

pytestmark = pytest.mark.mpi


def test_what_one_rank_finds_all_raise(comm):
    for bad in range(comm.size):
        with pytest.raises(AgreedError, match=f"^found by {bad}$"), together(comm):
            if comm.rank == bad:
                raise InputError(f"found by {bad}")


def test_the_lowest_rank_speaks(comm):
    with pytest.raises(AgreedError, match=r"^rank 0$"), together(comm):
        raise InputError(f"rank {comm.rank}")


def test_nothing_wrong_is_nothing_raised(comm):
    with together(comm):
        value = comm.rank
    assert value == comm.rank


def test_an_error_that_is_no_input_error_passes_through(comm):
    with pytest.raises(ZeroDivisionError), together(comm):
        raise ZeroDivisionError


def test_a_communicator_of_our_own(comm):
    with owned(comm) as mine:
        assert (mine.rank, mine.size) == (comm.rank, comm.size)
        assert mine != comm
