"""The trace of a run: every rank's spans on one clock, at rank 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpi4py import MPI

from hpc.comm.clocks import offset_s
from hpc.pipebd.recorder import Kind, Tally
from hpc.report.trace import SpanLog, Trace


def gather_kinds(comm: MPI.Comm, tally: Tally) -> dict[str, list[float]] | None:
    """Return, on rank 0, the seconds of each kind of span by rank. Collective."""
    everybody = comm.gather({str(kind): seconds for kind, seconds in tally.seconds.items()})
    if everybody is None:
        return None
    kinds = [str(kind) for kind in Kind if any(str(kind) in mine for mine in everybody)]
    return {kind: [mine.get(kind, 0.0) for mine in everybody] for kind in kinds}


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
