"""Network files: what is written is read, whole, by rows, and in pieces."""

import numpy as np
import pytest
from scipy import sparse

from hpc.io import container, network
from hpc.io.errors import FormatError, InputError
from hpc.io.network import Layer, NetworkWriter, Rows, open_network, read_header, write_network
from tests.spdnn.serial import random_layers

SIZES = (11, 7, 1, 9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_written_is_read(tmp_path, dtype):
    layers = random_layers(SIZES, 0.4, 3, dtype, ("relu", "tanh", "clipped-relu"))
    write_network(tmp_path / "n.h5", SIZES[0], layers)
    header = read_header(tmp_path / "n.h5")
    assert header.sizes == SIZES and header.dtype == dtype
    assert header.activations == ("relu", "tanh", "clipped-relu")
    assert header.n_edges == sum(layer.weight.nnz for layer in layers)
    with open_network(tmp_path / "n.h5") as file:
        for found, layer in zip(file.layers(), layers, strict=True):
            np.testing.assert_array_equal(found.weight.toarray(), layer.weight.toarray())
            np.testing.assert_array_equal(found.bias, layer.bias)


def test_any_range_of_rows_can_be_read(tmp_path):
    layers = random_layers(SIZES, 0.4, 4)
    write_network(tmp_path / "n.h5", SIZES[0], layers)
    with open_network(tmp_path / "n.h5") as file:
        for k, layer in enumerate(layers):
            n_rows = SIZES[k + 1]
            for start in range(n_rows + 1):
                for stop in range(start, n_rows + 1):
                    rows = file.rows(k, start, stop)
                    shape = (stop - start, SIZES[k])
                    part = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=shape)
                    expected = layer.weight.toarray()[start:stop]
                    np.testing.assert_array_equal(part.toarray(), expected)
                    np.testing.assert_array_equal(rows.bias, layer.bias[start:stop])


def test_the_fingerprint_names_the_pattern_not_the_weights_nor_the_blocks(tmp_path):
    layers = random_layers(SIZES, 0.5, 5)
    first = write_network(tmp_path / "a.h5", SIZES[0], layers)
    scaled = [
        Layer(layer.weight * 2, layer.bias + 1, layer.activation, layer.clip) for layer in layers
    ]
    assert write_network(tmp_path / "b.h5", SIZES[0], scaled) == first
    with container.create(tmp_path / "c.h5", network.KIND, network.VERSION) as file:
        writer = NetworkWriter(file, SIZES[0])
        for layer in layers:
            writer.begin(layer.weight.shape[1], layer.activation, layer.clip)
            for row in range(layer.weight.shape[0]):
                one = layer.weight[[row]]
                writer.add_rows(
                    Rows(one.indptr.astype(np.int64), one.indices, one.data, layer.bias[[row]])
                )
        assert writer.close() == first
    assert write_network(tmp_path / "d.h5", SIZES[0], random_layers(SIZES, 0.5, 6)) != first


@pytest.mark.parametrize(
    ("indptr", "indices", "data", "bias", "message"),
    [
        ([0, 1], [5], [1.0], [0.0], r"row 0: column index 5 outside 0\.\.4"),
        ([0, 1], [-1], [1.0], [0.0], "column index -1 outside"),
        ([0, 1, 3], [4, 2, 1], [1.0, 1.0, 1.0], [0.0, 0.0], "row 1: column indices are not sorted"),
        ([0, 2], [2, 2], [1.0, 1.0], [0.0], "row 0: column indices are not sorted or repeat"),
        ([0, 1], [0], [np.nan], [0.0], "row 0: weight is nan, not finite"),
        ([0, 1], [0], [1.0], [np.inf], "row 0: bias is inf, not finite"),
        ([0, 2], [0], [1.0], [0.0], "row pointers do not match"),
        ([0, 1, 0, 1], [0], [1.0], [0.0, 0.0, 0.0], "row 1: row pointers descend"),
    ],
)
def test_rows_that_make_no_sense(indptr, indices, data, bias, message):
    rows = Rows(np.array(indptr), np.array(indices, np.int32), np.array(data), np.array(bias))
    with pytest.raises(FormatError, match=message):
        network.check_rows(rows, 5, "layer 1")


def test_layers_that_do_not_follow_each_other(tmp_path):
    layers = random_layers((4, 3), 1.0, 1) + random_layers((5, 2), 1.0, 1)
    with pytest.raises(InputError, match="layer 2 takes 5 inputs, the level below it has 3"):
        write_network(tmp_path / "n.h5", 4, layers)
    assert not list(tmp_path.iterdir()), "nothing half written stays"
