"""A group of ranks as threads of one process: the reducer that the tests inject."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

TIMEOUT_S = 60.0


class ThreadReducer:
    """Sums in rank order over the threads of a group; a thread that fails breaks the others'."""

    def __init__(self, rank: int, size: int, table: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.size = rank, size
        self._table, self._barrier = table, barrier
        self.calls = 0

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self._table[self.rank] = tensor.detach().clone()
        self._barrier.wait(TIMEOUT_S)
        total = torch.stack(self._table).sum(0)
        self._barrier.wait(TIMEOUT_S)
        with torch.no_grad():
            return tensor.copy_(total)


def run_group(size: int, work: Callable[[ThreadReducer], Any]) -> list[Any]:
    """Return work(reducer) of every rank, in rank order."""
    table: list[Any] = [None] * size
    barrier = threading.Barrier(size)

    def guarded(rank: int) -> Any:
        try:
            return work(ThreadReducer(rank, size, table, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(guarded, rank) for rank in range(size)]
        errors = [future.exception() for future in futures]
    cause = [error for error in errors if not isinstance(error, threading.BrokenBarrierError)]
    for error in [*filter(None, cause), *filter(None, errors)]:
        raise error
    return [future.result() for future in futures]
