"""The trace of a run: every rank's spans on one clock, at rank 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpi4py import MPI

from hpc.comm.clocks import offset_s
from hpc.report.trace import SpanLog, Trace


def gather_trace(comm: MPI.Comm, log: SpanLog, about: Mapping[str, Any]) -> Trace | None:
    """Return, on rank 0, the last spans of all ranks on rank 0's clock. Collective.

    about : of the run, see `report.trace.Trace`; `ranks` is added.
    """
    spans = log.spans(offset_s(comm))
    everybody = comm.gather(spans)
    if everybody is None:
        return None
    together = tuple(span for rank_spans in everybody for span in rank_spans)
    return Trace(together, {**about, "ranks": comm.size})
