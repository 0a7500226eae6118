"""Pictures of the ranks: where their time went, predicted against measured, timeline. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hpc.report.page.charts import Axis, Bars, Column, Picture, Table, Timeline, Value
from hpc.report.page.prediction import group_size
from hpc.report.page.run_data import RunData
from hpc.report.page.whole_time import APART, bars_against
from hpc.report.page.work_kinds import KINDS, WAITING, kinds_of
from hpc.report.trace import Trace, idle_shares, measured, of_whole_run, steady, step_s

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
        yield _time(run, seconds)
    yield from _predicted_relay(run.figures)
    yield from _predicted_batch(run)
    if run.trace is not None:
        yield from _timeline(run.trace)


def _time(run: RunData, seconds: Mapping[str, Sequence[float]]) -> Picture:
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
        f"What the ranks spent their time on; grey is waiting. {bars_against(run)}".strip(),
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
        "Predicted from the profile of single blocks; measured: the mean over all steps of the "
        "run, without validation.",
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
        "Idle share of every rank in the whole run, predicted and measured",
        "Share of the time of all steps, without validation, in which a rank has nothing to do: "
        "it waits, or is done before the slowest.",
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
    passes = 0 if found is None else _passes(figures)
    if found is None or passes <= 0 or not kinds_of(figures):
        return
    at = found["parts"].index(group_size(figures))
    per_batch = {
        kind: sum(one) / len(one) / passes
        for kind, one in kinds_of(figures).items()
        if kind not in APART
    }
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
        f"Predicted by 'partition predict' for batches of {found['batch']}; measured: the mean "
        "over ranks and batches, without reading and validation.",
        Table(
            (Column(""), Column("predicted", "ms", ",.3f"), Column("measured", "ms", ",.3f")),
            tuple(rows),
        ),
        Bars(Axis(""), Axis("time of a batch", "ms"), ("predicted", "measured"), parts),
    )


def _passes(figures: Mapping[str, Any]) -> int:
    """Return how many batches a replica ran since the clocks of the ranks began; 0: not known."""
    if "steps" in figures:
        return int(figures["steps"]) - int(figures.get("steps_before", 0))
    images, batch = figures.get("images", 0), figures.get("batch", 1)
    return -(-images // (batch * figures.get("replicas", 1)))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def _timeline(trace: Trace) -> Iterator[Picture]:
    """Yield the timeline. Its rounds are a part of the run, and so are figures of them."""
    part, shown = steady(trace), steady(trace, STEPS_SHOWN)
    if not len(shown) or step_s(trace, part) <= 0:
        return
    kinds = [kind for kind in KINDS if any(span.kind == kind for span in trace.spans)]
    spent = {(rank, kind): 0.0 for rank in range(trace.n_ranks) for kind in kinds}
    for span in trace.spans:
        if part.first <= span.step < part.last and (span.rank, span.kind) in spent:
            spent[span.rank, span.kind] += span.end_s - span.start_s
    rounds = f"rounds {part.first} to {part.last - 1}"
    idle = {f"idle, {rounds}": idle_shares(trace, part, WAITING)}
    if of_whole_run(trace):
        idle["idle, whole run"] = measured(trace, part, WAITING)[1]
    columns = (
        Column("rank", form="d"),
        *(Column(kind, "ms", ",.2f") for kind in kinds),
        *(Column(title, form=".1%") for title in idle),
    )
    rows = tuple(
        (
            rank,
            *(1e3 * spent[rank, kind] / len(part) for kind in kinds),
            *(shares[rank] for shares in idle.values()),
        )
        for rank in range(trace.n_ranks)
    )
    schedule = trace.about.get("schedule")
    yield Picture(
        "timeline",
        f"Timeline{f' of {schedule}' if schedule else ''}",
        f"What every rank did when; colours are blocks. Kinds of work are means of {rounds}, and "
        f"so is 'idle, {rounds}': the share in which a rank waits, validation between them "
        f"included. {_whole_run(trace)}".strip(),
        Table(columns, rows),
        Timeline(trace, shown, WAITING),
    )


def _whole_run(trace: Trace) -> str:
    """Return what a timeline's table has of the whole run, in words."""
    if not of_whole_run(trace):
        return ""
    return (
        "'idle, whole run' is of all steps, without validation; a rank that is done before the "
        f"slowest is idle until then. A step took {1e3 * float(trace.about['step_s']):.2f} ms, the "
        "mean of the whole run."
    )
