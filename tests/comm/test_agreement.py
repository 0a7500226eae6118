"""What ranks tell each other some turns later."""

import pytest

from hpc.comm.agreement import Agreement
from hpc.comm.waiting import Yielding


@pytest.mark.mpi
@pytest.mark.parametrize("delay", [1, 3])
def test_the_largest_of_so_many_turns_ago(comm, delay):
    agreement = Agreement(comm, 2, delay, Yielding().until)
    for turn in range(10):
        found = agreement.turn((turn * 10 + comm.rank, -comm.rank))
        if turn < delay:
            assert found is None
        else:
            assert found.tolist() == [(turn - delay) * 10 + comm.size - 1, 0]
    agreement.free()


@pytest.mark.mpi
def test_ranks_may_be_as_far_apart_as_the_delay(comm):
    """The first rank waits for nobody in its first turns: no other has begun."""
    agreement = Agreement(comm, 1, 4, Yielding().until)
    if comm.rank == 0:
        assert [agreement.turn([5]) for _ in range(4)] == [None] * 4
    comm.Barrier()
    if comm.rank:
        assert [agreement.turn([6]) for _ in range(4)] == [None] * 4
    assert agreement.turn([7]) == [6 if comm.size > 1 else 5]
    agreement.free()
