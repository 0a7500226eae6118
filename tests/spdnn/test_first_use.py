"""A run says that it compiles, where it has to."""

import numpy as np
import pytest

from hpc.spdnn import compiled
from hpc.spdnn.first_use import INFERENCE, TRAINING, tell_compiling
from hpc.spdnn.kernels import kernel

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


@pytest.fixture
def empty(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)


def test_it_is_said_while_something_is_missing(empty, capsys):
    for needs in (INFERENCE, TRAINING):
        tell_compiling(kernel("numba"), SINGLE, needs)
        assert capsys.readouterr().err == "compiling kernels for this host, once\n"
    compiled.loops.__wrapped__("hpc.spdnn.element_loops", SINGLE)
    tell_compiling(kernel("numba"), SINGLE, ("element_loops",))
    assert capsys.readouterr().err == ""
    for dtype, needs in ((DOUBLE, ("element_loops",)), (SINGLE, TRAINING)):
        tell_compiling(kernel("numba"), dtype, needs)
        assert "compiling" in capsys.readouterr().err


def test_the_other_kernels_need_nothing(empty, capsys):
    tell_compiling(kernel("scipy"), SINGLE, INFERENCE)
    assert capsys.readouterr().err == ""
