"""The network file: per layer a CSR matrix, a bias, an activation.

Layout (format ``relaycut-network``, version 1). Layers lie one after another
in a few flat datasets, because opening thousands of small ones costs seconds:

- ``sizes`` (L+1,) int64: neurons per level; W^k is (sizes[k], sizes[k-1]).
- ``nnz`` (L,) int64: weights per layer.
- ``activation`` (L,) uint8: index into ACTIVATIONS; ``clip`` (L,) float64.
- ``indptr`` (sum of n_k + 1,) int64: each layer's starts at 0.
- ``indices`` int32, ``data`` float32 or float64, both (sum nnz,): columns
  ascend strictly within a row.
- ``bias`` (sum n_k,) of data's dtype.
- attribute ``fingerprint``: BLAKE2b of sizes, indptr and indices, so it names
  the pattern (what a plan is for), not the weights (which training changes).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import h5py
import numpy as np
import numpy.typing as npt
from scipy import sparse

from hpc.io import container
from hpc.io.errors import FormatError, InputError
from hpc.io.fingerprint import Fingerprint

KIND = "network"
VERSION = 1
MOST_NEURONS = 2**31 - 1
"""Of a level: indices are 32-bit."""
ACTIVATIONS = ("identity", "relu", "clipped-relu", "sigmoid", "tanh")
FLOATS = ("float32", "float64")
CHALLENGE_CLIP = 32.0
"""Where the Graph Challenge's ReLU is clipped."""

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Layer:
    """One layer, x^k = f(W x^{k-1} + b).

    weight : (n_out, n_in) CSR, columns sorted, no duplicates; float32 or float64.
    bias : (n_out,) of the same dtype.
    activation : one of ACTIVATIONS.
    clip : upper bound of clipped-relu; unused by the others.
    """

    weight: sparse.csr_array
    bias: Floats
    activation: str
    clip: float = CHALLENGE_CLIP


@dataclass(frozen=True)
class Rows:
    """Some consecutive rows of one layer. indptr starts at 0; columns are global."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    data: Floats
    bias: Floats


@dataclass(frozen=True)
class NetworkHeader:
    """What a network file says before any weight is read.

    sizes : (L+1,) neurons per level. nnz : (L,). fingerprint : of the pattern.
    """

    path: str
    sizes: tuple[int, ...]
    nnz: tuple[int, ...]
    activations: tuple[str, ...]
    clips: tuple[float, ...]
    dtype: np.dtype[np.floating]
    fingerprint: str

    @property
    def n_layers(self) -> int:
        """Number of weight matrices."""
        return len(self.nnz)

    @property
    def n_edges(self) -> int:
        """Weights in all layers: the edges that the Challenge's rating counts."""
        return sum(self.nnz)


def write_network(path: str | os.PathLike[str], n_inputs: int, layers: Iterable[Layer]) -> str:
    """Write a network layer by layer (one layer in memory) and return its fingerprint.

    Parameters
    ----------
    path : file to write.
    n_inputs : width of x^0.
    layers : in order; weights of one dtype, float32 or float64.

    Returns
    -------
    The fingerprint of the pattern.

    Raises
    ------
    InputError : widths that do not follow each other, no layer, an unwritable path.
    """
    with container.create(path, KIND, VERSION) as file:
        writer = NetworkWriter(file, n_inputs)
        for layer in layers:
            writer.append(layer)
        return writer.close()


