"""How a rank waits for messages: at once, or politely, leaving its core to others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import sleep

from mpi4py import MPI

Wait = Callable[[Sequence[MPI.Request]], None]
"""Returns when all requests are complete."""

NAP_S = 2e-4
"""Seconds between two looks of a rank that waits politely."""


def at_once(requests: Sequence[MPI.Request]) -> None:
    """Wait inside MPI, which may keep a core busy: the least delay."""
    MPI.Request.Waitall(list(requests))


def politely(requests: Sequence[MPI.Request]) -> None:
    """Look now and then and sleep in between, so that an idle rank takes no core from a busy one.

    For emulations and for more ranks than cores.
    """
    pending = list(requests)
    while not MPI.Request.Testall(pending):
        sleep(NAP_S)
