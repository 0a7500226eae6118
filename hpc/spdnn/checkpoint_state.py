"""What a rank of a training keeps in a checkpoint, and how it gets it back. No word about MPI.

A part has ``counts``, ``ids`` and ``lengths``, see `file_order.Rows`, and by row and by weight
``biases`` and ``weights``, and the optimizer's slots of both, as ``weights.first``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from hpc.io.checkpoint import Index, opened_part
from hpc.io.container import dataset, read
from hpc.io.errors import FormatError
from hpc.spdnn.file_order import FileOrder, Places, Rows
from hpc.spdnn.optimizers import Optimizer
from hpc.spdnn.parameters import LayerParameters
from hpc.spdnn.position import Position

Array = npt.NDArray[Any]
Longs = npt.NDArray[np.int64]


class TrainingState:
    """Weights, biases and the optimizer's slots of a rank; see `checkpoint_writing.Source`.

    Parameters
    ----------
    part : int or None
        Number of this rank's file; None where another replica keeps the same.
    order : FileOrder
        Where the numbers of the file lie in memory.
    parameters : sequence of LayerParameters
        Per layer; read by `copy`, overwritten by `load`.
    rule : Optimizer
        Whose slots are kept.
    position : Position
        How far the training is; read when asked for.
    """

    def __init__(
        self,
        part: int | None,
        order: FileOrder,
        parameters: Sequence[LayerParameters],
        rule: Optimizer,
        position: Position,
    ) -> None:
        self.part, self._order, self._rule, self._position = part, order, rule, position
        self._parameters = parameters
        self._pieces = dict(_pieces(parameters, rule))
        self._copies = {} if part is None else {n: _room(p) for n, p in self._pieces.items()}

    def copy(self) -> None:
        """Copy all numbers as they lie; nothing without a part."""
        for name, whole in self._copies.items():
            start = 0
            for piece in self._pieces[name]:
                whole[start : start + piece.size] = piece
                start += piece.size

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """Yield the rows, and what was copied in the file's order.

        Yields
        ------
        tuple of str and (n,) array
            A name and its numbers: as many as the rank has layers, rows or weights.
        """
        rows = self._order.rows
        yield from (("counts", rows.counts), ("ids", rows.ids), ("lengths", rows.lengths))
        for name, whole in self._copies.items():
            yield name, whole[self._places(name)]

    def position(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return how far the training is.

        Returns
        -------
        tuple of two dicts
            Numbers by name, `optimizer_step` among them, and arrays by name.
        """
        numbers, arrays = self._position.kept()
        return numbers | {"optimizer_step": self._rule.step}, arrays

    def load(self, index: Index, first: int) -> None:
        """Take this rank's rows from the parts of a checkpoint, part `first` first.

        Parameters
        ----------
        index : Index
            Of a complete checkpoint, made by any number of ranks.
        first : int
            The part that most likely has this rank's rows.

        Raises
        ------
        FormatError : a part that cannot be read; a row that none has.
        """
        for name, whole in read_rows(index, first, self._order.rows, self._pieces).items():
            local = np.empty_like(whole)
            local[self._places(name)] = whole
            start = 0
            for piece in self._pieces[name]:
                piece[...] = local[start : start + piece.size]
                start += piece.size
        for parameters in self._parameters:
            parameters.changed()
        self._rule.step = int(index.position["optimizer_step"])

    def _places(self, name: str) -> Places:
        return self._order.weights if _of_weights(name) else self._order.biases


def _pieces(
    parameters: Sequence[LayerParameters], rule: Optimizer
) -> Iterator[tuple[str, list[Array]]]:
    """Yield by name what belongs to the parameters, layer by layer."""
    for name, layers in (
        ("weights", [layer.values for layer in parameters]),
        ("biases", [layer.bias for layer in parameters]),
    ):
        yield name, layers
        key = {"weights": "weights", "biases": "bias"}[name]
        for slot in rule.slots:
            of_layer = enumerate(layers)
            yield f"{name}.{slot}", [rule.slot(slot, f"{k}/{key}", v) for k, v in of_layer]


