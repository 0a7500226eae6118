"""Which neurons of two levels share an owner."""

import numpy as np
from hypothesis import given
from scipy import sparse

from partition import align
from partition.align import partners
from partition.window import NONE
from tests.cuts import cut_layers


def test_numbers_align_layers_with_a_diagonal():
    pattern = sparse.csr_array(np.eye(5) + np.eye(5, k=1))
    owners = np.zeros(5, np.int32)
    assert partners(pattern, owners, owners).tolist() == [0, 1, 2, 3, 4]


def test_a_layer_that_scatters_everything_promises_nothing():
    pattern = sparse.csr_array(np.ones((4, 6)))
    below = np.array([0, 0, 0, 1, 1, 1], np.int32)
    assert partners(pattern, np.array([0, 0, 1, 1], np.int32), below) is None


def test_rectangular_layers_are_aligned_by_who_needs_whom_in_a_part():
    """Row i needs inputs 2i and 2i+1 (a pooling), the first pass keeps them together."""
    pattern = sparse.csr_array(np.repeat(np.eye(4), 2, axis=1))
    above = np.array([1, 1, 0, 0], np.int32)
    partner = partners(pattern, above, np.repeat(above, 2))
    assert (np.arange(4) == partner // 2).all()


@given(cut_layers())
def test_partners_are_of_the_same_part_and_as_many_as_there_can_be(case):
    pattern, below, above, parts = case
    partner = align._within_parts(pattern, above, below)
    paired = np.flatnonzero(partner != NONE)
    assert len(set(partner[paired].tolist())) == len(paired)
    assert (above[paired] == below[partner[paired]]).all()
    for part in range(parts):
        fewer = min((above == part).sum(), (below == part).sum())
        assert (above[paired] == part).sum() == fewer
