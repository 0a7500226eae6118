"""Traces: what every rank did when, as Chrome's tracing and Perfetto read them.

One complete event ("ph": "X") per span, times in microseconds, a thread per rank; step and
block are in "args", what is known of the run in "otherData". Source: the Trace Event Format.

In the file a step is the round's number; the baselines do all rounds of a block and then begin
with the next block at 0. Read, the rounds of a rank are counted on over its blocks.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

from hpc.io.aside import written_aside
from hpc.io.errors import FormatError
from hpc.report.fields import AMOUNT, COUNT, OBJECT, WHOLE, WORDS, lists, wrong_field

FILE = {"traceEvents": lists(OBJECT), "otherData": OBJECT}
ABOUT = {
    "ranks": COUNT, "schedule": WORDS, "step_s": AMOUNT, "idle": lists(AMOUNT),
    "predicted_step_s": AMOUNT, "predicted_idle": lists(AMOUNT),
}  # fmt: skip
SPAN = {"tid": WHOLE, "cat": WORDS, "ts": AMOUNT, "dur": AMOUNT, "args": OBJECT}
SPAN_ARGS = {"step": WHOLE, "block": WHOLE}
"""Fields of the file, and what they must be."""
KEPT_SPANS = 10_000
"""Spans a rank keeps, its last ones: a bound on memory, on what is gathered and on the file."""


class Span(NamedTuple):
    """What a rank did from `start_s` to `end_s`, on a clock that all ranks share."""

    rank: int
    kind: str
    step: int
    block: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Trace:
    """A run.

    spans : of all ranks, a rank's in the order in which they began. about : of the run (schedule,
    step time predicted ...); `step_s` and `idle` are those of the whole run, see `measured`.
    """

    spans: tuple[Span, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_ranks(self) -> int:
        """Ranks of the run: as `about` says, else as far as there are spans."""
        named = self.about.get("ranks")
        return named if isinstance(named, int) else 1 + max(span.rank for span in self.spans)


class SpanLog:
    """Keeps the last spans of one rank, on the rank's own clock.

    Parameters
    ----------
    rank : int
        Whose spans these are.
    kept : int
        So many at most, the last ones.
    """

    def __init__(self, rank: int, kept: int = KEPT_SPANS) -> None:
        self._rank = rank
        self._spans: deque[Span] = deque(maxlen=kept)

    @contextlib.contextmanager
    def span(self, kind: str, step: int, block: int) -> Iterator[None]:
        """Keep when what runs inside began and ended; nothing where it raises.

        Parameters
        ----------
        kind : str
            Of work.
        step : int
            Number of the round.
        block : int
            Number of the block.

        Yields
        ------
        None
            While the work goes on.
        """
        began = perf_counter()
        yield
        self._spans.append(Span(self._rank, str(kind), step, block, began, perf_counter()))

    def spans(self, offset_s: float = 0.0) -> list[Span]:
        """Return the spans, `offset_s` added to their times.

        Parameters
        ----------
        offset_s : float
            Seconds that are added to their times: this rank's clock to the common one.

        Returns
        -------
        list of Span
            In the order in which they ended.
        """
        return [
            span._replace(start_s=span.start_s + offset_s, end_s=span.end_s + offset_s)
            for span in self._spans
        ]


def write_trace(path: str | os.PathLike[str], trace: Trace) -> None:
    """Write a trace; the earliest span begins at 0.

    Parameters
    ----------
    path : str or os.PathLike
        File to write, aside and renamed.
    trace : Trace
        Of all ranks.

    Raises
    ------
    InputError : the file cannot be written.
    """
    zero = min((span.start_s for span in trace.spans), default=0.0)
    ranks = sorted({span.rank for span in trace.spans})
    events = [*map(_thread_name, ranks), *(_event(span, zero) for span in trace.spans)]
    lines = ",\n".join(json.dumps(event) for event in events)
    about = json.dumps(trace.about)
    with written_aside(path) as partial:
        partial.write_text(
            f'{{"displayTimeUnit": "ms",\n"otherData": {about},\n"traceEvents": [\n{lines}\n]}}\n',
            encoding="utf-8",
        )


def _thread_name(rank: int) -> dict[str, Any]:
    args = {"name": f"rank {rank}"}
    return {"ph": "M", "name": "thread_name", "pid": 0, "tid": rank, "args": args}


def _event(span: Span, zero: float) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": f"{span.kind} {span.block}",
        "cat": span.kind,
        "pid": 0,
        "tid": span.rank,
        "ts": round(1e6 * (span.start_s - zero), 3),
        "dur": round(1e6 * (span.end_s - span.start_s), 3),
        "args": {"step": span.step, "block": span.block},
    }


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read what `write_trace` wrote.

    Parameters
    ----------
    path : of the file.

    Returns
    -------
    The trace; times in seconds, the earliest span begins at 0.

    Raises
    ------
    FormatError : missing, not JSON, not a trace of ours, without spans; a number that is none or
        out of range, a rank's spans out of order, by name.
    """
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not a trace of a run, or damaged") from error
    try:
        return _trace(data)
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from error


