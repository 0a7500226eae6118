"""Pictures of the ranks: where their time went, predicted against measured, timeline. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hpc.report.page.charts import Axis, Bars, Column, Picture, Table, Timeline, Value
from hpc.report.page.run_data import RunData
from hpc.report.trace import Trace, measured, of_whole_run, steady, step_s

KINDS = {
    "compute": 0, "pack": 1, "merge": 3, "read": 2, "wait": -1,
    "teacher": 6, "student": 0, "update": 3, "reduce": 1, "validate": 4, "load": 2,
    "receive": -1, "send": -2, "barrier": -3,
}  # fmt: skip
"""Kinds of work in the order in which they are stacked, and their colours; greys are waiting."""
WAITING = tuple(kind for kind, colour in KINDS.items() if colour < 0)
STEPS_SHOWN = 4


def rank_pictures(run: RunData) -> Iterator[Picture]:
    """Yield the pictures that the run has numbers for.

    Parameters
    ----------
    run : RunData
        What is known of the run.

    Yields
    ------
    Picture
        Time of every rank, predicted against measured, timeline.
    """
    seconds = kinds_of(run.figures)
    if seconds:
        yield _time(seconds)
    yield from _predicted_relay(run.figures)
    yield from _predicted_batch(run)
    if run.trace is not None:
        yield from _timeline(run.trace)


def kinds_of(figures: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the seconds of each kind by rank; of kinds that took any time, in KINDS' order.

    Parameters
    ----------
    figures : mapping of str to Any
        Of the run.

    Returns
    -------
    dict of str to list of float
        Seconds by rank, for the kinds that took any time, in the order of KINDS; empty where they
        are not known.
    """
    found = figures.get("kinds_s") or {
        kind: figures[f"{kind}_s"] for kind in KINDS if isinstance(figures.get(f"{kind}_s"), list)
    }
    return {kind: list(found[kind]) for kind in KINDS if kind in found and any(found[kind])}


def _time(seconds: Mapping[str, Sequence[float]]) -> Picture:
    n_ranks = len(next(iter(seconds.values())))
    ranks = range(n_ranks)
    total = [sum(one[rank] for one in seconds.values()) for rank in ranks]
    columns = (
        Column("rank", form="d"),
        *(Column(kind, "s", ".3f") for kind in seconds),
        Column("all", "s", ".3f"),
    )
    rows = tuple((rank, *(one[rank] for one in seconds.values()), total[rank]) for rank in ranks)
    parts = tuple((kind, tuple(values), KINDS[kind]) for kind, values in seconds.items())
    return Picture(
        "time",
        "Time of every rank",
        "What the ranks spent their time on; grey is waiting.",
        Table(columns, rows),
        Bars(Axis("rank"), Axis("time", "s"), tuple(map(str, ranks)), parts),
    )


def _predicted_relay(figures: Mapping[str, Any]) -> Iterator[Picture]:
    """Yield step time and idle shares of a schedule, predicted and measured."""
    predicted_s, idle = figures.get("predicted_step_s"), figures.get("predicted_idle")
    if predicted_s is None:
        return
    rows: list[tuple[Value, ...]] = [("step", 1e3 * predicted_s, 1e3 * figures["step_s"])]
    columns = (
        Column("of a step"),
        Column("predicted", "ms", ",.2f"),
        Column("measured", "ms", ",.2f"),
    )
    yield Picture(
        "predicted-step",
        "Step time, predicted and measured",
        "Predicted from the profile of single blocks, measured over the whole run.",
        Table(columns, tuple(rows)),
        Bars(
            Axis(""),
            Axis("time of a step", "ms"),
            ("predicted", "measured"),
            (("step", (1e3 * predicted_s, 1e3 * figures["step_s"]), 0),),
        ),
    )
    if not idle or len(idle) != len(figures.get("idle", ())):
        return
    pairs = list(zip(idle, figures["idle"], strict=True))
    yield Picture(
        "predicted-idle",
        "Idle share of every rank, predicted and measured",
        "Share of a step in which a rank has nothing to do.",
        Table(
            (
                Column("rank", form="d"),
                Column("predicted", form=".1%"),
                Column("measured", form=".1%"),
            ),
            tuple((rank, one, other) for rank, (one, other) in enumerate(pairs)),
        ),
        Bars(
            Axis("rank"),
            Axis("idle", percent=True),
            tuple(str(rank) for rank in range(len(pairs))),
            (
                ("predicted", tuple(one for one, _ in pairs), 0),
                ("measured", tuple(other for _, other in pairs), 1),
            ),
            stacked=False,
        ),
    )


