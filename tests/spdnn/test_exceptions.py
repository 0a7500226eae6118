"""A rank of the sparse engine that raises, wherever that is: the whole job ends, and says why."""

from __future__ import annotations

import pytest

from tests.launching import ROOT
from tests.launching import run_ranks as run_ranks  # marks the module
from tests.raising import check_raised

DIGITS = ROOT / "hpc" / "samples" / "digits.h5"
PLACES = {
    "reading": ("hpc.spdnn.load:_read", 1, 1),
    "planning": ("hpc.spdnn.training_pass:TrainingPass.__init__", 0, 1),
    "first exchange": ("hpc.comm.exchange:Exchange.start_sends", 1, 1),
    "kernel": ("hpc.spdnn.numba_kernel:NumbaKernel.multiply", 2, 20),
    "backward": ("hpc.spdnn.backward:BackwardLayer.run", 1, 5),
    "update": ("hpc.spdnn.trainer:Trainer._update", 0, 10),
    "writing a checkpoint": ("hpc.comm.checkpoint_writing:write_part", 1, 2),
    "writing its index": ("hpc.comm.checkpoint_writing:write_index", 0, 1),
    "validation": ("hpc.spdnn.trainer:Trainer.evaluate", 2, 3),
    "output": ("hpc.spdnn.save:global_rows", 1, 2),
    "report": ("hpc.spdnn.train_command:rank_table", 0, 1),
}


@pytest.mark.parametrize("place", PLACES)
def test_training(tmp_path, network, place):
    words = [
        "spdnn", "train", network, DIGITS, "--epochs", 3, "--batch", 100, "--validation", 0.2,
        "--out", tmp_path / "o.h5", "--checkpoint", tmp_path / "c", "--every", "5steps",
    ]  # fmt: skip
    check_raised(*PLACES[place], 3, words)
    assert not (tmp_path / "o.h5").exists() or place == "report"