def _of_weights(name: str) -> bool:
    return name.split(".")[0] == "weights"


def _room(pieces: Sequence[Array]) -> Array:
    return np.zeros(sum(piece.size for piece in pieces), pieces[0].dtype)


def read_rows(
    index: Index, first: int, mine: Rows, wanted: Mapping[str, Sequence[Array]]
) -> dict[str, Array]:
    """Return by name the numbers of the rows `mine`, from whichever parts have them.

    Parameters
    ----------
    index : Index
        Of a complete checkpoint.
    first : int
        The part that is read first; the others follow as long as rows are missing.
    mine : Rows
        The rows wanted.
    wanted : mapping of str to sequence of arrays
        By name arrays of the dtype in the file, of as many numbers together as `mine` has rows, or
        weights for names that begin with ``weights``.

    Returns
    -------
    dict of str to (n,) array
        In the order of `mine`.

    Raises
    ------
    FormatError : a part that cannot be read or does not fit; a row that none has.
    """
    found = {name: _room(pieces) for name, pieces in wanted.items()}
    missing = np.ones(len(mine.ids), bool)
    n_parts = len(index.parts)
    for part in ((first + turn) % n_parts for turn in range(n_parts)):
        if not missing.any():
            break
        with opened_part(index, part) as file:
            _take(file, mine, found, missing)
    if missing.any():
        raise FormatError(f"{index.folder}: {missing.sum():,} rows of this rank are in no part")
    return found


def _take(
    file: h5py.File, mine: Rows, found: dict[str, Array], missing: npt.NDArray[np.bool_]
) -> None:
    """Take the rows that a part has."""
    theirs = _rows(file, len(mine.counts))
    for layer in range(len(mine.counts)):
        ours, other = _common(mine, theirs, layer)
        if not len(ours):
            continue
        if not np.array_equal(mine.lengths[ours], theirs.lengths[other]):
            raise FormatError(f"{file.filename}: rows of layer {layer + 1} of other lengths")
        missing[ours] = False
        to, source = _items(mine, ours), _items(theirs, other)
        for name, whole in found.items():
            into, places = (to, source) if _of_weights(name) else (ours, other)
            _read_places(file, name, whole, into, places)


def _rows(file: h5py.File, n_layers: int) -> Rows:
    counts = read(dataset(file, "counts", ("int64",), (n_layers,)))
    n_rows = int(counts.sum())
    ids, lengths = (read(dataset(file, name, ("int32",), (n_rows,))) for name in ("ids", "lengths"))
    return Rows(counts, ids, lengths)


def _common(mine: Rows, theirs: Rows, layer: int) -> tuple[Longs, Longs]:
    """Return which rows of a layer both have, as places in `mine` and in `theirs`."""
    (start, stop), (first, last) = mine.bounds[layer : layer + 2], theirs.bounds[layer : layer + 2]
    _, ours, other = np.intersect1d(
        mine.ids[start:stop], theirs.ids[first:last], assume_unique=True, return_indices=True
    )
    return ours + start, other + first


def _items(rows: Rows, chosen: Longs) -> Longs:
    """Return the places of the weights of some rows, row after row."""
    lengths = rows.lengths[chosen].astype(np.int64)
    before = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    return np.arange(int(lengths.sum())) + np.repeat(rows.starts[chosen] - before, lengths)


def _read_places(file: h5py.File, name: str, whole: Array, into: Longs, places: Longs) -> None:
    """Read what lies at ascending places: in one stretch, of which the rest is dropped."""
    if len(places):
        stored = dataset(file, name, (whole.dtype.name,), (None,))
        start, stop = int(places[0]), int(places[-1]) + 1
        if stop > len(stored):
            raise FormatError(f"{file.filename}: '{name}' has {len(stored)} numbers, {stop} needed")
        whole[into] = read(stored, slice(start, stop))[places - start]