class NetworkWriter:
    """Fills an open network file: `append` whole layers, or `begin` one and add its rows.

    Parameters
    ----------
    file : from ``container.create(path, KIND, VERSION)``.
    n_inputs : width of x^0.
    """

    def __init__(self, file: h5py.File, n_inputs: int) -> None:
        self._file = file
        self._sizes = [int(n_inputs)]
        self._nnz: list[int] = []
        self._activations: list[str] = []
        self._clips: list[float] = []
        self._pattern = Fingerprint()
        self._sets: dict[str, h5py.Dataset] = {}

    def append(self, layer: Layer) -> None:
        """Add a whole layer.

        Parameters
        ----------
        layer : CSR, columns ascending in each row.
        """
        weight = layer.weight
        self.begin(weight.shape[1], layer.activation, layer.clip)
        self.add_rows(
            Rows(
                np.asarray(weight.indptr, np.int64),
                np.asarray(weight.indices, np.int32),
                weight.data,
                np.asarray(layer.bias, weight.dtype),
            )
        )

    def begin(self, n_in: int, activation: str, clip: float = CHALLENGE_CLIP) -> None:
        """Start the next layer; its rows follow by `add_rows`.

        Parameters
        ----------
        n_in : inputs that it takes.
        activation : one of ACTIVATIONS.
        clip : upper bound of clipped-relu.
        """
        if n_in != self._sizes[-1]:
            raise InputError(
                f"layer {len(self._nnz) + 1} takes {n_in} inputs, the level below it has "
                f"{self._sizes[-1]} neurons"
            )
        if activation not in ACTIVATIONS:
            raise InputError(f"activation '{activation}': expected one of {', '.join(ACTIVATIONS)}")
        self._sizes.append(0)
        self._nnz.append(0)
        self._activations.append(activation)
        self._clips.append(clip)

    def add_rows(self, rows: Rows) -> None:
        """Add consecutive rows to the layer begun last.

        Parameters
        ----------
        rows : whole rows, columns ascending.
        """
        check_rows(rows, self._sizes[-2], f"layer {len(self._nnz)}", self._sizes[-1])
        if not self._sets:
            self._create(rows.data.dtype)
        first = self._sizes[-1] == 0
        indptr = rows.indptr + self._nnz[-1]
        container.append(self._sets["indptr"], indptr if first else indptr[1:])
        container.append(self._sets["indices"], rows.indices)
        container.append(self._sets["data"], rows.data)
        container.append(self._sets["bias"], rows.bias)
        self._pattern.add(rows.indptr, rows.indices)
        self._sizes[-1] += len(rows.bias)
        self._nnz[-1] += len(rows.indices)

    def close(self) -> str:
        """Write the header and return the fingerprint.

        Returns
        -------
        The fingerprint of the pattern.
        """
        if not self._nnz:
            raise InputError("a network needs at least one layer")
        fingerprint = self._pattern.text(self._sizes)
        put_header(self._file, self._sizes, self._nnz, self._activations, self._clips, fingerprint)
        return fingerprint

    def _create(self, dtype: np.dtype[np.floating]) -> None:
        if dtype.name not in FLOATS:
            raise InputError(f"weights are {dtype.name}, expected {' or '.join(FLOATS)}")
        kinds = {"indptr": np.int64, "indices": np.int32, "data": dtype, "bias": dtype}
        self._sets = {
            name: container.appendable(self._file, name, kind) for name, kind in kinds.items()
        }


def check_rows(rows: Rows, n_in: int, where: str, first_row: int = 0) -> None:
    """Check rows of a layer: counts, column range, sortedness, finite values.

    Parameters
    ----------
    rows : of one layer.
    n_in : columns that there are.
    where : begins the message.
    first_row : number of the first row in its layer.

    Raises
    ------
    FormatError : the first fault found, with layer, row and value. `where` begins the message.
    """
    indptr, indices = rows.indptr, rows.indices
    counts = np.diff(indptr)
    if len(indptr) != len(rows.bias) + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise FormatError(f"{where}: row pointers do not match the number of weights")
    if counts.size and counts.min() < 0:
        raise FormatError(f"{where}, row {first_row + int(counts.argmin())}: row pointers descend")
    if len(indices):
        _check_columns(indptr, indices, n_in, where, first_row)
    for name, values in (("weight", rows.data), ("bias", rows.bias)):
        if not np.isfinite(values).all():
            at = int(np.flatnonzero(~np.isfinite(values))[0])
            row = at if name == "bias" else int(np.searchsorted(indptr, at, side="right")) - 1
            raise FormatError(f"{where}, row {first_row + row}: {name} is {values[at]}, not finite")