def _predicted_batch(run: RunData) -> Iterator[Picture]:
    """Yield the time of a batch by `partition predict` beside that of this run."""
    found, figures = run.predicted, run.figures
    ranks = figures.get("ranks")
    if found is None or ranks not in found.get("parts", ()) or not kinds_of(figures):
        return
    at, passes = found["parts"].index(ranks), _passes(run)
    if not passes:
        return
    per_batch = {k: sum(v) / len(v) / passes for k, v in kinds_of(figures).items() if k != "read"}
    predicted = {
        "compute": found["compute_s"][at],
        "messages": found["latency_s"][at] + found["bandwidth_s"][at],
        "imbalance": found["imbalance_s"][at],
    }
    colours = {"compute": 0, "messages": 5, "imbalance": 3, "pack": 1, "merge": 9, "wait": -1}
    names = [*predicted, *(kind for kind in per_batch if kind not in predicted)]
    rows = [(name, _ms(predicted.get(name)), _ms(per_batch.get(name))) for name in names]
    rows.append(("all", _ms(sum(predicted.values())), _ms(sum(per_batch.values()))))
    parts = tuple(
        (name, (_ms(predicted.get(name)) or 0.0, _ms(per_batch.get(name)) or 0.0), colours[name])
        for name in names
    )
    yield Picture(
        "predicted-batch",
        "Time of a batch, predicted and measured",
        f"Predicted by 'partition predict' for batches of {found.get('batch')}; measured: the mean "
        "over ranks and batches.",
        Table(
            (Column(""), Column("predicted", "ms", ",.3f"), Column("measured", "ms", ",.3f")),
            tuple(rows),
        ),
        Bars(Axis(""), Axis("time of a batch", "ms"), ("predicted", "measured"), parts),
    )


def _passes(run: RunData) -> int:
    """Return how many batches a replica ran."""
    figures = run.figures
    if "steps" in figures:
        return int(figures["steps"])
    images, batch = figures.get("images", 0), figures.get("batch", 1)
    return -(-images // (batch * figures.get("replicas", 1)))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def _timeline(trace: Trace) -> Iterator[Picture]:
    whole, shown = steady(trace), steady(trace, STEPS_SHOWN)
    if not len(shown) or step_s(trace, whole) <= 0:
        return
    each_s, idle = measured(trace, whole, WAITING)
    kinds = [kind for kind in KINDS if any(span.kind == kind for span in trace.spans)]
    spent = {(rank, kind): 0.0 for rank in range(trace.n_ranks) for kind in kinds}
    for span in trace.spans:
        if whole.first <= span.step < whole.last and (span.rank, span.kind) in spent:
            spent[span.rank, span.kind] += span.end_s - span.start_s
    columns = (
        Column("rank", form="d"),
        *(Column(kind, "ms", ",.2f") for kind in kinds),
        Column("idle", form=".1%"),
    )
    rows = tuple(
        (rank, *(1e3 * spent[rank, kind] / len(whole) for kind in kinds), idle[rank])
        for rank in range(trace.n_ranks)
    )
    schedule = trace.about.get("schedule")
    yield Picture(
        "timeline",
        f"Timeline{f' of {schedule}' if schedule else ''}",
        f"What every rank did when; colours are blocks. A step takes {1e3 * each_s:.2f} ms"
        f"{', which like the idle shares is of the whole run' if of_whole_run(trace) else ''}; the "
        f"kinds of work are means of the rounds {whole.first} to {whole.last - 1}, validation "
        "between them included.",
        Table(columns, rows),
        Timeline(trace, shown, WAITING),
    )
