"""Checkpoints of a training on labels: one network, equal on all ranks, which step together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.comm.checkpoint_start import find_start, folder_for
from hpc.comm.checkpointing import Checkpoints, NoCheckpoints, kept
from hpc.comm.interrupt import stop_requests
from hpc.comm.world import together
from hpc.io.checkpoint import Index
from hpc.pipebd.checkpoint_run import Keeping, parts_of
from hpc.pipebd.checkpoint_state import KeptStates, read_losses, read_state
from hpc.pipebd.schedule import Group
from hpc.pipebd.step import StudentStep

STATE, LOSSES = "network.state", "network.losses"


class LabelsProgress:
    """How far a training is.

    Attributes
    ----------
    epoch : int
        Of the next step.
    step : int
        Steps done in all epochs, those of an earlier run included.
    history : (epochs done, 2) list of tuple of float
        Mean losses and accuracies, NaN for none.
    keeper : Checkpoints or NoCheckpoints
        Told of every step.
    """

    def __init__(self) -> None:
        self.epoch = self.step = 0
        self.history: list[tuple[float, float]] = []
        self.keeper: Checkpoints | NoCheckpoints = NoCheckpoints()
        self._losses, self._done = torch.zeros(0), 0
        self._before: npt.NDArray[np.float64] | None = None

    def begin(self, epoch: int, losses: torch.Tensor) -> int:
        """Begin an epoch.

        Parameters
        ----------
        epoch : int
            From 0.
        losses : (steps,) float64 tensor
            Where this rank's losses are kept; gets those of the steps that are done.

        Returns
        -------
        int
            How many steps of the epoch are done: 0 but for the first one of a run that goes on.
        """
        self.epoch, self._losses, self._done = epoch, losses, 0
        if self._before is not None:
            self._done = len(self._before)
            losses[: self._done] = torch.from_numpy(self._before).to(losses)
            self._before = None
        return self._done

    def step_done(self) -> None:
        """Count a step. Collective where checkpoints are kept.

        Raises
        ------
        Stopped : on all ranks after the same step, when the run was asked to stop.
        """
        self._done, self.step = self._done + 1, self.step + 1
        self.keeper.step_done(self.step)

    def so_far(self) -> npt.NDArray[np.float64]:
        """Return this rank's losses in the epoch. It waits for a GPU.

        Returns
        -------
        (done,) float64 array
            Of the steps that are done.
        """
        found: npt.NDArray[np.float64] = self._losses[: self._done].cpu().numpy()
        return found

    def kept(self, ranks: int) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return it as numbers and arrays, for a checkpoint's index.

        Parameters
        ----------
        ranks : int
            Of the run.

        Returns
        -------
        numbers : dict of str to int
            Epoch, steps done of it, ranks.
        arrays : dict of str to array
            The history, (epochs, 2) float64.
        """
        numbers = {"epoch": self.epoch, "done": self._done, "ranks": ranks}
        return numbers, {"history": np.array(self.history, np.float64).reshape(-1, 2)}

    def restore(self, index: Index, comm: MPI.Comm) -> None:
        """Go on from a checkpoint. Local.

        Parameters
        ----------
        index : Index
            Of the checkpoint.
        comm : MPI.Comm
            Of the run, perhaps of another number of ranks.

        Raises
        ------
        FormatError : a part cannot be read.
        """
        at = index.position
        self.epoch, self.step = at["epoch"], index.step
        self.history = [(loss, accuracy) for loss, accuracy in index.arrays["history"].tolist()]
        parts = parts_of(Group(range(1), range(at["ranks"])), comm.rank, comm.size)
        self._before = read_losses(index, parts, LOSSES, at["done"])


@contextlib.contextmanager
def labels_progress(
    keeping: Keeping | None, comm: MPI.Comm, transport: Transport, step: StudentStep
) -> Iterator[LabelsProgress]:
    """Yield where the training begins, with the network as it was there. Collective.

    Parameters
    ----------
    keeping : Keeping or None
        None keeps nothing, and then nothing here is collective.
    comm : MPI.Comm
        Of the run.
    transport : Transport
        By which ranks wait.
    step : StudentStep
        Of the whole network, equal on all ranks; gets the checkpoint's state.

    Yields
    ------
    LabelsProgress
        To be told of every epoch and step.

    Raises
    ------
    AgreedError : on all ranks: see `find_start`; a part that cannot be read.
    Stopped : on all ranks, when the run was asked to stop.
    """
    progress = LabelsProgress()
    if keeping is None:
        yield progress
        return
    with stop_requests() as asked, folder_for(comm, keeping.options.root):
        start = find_start(comm, keeping.options, keeping.run)
        with together(comm):
            if start.index is not None:
                step.load_state_dict(read_state(start.index, 0, STATE))
                progress.restore(start.index, comm)
        source = KeptStates(
            comm.rank,
            lambda: {STATE: step.state_dict()} if comm.rank == 0 else {},
            lambda: {LOSSES: progress.so_far()},
            lambda: progress.kept(comm.size),
        )
        progress.keeper = Checkpoints(
            comm, keeping.options, keeping.run, start, source, asked, until=transport.wait
        )
        with kept(progress.keeper):
            yield progress
