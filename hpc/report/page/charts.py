"""Charts and tables as data: what is drawn, not how. Every picture has its numbers beside it."""

from __future__ import annotations

from dataclasses import dataclass

from hpc.report.trace import Trace, Window

Value = float | int | str | None
Point = tuple[float, float]


@dataclass(frozen=True)
class Column:
    """Of a table. form : of its numbers, as `format` takes it; '' for text."""

    title: str
    unit: str = ""
    form: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of values, exact as they were stored; columns say how they are shown."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Axis:
    """percent : values are shares and are shown as per cent. log : logarithmic."""

    label: str
    unit: str = ""
    percent: bool = False
    log: bool = False

    @property
    def text(self) -> str:
        """Label and unit."""
        unit = "%" if self.percent else self.unit
        return f"{self.label} [{unit}]" if unit else self.label


@dataclass(frozen=True)
class Series:
    """points : x ascending. colour : number of a colour; negative ones are greys, for waiting."""

    name: str
    points: tuple[Point, ...]
    colour: int = 0


@dataclass(frozen=True)
class Lines:
    """Lines over a common x. marks : points are marked. whole : x are whole numbers."""

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: bool = False
    whole: bool = False

    def dashed(self, place: int) -> bool:
        """Return whether a line is dashed, so that one below it is seen where they coincide.

        Parameters
        ----------
        place : of its series.

        Returns
        -------
        Whether it is the second or third of so few.
        """
        return place > 0 and len(self.series) <= 3


@dataclass(frozen=True)
class Bars:
    """Bars of categories: parts of a series on top of each other, or beside each other.

    x : of the categories. parts : one value per category each.
    """

    x: Axis
    y: Axis
    categories: tuple[str, ...]
    parts: tuple[tuple[str, tuple[float, ...], int], ...]
    stacked: bool = True


@dataclass(frozen=True)
class Heat:
    """A square matrix. Rows from above, columns from the left, each `step` ranks."""

    rows: Axis
    columns: Axis
    values: tuple[tuple[float, ...], ...]
    unit: str
    step: int = 1


@dataclass(frozen=True)
class Timeline:
    """What every rank did when. window : what is shown first. waiting : kinds of nothing to do."""

    trace: Trace
    window: Window
    waiting: tuple[str, ...]


Chart = Lines | Bars | Heat | Timeline


@dataclass(frozen=True)
class Picture:
    """A chart with its numbers. name : of its files and its anchor."""

    name: str
    title: str
    caption: str
    table: Table
    chart: Chart