def _trace(data: Any) -> Trace:
    """Return the trace that decoded JSON says; raise ValueError with what is wrong."""
    damaged = "not a trace of a run, or damaged: "
    if not isinstance(data, dict):
        raise ValueError(f"{damaged}no JSON object")
    if wrong := wrong_field({"otherData": {}} | data, FILE, needed=True):
        raise ValueError(damaged + wrong)
    events = [event for event in data["traceEvents"] if event.get("ph") == "X"]
    about = {name: one for name, one in data.get("otherData", {}).items() if one is not None}
    if wrong := wrong_field(about, ABOUT) or _wrong_span(events):
        raise ValueError(damaged + wrong)
    if not events:
        raise ValueError("a trace without any span")
    found = Trace(tuple(_counted_on(map(_span, events))), about)
    most = max(span.rank for span in found.spans)
    if most >= found.n_ranks:
        raise ValueError(f"{damaged}a span of rank {most}, 'ranks' is {found.n_ranks}")
    return found


def _wrong_span(events: Iterable[Mapping[str, Any]]) -> str | None:
    """Return what is wrong with the first event that is no span of ours, else None."""
    last: dict[int, float] = {}
    for number, event in enumerate(events, 1):
        wrong = wrong_field(event, SPAN, needed=True)
        wrong = wrong or wrong_field(event["args"], SPAN_ARGS, needed=True)
        if wrong is not None:
            return f"span {number}: {wrong}"
        if event["ts"] < last.get(event["tid"], 0):
            return f"span {number}: begins before the one before it of rank {event['tid']}"
        last[event["tid"]] = event["ts"]
    return None


def _span(event: Mapping[str, Any]) -> Span:
    start_s, args = event["ts"] / 1e6, event["args"]
    end_s = start_s + event["dur"] / 1e6
    return Span(event["tid"], event["cat"], args["step"], args["block"], start_s, end_s)


