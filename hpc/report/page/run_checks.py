"""Whether the parts of a run's folder are what runs write, and agree with each other. Pure.

What is not is refused by the file and the name of the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from hpc.io.arguments import Kind
from hpc.report.fields import (
    AMOUNT,
    COUNT,
    NUMBER,
    OBJECT,
    SHARE,
    TEXT,
    WHOLE,
    WORDS,
    lists,
    maybe,
    objects,
    refused,
    shown,
    wrong_field,
    wrong_value,
)
from hpc.report.page.work_kinds import KINDS
from hpc.report.trace import Trace

Object = Mapping[str, Any]

ABOUT = {
    "command": WORDS, "line": TEXT, "options": OBJECT, "ranks": COUNT, "hosts": lists(TEXT),
    "mpi": TEXT, "versions": OBJECT, "commit": maybe(TEXT), "started": TEXT, "ended": TEXT,
    "status": WORDS, "code": maybe(WHOLE), "why": maybe(TEXT), "seconds": AMOUNT,
}  # fmt: skip
EPOCH = {
    "epoch": WHOLE, "loss": maybe(NUMBER), "validation_loss": maybe(NUMBER),
    "accuracy": maybe(SHARE), "validation_accuracy": maybe(SHARE),
    "teacher_accuracy": maybe(SHARE), "seconds": AMOUNT, "losses": maybe(lists(maybe(NUMBER))),
}  # fmt: skip
READING = {
    "what": TEXT, "step": WHOLE, "of": WHOLE, "seconds": AMOUNT, "rate": maybe(AMOUNT),
    "unit": WORDS, "loss": maybe(NUMBER), "wait": maybe(SHARE), "left_s": maybe(AMOUNT),
}  # fmt: skip
EVENTS = {"epoch": (EPOCH, ("epoch",)), "progress": (READING, ("step",))}
"""Events that the page shows: their fields, and those that they must have."""
OF_ALL = {
    "seconds": AMOUNT, "edges_per_s": AMOUNT, "images_per_s": AMOUNT,
    "step_s": AMOUNT, "predicted_step_s": maybe(AMOUNT), "steps": WHOLE, "steps_before": WHOLE,
    "history": lists(OBJECT),
    "kinds_s": objects(lists(AMOUNT)), "idle": lists(AMOUNT),
    "predicted_idle": maybe(lists(AMOUNT)),
}  # fmt: skip
"""Fields of figures."""
PER_RANK = ("start_s", "bytes_read", "rank_edges", "peak_bytes", *(f"{k}_s" for k in KINDS))
OF_SPARSE = {
    "replicas": COUNT, "batch": COUNT, "images": WHOLE,
    **dict.fromkeys(PER_RANK, lists(AMOUNT)),
}  # fmt: skip
OF_RELAYS = dict.fromkeys(PER_RANK, maybe(AMOUNT))
"""Of figures of other commands: one number, of an emulated run."""
LAYERS = ("words", "messages", "most_words", "random_words", "random_messages")
SAID_TWICE = ("schedule", "step_s", "idle")
"""Figures that a trace has as well."""


def check_about(where: object, about: Object) -> None:
    """Check what a run's folder says of the run.

    Parameters
    ----------
    where : the file.
    about : what it holds.

    Raises
    ------
    FormatError : wrong types; as many hosts as there are not ranks.
    """
    _check(where, about, ABOUT)
    ranks, hosts = about.get("ranks"), about.get("hosts")
    if ranks is not None and hosts is not None:
        _check_length(where, "hosts", hosts, ranks)


def check_figures(where: object, figures: Object, about: Object) -> None:
    """Check the figures of a run.

    Parameters
    ----------
    where : the file.
    figures : what it holds.
    about : of the run, checked.

    Raises
    ------
    FormatError : wrong types; lists over ranks of other lengths than there are ranks; another
        command or number of ranks than `about` says.
    """
    command = str(about.get("command", ""))
    _check(where, figures, {"command": WORDS})
    if not figures.get("command", command).startswith(command):
        raise refused(where, f"'command' is {shown(figures['command'])}, the run's '{command}'")
    sparse = command.startswith("spdnn")
    kinds = OF_ALL | (OF_SPARSE if sparse else OF_RELAYS)
    if command != "pipebd profile":  # which has a list of what each rank is
        kinds |= {"ranks": COUNT}
    _check(where, figures, kinds)
    if figures.get("steps_before", 0) > figures.get("steps", inf):
        raise refused(where, f"'steps_before' is {figures['steps_before']}, above 'steps'")
    if figures.get("predicted_step_s") is not None and "step_s" not in figures:
        raise refused(where, "'predicted_step_s' without 'step_s'")
    for number, epoch in enumerate(figures.get("history", ()), 1):
        _check(where, epoch, EPOCH, f" in epoch {number} of 'history'")
    _check_ranks(where, figures, about, sparse)


def _check_ranks(where: object, figures: Object, about: Object, sparse: bool) -> None:
    """Check lists over ranks, and the number of ranks that is said."""
    over_ranks = {name: figures.get(name) for name in ("idle", "predicted_idle")}
    by_kind = figures.get("kinds_s", {})
    over_ranks |= {f"kinds_s.{kind}": by_kind[kind] for kind in KINDS if kind in by_kind}
    if sparse:
        over_ranks |= {name: figures.get(name) for name in PER_RANK}
    said, ranks = figures.get("ranks"), about.get("ranks")
    if isinstance(said, int):
        if ranks is not None and said != ranks:
            raise refused(where, f"'ranks' is {said}, the run has {ranks}")
        ranks = said
    for name, found in over_ranks.items():
        if found is not None:
            ranks = len(found) if ranks is None else ranks
            _check_length(where, name, found, ranks)
    if ranks is not None and ranks % figures.get("replicas", 1):
        raise refused(where, f"'replicas' is {figures['replicas']}, the run has {ranks} rank(s)")


def check_event(where: object, event: Object) -> None:
    """Check an event of a log.

    Parameters
    ----------
    where : file and line.
    event : what the line holds; of kinds that no page shows any.

    Raises
    ------
    FormatError : wrong types; fields that are missing.
    """
    kind = event.get("event")
    fields, needed = EVENTS.get(kind, ({}, ())) if isinstance(kind, str) else ({}, ())
    for name in needed:
        if name not in event:
            raise refused(where, f"no '{name}'")
    _check(where, event, fields)


def check_epochs(where: object, epochs: Iterable[Object]) -> None:
    """Check that all epochs have losses of as many blocks.

    Parameters
    ----------
    where : the file.
    epochs : checked one by one.

    Raises
    ------
    FormatError : they have not.
    """
    blocks = None
    for epoch in epochs:
        if epoch.get("losses"):
            blocks = len(epoch["losses"]) if blocks is None else blocks
            _check_length(where, "losses", epoch["losses"], blocks, "block(s)")


def check_traffic(where: object, traffic: Object, about: Object, figures: Object) -> None:
    """Check the traffic of a run.

    Parameters
    ----------
    where : the file.
    traffic : what it holds.
    about, figures : of the run, checked.

    Raises
    ------
    FormatError : wrong types; no square of as many ranks as a replica has; layers of different
        numbers, or that add up to something else than the pairs.
    """
    _check(where, traffic, {"unit": WORDS, "pairs": lists(lists(WHOLE)), "layers": OBJECT})
    ranks, pairs = about.get("ranks"), traffic.get("pairs")
    if pairs is not None:
        n_ranks = len(pairs) if ranks is None else ranks // figures.get("replicas", 1)
        _check_length(where, "pairs", pairs, n_ranks)
        for sender, row in enumerate(pairs):
            _check_length(where, f"pairs.{sender}", row, n_ranks)
    layers = traffic.get("layers")
    if layers is None:
        return
    _check(where, layers, dict.fromkeys(LAYERS, lists(WHOLE)), " in 'layers'")
    for name in LAYERS[:2]:
        if name not in layers:
            raise refused(where, f"'layers' without '{name}'")
    for name in LAYERS:
        if name in layers:
            _check_length(where, f"layers.{name}", layers[name], len(layers["words"]), "layer(s)")
    words = sum(layers["words"])
    if pairs is not None and sum(map(sum, pairs)) != words:
        raise refused(where, f"'pairs' add up to {sum(map(sum, pairs))} words, 'layers' to {words}")


def check_trace(where: object, trace: Trace, about: Object, figures: Object) -> None:
    """Check that a trace is of the run.

    Parameters
    ----------
    where : the file.
    trace : that `read_trace` found good.
    about, figures : of the run, checked.

    Raises
    ------
    FormatError : of another number of ranks, schedule, step time or idle shares.
    """
    ranks = about.get("ranks")
    if ranks is not None and trace.n_ranks != ranks:
        raise refused(where, f"'ranks' is {trace.n_ranks}, the run has {ranks}")
    for name in SAID_TWICE:
        ours, theirs = trace.about.get(name), figures.get(name)
        if ours is not None and theirs is not None and ours != theirs:
            raise refused(where, f"'{name}' is {shown(ours)}, that of the run {shown(theirs)}")


def _check(where: object, found: Object, kinds: Mapping[str, Kind], place: str = "") -> None:
    wrong = wrong_field(found, kinds) or wrong_value(found)
    if wrong is not None:
        raise refused(where, f"{wrong}{place}")


def _check_length(
    where: object, name: str, found: Sequence[Any], expected: int, what: str = "rank(s)"
) -> None:
    if len(found) != expected:
        raise refused(where, f"'{name}' has {len(found)} entries, expected {expected} {what}")
