"""docs/reference/results.md: every field that runs keep stands there, in a row with its unit."""

from __future__ import annotations

import json
import re

import pytest

from tests.report.conftest import ROOT
from tests.report.reporting import command, figures

TEXT = (ROOT / "docs" / "reference" / "results.md").read_text(encoding="utf-8")
WORDLESS = re.compile(r"(format|version|command|line|options|config|status|code|why|unit)$")


def rows():
    """Yield the rows of tables that have a unit, as head's names to cells."""
    head = None
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells
        elif not line.startswith("|-"):
            yield dict(zip(head, cells, strict=True))


def units():
    """Return the unit of every field that is named anywhere; '' where a row has none."""
    found = {}
    for row in rows():
        for name in re.findall(r"`([\w.]+)`", row.get("Field", "")):
            found.setdefault(name.removeprefix("layers."), []).append(row["Unit"])
    return found


def numeric(value):
    """Return whether a value is a number, or a list of such."""
    if isinstance(value, list):
        return bool(value) and all(map(numeric, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


@pytest.mark.parametrize("which", ["trained", "inferred", "relayed", "distilled"])
def test_every_field_is_there_with_its_unit(which, request):
    found = request.getfixturevalue(which)
    run = found[0] if which == "trained" else found
    traffic = figures(run, "traffic")
    kept = [figures(run), figures(run, "run"), traffic, traffic.get("layers", {})]
    kept += [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    known = units() | {"time": ["UTC"], "event": [""], "layers": [""], "validation_loss": ["in"]}
    for fields in kept:
        for name, value in fields.items():
            if fields.get("event") == "epoch" and f"`{name}`" in TEXT:
                continue  # as in the figures
            assert name in known, name
            if numeric(value) and not WORDLESS.match(name) and name != "loss":
                assert all(known[name]), f"{name} without a unit"


def test_every_field_of_the_pages_numbers_is_there(relayed, tmp_path):
    command(relayed, "--json", tmp_path / "n.json")
    found = json.loads((tmp_path / "n.json").read_text())
    inner = [found, *found["tiles"], *found["pictures"], *found["pictures"][0]["columns"]]
    for name in {name for one in inner for name in one}:
        assert f"`{name}`" in TEXT, name
