"""The trace of a run: every rank's spans on one clock, at rank 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpi4py import MPI

from hpc.comm.clocks import offset_s
from hpc.pipebd.recorder import Kind, Tally
from hpc.report.trace import SpanLog, Trace

ABOUT = ("schedule", "step_s", "idle", "predicted_step_s", "predicted_idle")
"""Figures of a run that its trace says."""


def gather_kinds(comm: MPI.Comm, tally: Tally) -> dict[str, list[float]] | None:
    """Return, on rank 0, the seconds of each kind of span by rank. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run.
    tally : Tally
        This rank's.

    Returns
    -------
    dict of str to list of float, or None
        (N,) seconds by kind, of the kinds that there are; None on other ranks.
    """
    everybody = comm.gather({str(kind): seconds for kind, seconds in tally.seconds.items()})
    if everybody is None:
        return None
    kinds = [str(kind) for kind in Kind if any(str(kind) in mine for mine in everybody)]
    return {kind: [mine.get(kind, 0.0) for mine in everybody] for kind in kinds}


def gather_trace(comm: MPI.Comm, log: SpanLog, figures: Mapping[str, Any]) -> Trace | None:
    """Return, on rank 0, the last spans of all ranks on rank 0's clock. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run.
    log : SpanLog
        This rank's spans.
    figures : mapping of str to Any
        Of the run, with the names of `ABOUT`; those that are not None go with the trace.

    Returns
    -------
    Trace or None
        None on other ranks.
    """
    spans = log.spans(offset_s(comm))
    everybody = comm.gather(spans)
    if everybody is None:
        return None
    together = tuple(span for rank_spans in everybody for span in rank_spans)
    known = {name: figures[name] for name in ABOUT if figures[name] is not None}
    return Trace(together, {**known, "ranks": comm.size})
