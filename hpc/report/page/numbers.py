"""The numbers of a page for machines, as `report --json` has them: tiles, tables, notes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hpc.report.page.charts import Column, Picture
from hpc.report.page.run_data import RunData
from hpc.report.page.summary import tiles


def numbers_of(run: RunData, pictures: Sequence[Picture]) -> dict[str, Any]:
    """Return the numbers of a page.

    Parameters
    ----------
    run : that the page is about.
    pictures : of the run, see `pictures_of`.

    Returns
    -------
    Plain data: values exact, in the unit that stands beside them; 'share' is in 0..1.
    """
    return {
        "command": run.command,
        "status": run.about.get("status"),
        "tiles": [
            {"name": tile.name, "value": tile.value, "unit": tile.unit, "covers": tile.covers}
            for tile in tiles(run)
        ],
        "pictures": [
            {
                "name": picture.name,
                "title": picture.title,
                "caption": picture.caption,
                "columns": [
                    {"title": column.title, "unit": _unit(column)}
                    for column in picture.table.columns
                ],
                "rows": [list(row) for row in picture.table.rows],
            }
            for picture in pictures
        ],
        "notes": [{"file": note.file, "why": note.why} for note in run.notes],
    }


def _unit(column: Column) -> str:
    return "share" if column.form.endswith("%") else column.unit