def _check_columns(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    n_in: int,
    where: str,
    first_row: int,
) -> None:
    def row_of(position: int) -> int:
        return first_row + int(np.searchsorted(indptr, position, side="right")) - 1

    low, high = int(indices.min()), int(indices.max())
    if low < 0 or high >= n_in:
        bad = int(np.flatnonzero((indices < 0) | (indices >= n_in))[0])
        raise FormatError(
            f"{where}, row {row_of(bad)}: column index {indices[bad]} outside 0..{n_in - 1}"
        )
    rising = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    rising[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    if not rising.all():
        bad = int(np.flatnonzero(~rising)[0]) + 1
        raise FormatError(f"{where}, row {row_of(bad)}: column indices are not sorted or repeat")


@contextlib.contextmanager
def open_network(path: str | os.PathLike[str]) -> Iterator[NetworkFile]:
    """Open a network file for reading; see `container.opened` for what it raises.

    Parameters
    ----------
    path : network file.
    """
    with container.opened(path, KIND, VERSION) as file:
        yield NetworkFile(file, path)


def read_header(path: str | os.PathLike[str]) -> NetworkHeader:
    """Return the header of a network file, checked.

    Parameters
    ----------
    path : network file.

    Returns
    -------
    The header.
    """
    with open_network(path) as network:
        return network.header


class NetworkFile:
    """An open network file. Every read is checked; nothing is kept.

    Parameters
    ----------
    file : open, of this format.
    path : for messages.

    Attributes
    ----------
    header : NetworkHeader
    bytes_read : bytes of datasets read so far.
    """

    def __init__(self, file: h5py.File, path: str | os.PathLike[str]) -> None:
        self._file = file
        self.bytes_read = 0
        self.header = header_of(file, path)
        sizes, nnz = self.header.sizes[1:], self.header.nnz
        self._row_start = np.concatenate(([0], np.cumsum(sizes)))
        self._nnz_start = np.concatenate(([0], np.cumsum(nnz)))
        n_rows, n_edges = int(self._row_start[-1]), int(self._nnz_start[-1])
        self._indptr = container.dataset(file, "indptr", ("int64",), (n_rows + len(nnz),))
        self._indices = container.dataset(file, "indices", ("int32",), (n_edges,))
        self._data = container.dataset(file, "data", (self.header.dtype.name,), (n_edges,))
        self._bias = container.dataset(file, "bias", (self.header.dtype.name,), (n_rows,))

    def pointers(self, layer: int) -> npt.NDArray[np.int64]:
        """Return the row pointers of `layer` (0-based), (n_out + 1,), ascending from 0 to nnz.

        Parameters
        ----------
        layer : from 0.

        Returns
        -------
        (n_out + 1,) int64.
        """
        return self._some_pointers(layer, 0, self.header.sizes[layer + 1])

    def rows(
        self, layer: int, start: int, stop: int, pointers: npt.NDArray[np.int64] | None = None
    ) -> Rows:
        """Return rows start..stop-1 of `layer` (0-based), checked.

        Parameters
        ----------
        layer : from 0.
        start, stop : the rows.
        pointers : what `pointers(layer)` gave, to save reading them again; without it only the
            pointers of these rows are read.

        Returns
        -------
        The rows, pointers from 0.
        """
        if pointers is None:
            indptr = self._some_pointers(layer, start, stop)
        else:
            indptr = pointers[start : stop + 1]
        first = int(self._nnz_start[layer])
        span = slice(first + int(indptr[0]), first + int(indptr[-1]))
        bias_start = int(self._row_start[layer])
        rows = Rows(
            indptr - indptr[0],
            container.read(self._indices, span),
            container.read(self._data, span),
            container.read(self._bias, slice(bias_start + start, bias_start + stop)),
        )
        self.bytes_read += rows.indices.nbytes + rows.data.nbytes + rows.bias.nbytes
        where = f"{self.header.path}: layer {layer + 1}"
        check_rows(rows, self.header.sizes[layer], where, start)
        return rows

    def _some_pointers(self, layer: int, start: int, stop: int) -> npt.NDArray[np.int64]:
        first = int(self._row_start[layer]) + layer
        indptr = container.read(self._indptr, slice(first + start, first + stop + 1))
        self.bytes_read += indptr.nbytes
        n_out, nnz = self.header.sizes[layer + 1], self.header.nnz[layer]
        ends_right = (start > 0 or indptr[0] == 0) and (stop < n_out or indptr[-1] == nnz)
        if not ends_right or indptr[0] < 0 or indptr[-1] > nnz or (np.diff(indptr) < 0).any():
            raise FormatError(
                f"{self.header.path}: layer {layer + 1}: row pointers do not ascend from 0 to "
                f"the number of weights, {nnz}"
            )
        return indptr

    def layer(self, layer: int) -> Layer:
        """Return a whole layer (0-based), checked.

        Parameters
        ----------
        layer : from 0.

        Returns
        -------
        The layer, (n_out, n_in) CSR.
        """
        n_in, n_out = self.header.sizes[layer : layer + 2]
        rows = self.rows(layer, 0, n_out)
        weight = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(n_out, n_in))
        weight.has_sorted_indices = True
        return Layer(weight, rows.bias, self.header.activations[layer], self.header.clips[layer])

    def layers(self) -> Iterator[Layer]:
        """Yield the layers one by one."""
        for k in range(self.header.n_layers):
            yield self.layer(k)