def _counted_on(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans; where a rank begins again with its rounds they are counted on."""
    before: dict[int, int] = {}
    seen: dict[int, int] = {}
    for span in spans:
        last = seen.get(span.rank, span.step)
        if span.step < last:
            before[span.rank] = before.get(span.rank, 0) + last + 1
        seen[span.rank] = span.step
        yield span._replace(step=span.step + before.get(span.rank, 0))


@dataclass(frozen=True)
class Window:
    """Steps first..last-1."""

    first: int
    last: int

    def __len__(self) -> int:
        """Return how many steps."""
        return self.last - self.first


def steady(trace: Trace, most: int | None = None) -> Window:
    """Return steps that all ranks do, and the one after them, without the first and last fifth.

    Parameters
    ----------
    trace : with spans.
    most : at most so many, from the middle.

    Returns
    -------
    The window; without any step where the ranks have none in common.
    """
    seen: dict[int, set[int]] = {}
    for span in trace.spans:
        seen.setdefault(span.rank, set()).add(span.step)
    common = sorted(set.intersection(*seen.values()))
    if not common:
        return Window(0, 0)
    edge = (len(common) - 1) // 5
    common = common[edge : len(common) - edge]
    if most is not None and len(common) - 1 > most:
        begin = (len(common) - 1 - most) // 2
        common = common[begin : begin + most + 1]
    return Window(common[0], common[-1])


def start_of(trace: Trace, step: int) -> dict[int, float]:
    """Return for each rank that does `step` when it begins.

    Parameters
    ----------
    trace : Trace
        Of all ranks.
    step : int
        Its number.

    Returns
    -------
    dict of int to float
        Rank to seconds, on the clock that all ranks share.
    """
    starts: dict[int, float] = {}
    for span in trace.spans:
        if span.step == step:
            starts[span.rank] = min(starts.get(span.rank, span.start_s), span.start_s)
    return starts


def step_s(trace: Trace, window: Window) -> float:
    """Return what a step takes: the mean over a window, on the slowest rank.

    Parameters
    ----------
    trace : Trace
        Of all ranks.
    window : Window
        From `steady`: its end must be a step that is there.

    Returns
    -------
    float
        Seconds; 0 for an empty window.
    """
    return max(_took(trace, window).values(), default=0.0) / max(len(window), 1)


def idle_shares(trace: Trace, window: Window, waiting: Collection[str]) -> tuple[float, ...]:
    """Return for every rank the share of a window that it spends on kinds of `waiting`.

    A rank that did nothing is idle throughout.

    Parameters
    ----------
    trace : Trace
        Of all ranks.
    window : Window
        From `steady`.
    waiting : collection of str
        Kinds in which a rank has nothing to do.

    Returns
    -------
    tuple of float
        One a rank, of its own time for the window.
    """
    took = _took(trace, window)
    waited = dict.fromkeys(took, 0.0)
    for span in trace.spans:
        if window.first <= span.step < window.last and span.kind in waiting and span.rank in took:
            waited[span.rank] += span.end_s - span.start_s
    ranks = range(trace.n_ranks)
    return tuple(waited[rank] / took[rank] if took.get(rank) else 1.0 for rank in ranks)


def of_whole_run(trace: Trace) -> bool:
    """Return whether the trace says what the run itself measured.

    Parameters
    ----------
    trace : Trace
        As it was read.

    Returns
    -------
    bool
        Whether `about` has a step's seconds, and an idle share for every rank.
    """
    return "step_s" in trace.about and len(trace.about.get("idle") or ()) == trace.n_ranks


def measured(
    trace: Trace, window: Window, waiting: Collection[str]
) -> tuple[float, tuple[float, ...]]:
    """Return seconds of a step and idle share of every rank.

    They are the run's own where the trace has them: a step is then one batch through all blocks.
    Else they are worked out from a window, whose steps are rounds: in a baseline, of one block.

    Parameters
    ----------
    trace : Trace
        Of all ranks.
    window : Window
        From `steady`.
    waiting : collection of str
        Kinds in which a rank has nothing to do.

    Returns
    -------
    step_s : float
        Seconds of a step.
    idle : tuple of float
        Share of every rank's time.
    """
    if of_whole_run(trace):
        return float(trace.about["step_s"]), tuple(map(float, trace.about["idle"]))
    return step_s(trace, window), idle_shares(trace, window, waiting)


def _took(trace: Trace, window: Window) -> dict[int, float]:
    """Return per rank the seconds of a window: from its own begin to the step after.

    At any time each rank is at another step.
    """
    begin, end = start_of(trace, window.first), start_of(trace, window.last)
    return {rank: end[rank] - begin[rank] for rank in begin if rank in end}
