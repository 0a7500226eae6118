"""A matrix with the index type that others expect: 32 bits where they do."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def narrow_index(weight: sparse.csr_array) -> sparse.csr_array:
    """Return the same matrix with row pointers and columns of one type.

    Parameters
    ----------
    weight : any dtype.

    Returns
    -------
    It, with int32 indices, or int64 from 2³¹ weights on; the weights are not copied.
    """
    index = np.int32 if weight.nnz < 1 << 31 else np.int64
    parts = (weight.data, weight.indices.astype(index), weight.indptr.astype(index))
    return sparse.csr_array(parts, shape=weight.shape)
