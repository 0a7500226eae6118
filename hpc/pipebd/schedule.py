"""A schedule as data: which ranks run which blocks. Printed, parsed and validated, no processes.

Paper: pipe-bd, automatic hybrid distribution. Blocks and ranks are cut into
groups of neighbours; every rank of a group runs all blocks of the group on its
share of the batch. `0-2@0-2 3-5@3` is blocks 0..2 on ranks 0..2, blocks 3..5 on rank 3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hpc.io.errors import InputError

_GROUP = re.compile(r"(\d+)(?:-(\d+))?@(\d+)(?:-(\d+))?")
_IDLE = re.compile(r"\s*\((\d+) ranks, (\d+) idle\)\s*$")


@dataclass(frozen=True)
class Group:
    """Neighbouring blocks on neighbouring ranks.

    Attributes
    ----------
    blocks : range
        Numbers of the blocks, from 0.
    ranks : range
        Each runs all of the blocks, on its share of the batch.
    """

    blocks: range
    ranks: range

    @property
    def size(self) -> int:
        """Over how many ranks the batch is split."""
        return len(self.ranks)

    def __str__(self) -> str:
        return f"{_span(self.blocks)}@{_span(self.ranks)}"


@dataclass(frozen=True)
class Schedule:
    """Groups in the order of the relay, then `idle` trailing ranks that run nothing.

    Attributes
    ----------
    groups : tuple of Group
        At least one.
    idle : int
        How many ranks follow the last group's.
    """

    groups: tuple[Group, ...]
    idle: int = 0

    @property
    def text(self) -> str:
        """The groups alone: `0-2@0-2 3-5@3`."""
        return " ".join(map(str, self.groups))

    @property
    def n_ranks(self) -> int:
        """How many ranks it is for, idle ones included."""
        return self.groups[-1].ranks.stop + self.idle

    def group_of(self, rank: int) -> int | None:
        """Return the index of the group of `rank`; None for an idle rank.

        Parameters
        ----------
        rank : int
            Of the job, from 0.

        Returns
        -------
        int or None
            Index into `groups`.
        """
        found = (g for g, group in enumerate(self.groups) if rank in group.ranks)
        return next(found, None)

    def __str__(self) -> str:
        if not self.idle:
            return self.text
        return f"{self.text} ({self.n_ranks} ranks, {self.idle} idle)"


def _span(numbers: range) -> str:
    if len(numbers) == 1:
        return str(numbers.start)
    return f"{numbers.start}-{numbers.stop - 1}"


def parse(text: str) -> Schedule:
    """Return the schedule that `text` spells, the inverse of `str(schedule)`.

    Parameters
    ----------
    text : str
        `BLOCKS@RANKS` once per group; ranks left idle at the end are said so:
        `0@0 1@1 (4 ranks, 2 idle)`.

    Returns
    -------
    Schedule
        As written: not checked against a job, see `validate`.

    Raises
    ------
    InputError : no group; a word that is not of that form or counts down; a number of ranks
        that is not that of the groups and the idle ones.
    """
    stated = _IDLE.search(text)
    words = text[: stated.start() if stated else None].split()
    if not words:
        raise InputError(f"schedule {text!r} is empty; expected groups such as '0-2@0-2 3-5@3'")
    groups = tuple(_parse_group(word, text) for word in words)
    if stated is None:
        return Schedule(groups)
    schedule = Schedule(groups, int(stated[2]))
    if schedule.n_ranks != int(stated[1]):
        raise InputError(
            f"schedule {text!r}: its groups and {stated[2]} idle ranks make "
            f"{schedule.n_ranks} ranks, it says {stated[1]}"
        )
    return schedule


def _parse_group(word: str, text: str) -> Group:
    match = _GROUP.fullmatch(word)
    if match is None:
        raise InputError(
            f"schedule {text!r}: cannot read {word!r}; expected BLOCKS@RANKS, "
            "each a number or FIRST-LAST, such as '0-2@0-1'"
        )
    blocks, ranks = _parse_span(match[1], match[2]), _parse_span(match[3], match[4])
    if not blocks or not ranks:
        raise InputError(
            f"schedule {text!r}: {word!r} counts down; write FIRST-LAST, first <= last"
        )
    return Group(blocks, ranks)


def _parse_span(first: str, last: str | None) -> range:
    return range(int(first), int(last or first) + 1)


def validate(schedule: Schedule, n_blocks: int, n_ranks: int, batch: int) -> None:
    """Check that `schedule` runs every block once, on ranks that exist, with a share each.

    Parameters
    ----------
    schedule : Schedule
        From `parse` or a search.
    n_blocks : int
        B, of the network.
    n_ranks : int
        N, of the job, idle ones included.
    batch : int
        Samples of a step.

    Raises
    ------
    InputError : more groups than blocks; a block or rank missed, repeated, out of order or
        that does not exist; a batch smaller than a group's split.
    """
    where = f"schedule '{schedule}'"
    if len(schedule.groups) > n_blocks:
        raise InputError(
            f"{where} has {len(schedule.groups)} groups for {n_blocks} blocks; "
            f"at most {n_blocks} groups can have a block each: merge groups"
        )
    _check_cover([group.blocks for group in schedule.groups], n_blocks, n_blocks, "block", where)
    _check_ranks(schedule, n_ranks, where)
    _check_split(schedule, batch, where)


def _check_ranks(schedule: Schedule, n_ranks: int, where: str) -> None:
    ranks = [group.ranks for group in schedule.groups]
    due = ranks[-1].stop if schedule.idle else n_ranks
    try:
        _check_cover(ranks, n_ranks, due, "rank", where)
    except _TailError as error:
        meant = Schedule(schedule.groups, n_ranks - ranks[-1].stop)
        raise InputError(f"{error}; to leave the last {meant.idle} idle write '{meant}'") from None
    if schedule.idle and schedule.n_ranks != n_ranks:
        raise InputError(f"{where} is for {schedule.n_ranks} ranks; the job has {n_ranks}")


class _TailError(InputError):
    """The last ones are missed, and nothing else is wrong."""


def _check_cover(spans: list[range], count: int, end: int, what: str, where: str) -> None:
    """Check that the spans, in this order, cover 0..end-1 once each and stay below `count`."""
    due = 0
    for span in spans:
        if span.stop > count:
            raise InputError(
                f"{where} names {what} {span.stop - 1}, which does not exist; "
                f"valid are {what}s 0..{count - 1}"
            )
        if span.start < due:
            raise InputError(
                f"{where} repeats {what} {span.start} or is out of order; "
                f"{what}s {_span(span)} come where {what} {due} is due"
            )
        if span.start > due:
            raise InputError(_misses(range(due, span.start), end, what, where))
        due = span.stop
    if due < end:
        raise _TailError(_misses(range(due, end), end, what, where))


def _misses(missed: range, end: int, what: str, where: str) -> str:
    return (
        f"{where} misses {what}{'s' if len(missed) > 1 else ''} {_span(missed)}; "
        f"each of {what}s 0..{end - 1} must be in one group, in order"
    )


def _check_split(schedule: Schedule, batch: int, where: str) -> None:
    for group in schedule.groups:
        if group.size > batch:
            raise InputError(
                f"{where}: group {group} splits a batch of {batch} over {group.size} ranks; "
                f"use a batch of at least {group.size} or at most {batch} ranks in a group"
            )
