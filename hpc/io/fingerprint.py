"""The fingerprint of a network: BLAKE2b of sizes, row lengths and columns. Not of the weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class Fingerprint:
    """Taken row block by row block; how the rows are cut into blocks plays no part."""

    def __init__(self) -> None:
        self._counts = hashlib.blake2b(digest_size=16)
        self._columns = hashlib.blake2b(digest_size=16)

    def add(self, indptr: npt.NDArray[np.integer], indices: npt.NDArray[np.integer]) -> None:
        """Add consecutive rows.

        Parameters
        ----------
        indptr : (rows + 1,) pointers.
        indices : columns, ascending within a row.
        """
        self._counts.update(np.ascontiguousarray(np.diff(indptr), np.int64).tobytes())
        self._columns.update(np.ascontiguousarray(indices, np.int32).tobytes())

    def text(self, sizes: Sequence[int]) -> str:
        """Return the fingerprint of the rows that were added.

        Parameters
        ----------
        sizes : (L+1,) neurons per level.

        Returns
        -------
        32 hexadecimal digits.
        """
        whole = hashlib.blake2b(np.asarray(sizes, np.int64).tobytes(), digest_size=16)
        whole.update(self._counts.digest())
        whole.update(self._columns.digest())
        return whole.hexdigest()