def row_blocks(
    pointers: Sequence[int] | npt.NDArray[np.int64], items: int
) -> list[tuple[int, int]]:
    """Cut the rows behind `pointers` into consecutive ranges of at most `items` weights each.

    A single row heavier than that makes a range of its own. Pure.

    Parameters
    ----------
    pointers : (rows + 1,) ascending.
    items : weights, at least 1.

    Returns
    -------
    (first row, one past the last) of each range.
    """
    indptr = np.asarray(pointers)
    blocks: list[tuple[int, int]] = []
    start = 0
    while start < len(indptr) - 1:
        stop = int(np.searchsorted(indptr, indptr[start] + items, side="right")) - 1
        stop = max(stop, start + 1)
        blocks.append((start, stop))
        start = stop
    return blocks


def put_header(
    file: h5py.File,
    sizes: Sequence[int],
    nnz: Sequence[int],
    activations: Sequence[str],
    clips: Sequence[float],
    fingerprint: str,
) -> None:
    """Write what `header_of` reads, but for the weights' dtype, which dataset ``data`` has.

    Parameters
    ----------
    file : open for writing.
    sizes : (L+1,) neurons per level.
    nnz : (L,) weights per layer.
    activations : (L,) of ACTIVATIONS.
    clips : (L,) upper bounds of clipped-relu.
    fingerprint : of the pattern.
    """
    codes = [ACTIVATIONS.index(name) for name in activations]
    container.put(file, "sizes", np.asarray(sizes, np.int64))
    container.put(file, "nnz", np.asarray(nnz, np.int64))
    container.put(file, "activation", np.asarray(codes, np.uint8))
    container.put(file, "clip", np.asarray(clips, np.float64))
    container.put_text(file, "fingerprint", fingerprint)


def header_of(file: h5py.File, path: str | os.PathLike[str]) -> NetworkHeader:
    """Read and check what an open file says of its network before any weight is read.

    Parameters
    ----------
    file : open, of a format that has one.
    path : for messages.

    Returns
    -------
    The header.
    """
    sizes = container.dataset(file, "sizes", ("int64",), (None,))[:]
    n_layers = len(sizes) - 1
    if n_layers < 1 or sizes.min() < 1 or sizes.max() > MOST_NEURONS:
        raise FormatError(
            f"{path}: level sizes {sizes[:8]}, expected two or more of 1..{MOST_NEURONS}"
        )
    nnz = container.dataset(file, "nnz", ("int64",), (n_layers,))[:]
    codes = container.dataset(file, "activation", ("uint8",), (n_layers,))[:]
    clips = container.dataset(file, "clip", ("float64",), (n_layers,))[:]
    if codes.max() >= len(ACTIVATIONS):
        raise FormatError(f"{path}: activation code {codes.max()}, this program knows 0..4")
    if np.isnan(clips).any():
        raise FormatError(f"{path}: 'clip' is nan in layer {int(np.isnan(clips).argmax()) + 1}")
    data = container.dataset(file, "data", FLOATS, (None,))
    return NetworkHeader(
        str(path),
        tuple(map(int, sizes)),
        tuple(map(int, nnz)),
        tuple(ACTIVATIONS[code] for code in codes),
        tuple(map(float, clips)),
        data.dtype,
        container.text(file, "fingerprint"),
    )
