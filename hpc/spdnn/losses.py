"""Losses on a last level that is cut across ranks.

Both are means over the batch, so the gradient is that of the mean loss. Squared
error needs no message; cross-entropy needs two small all-reduces a batch
(column maxima, then sums), which is all that the loss ever puts on the wire.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.io.errors import InputError
from hpc.spdnn.option_values import LOSSES
from hpc.spdnn.panels import flat

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]


class Loss(Protocol):
    """A loss on own rows of the last level, (panels, n_out, width)."""

    def evaluate(self, x: Floats, labels: Ints, gradient: Floats | None) -> tuple[float, int]:
        """Evaluate the loss of a batch. Collective over the ranks that hold the last level.

        Parameters
        ----------
        x : (panels, n_out, width) float array
            Own rows of the last level.
        labels : (batch,) int array
            Of the columns, 0-based; the same on all ranks.
        gradient : array of the shape of x, or None
            Overwritten by d(mean loss)/dx.

        Returns
        -------
        tuple of float and int
            The sum of the loss over the batch, and the number of samples whose label has the
            largest value (the first such, where several are equal); on all ranks.
        """


class ColumnFacts:
    """What all ranks must know of each column of the last level: two all-reduces.

    Parameters
    ----------
    comm : MPI.Comm
        The ranks that the last level is cut across.
    ids : (n_out,) int32 array
        Global numbers of the own rows of the last level.
    """

    def __init__(self, comm: MPI.Comm, ids: npt.NDArray[np.int32]) -> None:
        self._comm, self._ids = comm, ids

    def maxima(self, x: Floats) -> Floats:
        """Return the largest value of each column. Collective.

        Parameters
        ----------
        x : (panels, n_out, width) float array
            Own rows of the last level.

        Returns
        -------
        (panels, 1, width) float64 array
            The same on all ranks.
        """
        panels, rows, width = x.shape
        largest = np.full((panels, 1, width), -np.inf)
        if rows:
            largest[...] = x.max(axis=1, keepdims=True)
        self._comm.Allreduce(MPI.IN_PLACE, largest, op=MPI.MAX)
        return largest

    def own_labels(self, labels: Ints, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """Return where a row is its column's label.

        Parameters
        ----------
        labels : (batch,) int array
            Of the columns.
        shape : tuple of int
            (panels, n_out, width).

        Returns
        -------
        (panels, n_out, width) bool array
            True at most once in a column.
        """
        panels, _, width = shape
        return self._ids[None, :, None] == labels.reshape(panels, 1, width)

    def sums(
        self,
        x: Floats,
        largest: Floats,
        is_label: npt.NDArray[np.bool_],
        labels: Ints,
        extra: Floats,
    ) -> tuple[Floats, Floats, int]:
        """Return the label's value and the sum of `extra` of each column, and the number right.

        Collective.

        Parameters
        ----------
        x : (panels, n_out, width) float array
            Own rows of the last level.
        largest : (panels, 1, width) float64 array
            From `maxima`.
        is_label : (panels, n_out, width) bool array
            From `own_labels`.
        labels : (batch,) int array
            Of the columns.
        extra : (panels, n_out, width) float array
            What is to be summed over the rows of all ranks.

        Returns
        -------
        tuple of two (panels, 1, width) float64 arrays and int
            The same on all ranks.
        """
        panels, _, width = x.shape
        facts = np.zeros((3, panels, 1, width))
        before = self._ids[None, :, None] < labels.reshape(panels, 1, width)
        np.sum(x, axis=1, keepdims=True, where=is_label, out=facts[0])
        np.sum(extra, axis=1, keepdims=True, out=facts[1])
        facts[2] = ((x == largest) & before).sum(axis=1, keepdims=True)
        self._comm.Allreduce(MPI.IN_PLACE, facts, op=MPI.SUM)
        right = (facts[0] == largest) & (facts[2] == 0)
        return facts[0], facts[1], int(right.sum())


class SquaredError:
    """Mean over batch and outputs of (x − one-hot label)²: torch's mse_loss.

    Parameters
    ----------
    comm : MPI.Comm
        The ranks that the last level is cut across.
    ids : (n_out,) int32 array
        Global numbers of its own rows.
    n_outputs : int
        Its rows on all ranks together.
    """

    def __init__(self, comm: MPI.Comm, ids: npt.NDArray[np.int32], n_outputs: int) -> None:
        self._facts, self._n_outputs = ColumnFacts(comm, ids), n_outputs

    def evaluate(self, x: Floats, labels: Ints, gradient: Floats | None) -> tuple[float, int]:
        """Evaluate the loss of a batch, see `Loss`. Collective.

        Parameters
        ----------
        x, labels, gradient : see `Loss`
            Arrays of the size of x are made on the way.

        Returns
        -------
        tuple of float and int
            Sum of the loss over the batch, number right.
        """
        is_label = self._facts.own_labels(labels, x.shape)
        error = x - is_label
        largest = self._facts.maxima(x)
        _, squares, right = self._facts.sums(x, largest, is_label, labels, error * error)
        if gradient is not None:
            np.multiply(error, 2 / (self._n_outputs * labels.size), out=gradient)
        return float(squares.sum()) / self._n_outputs, right


class CompiledSquaredError:
    """`SquaredError` on the compiled loops: two passes over x, and no temporary arrays.

    Parameters
    ----------
    comm, ids, n_outputs : as for `SquaredError`
        The answers differ from its by rounding.
    """

    def __init__(self, comm: MPI.Comm, ids: npt.NDArray[np.int32], n_outputs: int) -> None:
        self._comm, self._ids, self._n_outputs = comm, ids, n_outputs
        self._largest, self._facts = np.empty((0, 0)), np.empty((0, 0))

    def evaluate(self, x: Floats, labels: Ints, gradient: Floats | None) -> tuple[float, int]:
        """Evaluate the loss of a batch, see `Loss`. Collective.

        Parameters
        ----------
        x, labels, gradient : see `Loss`
            Labels are int32.

        Returns
        -------
        tuple of float and int
            Sum of the loss over the batch, number right.
        """
        from hpc.spdnn.compiled import loops

        compiled = loops("hpc.spdnn.element_loops", x.dtype)
        panels, rows, width = x.shape
        if self._largest.shape != (panels, width):
            self._largest, self._facts = np.empty((panels, width)), np.empty((3, panels * width))
        self._largest[...] = -np.inf
        compiled.column_maxima(*flat(x), rows, width, self._largest)
        self._comm.Allreduce(MPI.IN_PLACE, self._largest, op=MPI.MAX)
        self._facts[...] = 0
        slope = (np.empty(0, x.dtype), 0) if gradient is None else flat(gradient)
        compiled.squared_error(
            *flat(x), width, self._ids, labels, self._largest,
            2 / (self._n_outputs * labels.size), *slope, self._facts,
        )  # fmt: skip
        self._comm.Allreduce(MPI.IN_PLACE, self._facts, op=MPI.SUM)
        right = (self._facts[0] == self._largest.reshape(-1)) & (self._facts[2] == 0)
        return float(self._facts[1].sum()) / self._n_outputs, int(np.count_nonzero(right))


class CrossEntropy:
    """Mean over the batch of −log softmax(x)[label]: torch's cross_entropy.

    Parameters
    ----------
    comm, ids, n_outputs : as for `SquaredError`
        The last plays no part.
    """

    def __init__(self, comm: MPI.Comm, ids: npt.NDArray[np.int32], n_outputs: int) -> None:
        self._facts = ColumnFacts(comm, ids)

    def evaluate(self, x: Floats, labels: Ints, gradient: Floats | None) -> tuple[float, int]:
        """Evaluate the loss of a batch, see `Loss`. Collective.

        Parameters
        ----------
        x, labels, gradient : see `Loss`
            Arrays of the size of x are made on the way.

        Returns
        -------
        tuple of float and int
            Sum of the loss over the batch, number right.
        """
        is_label = self._facts.own_labels(labels, x.shape)
        largest = self._facts.maxima(x)
        powers = np.exp(x - largest)
        label_value, sums, right = self._facts.sums(x, largest, is_label, labels, powers)
        if gradient is not None:
            gradient[...] = (powers / sums - is_label) / labels.size
        return float((np.log(sums) + largest - label_value).sum()), right


def loss(
    name: str,
    comm: MPI.Comm,
    ids: npt.NDArray[np.int32],
    n_outputs: int,
    compiled: bool = False,
) -> Loss:
    """Return the loss called `name`.

    Parameters
    ----------
    name : str
        'mse' or 'cross-entropy'.
    comm : MPI.Comm
        The ranks that the last level is cut across.
    ids : (n_out,) int32 array
        Global numbers of the own rows of the last level.
    n_outputs : int
        Its rows on all ranks together.
    compiled : bool
        On the compiled loops, where there are any for it.

    Returns
    -------
    Loss
        The one asked for.

    Raises
    ------
    InputError : unknown name; lists the valid ones.
    """
    if name == "mse":
        return (CompiledSquaredError if compiled else SquaredError)(comm, ids, n_outputs)
    if name == "cross-entropy":
        return CrossEntropy(comm, ids, n_outputs)
    raise InputError(f"loss '{name}': expected one of {', '.join(LOSSES)}")
