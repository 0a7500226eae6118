"""Files of a run in which others have changed anything: a page, or one line and exit code 2."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.report.reporting import parsed

EXAMPLES = 60
ODD = (10**400, -0.0, 5e-324, 1.7e308, "\ud800", "a\nb", "", "nan")
PLAIN = some.none() | some.booleans() | some.integers(-3, 9) | some.integers() | some.floats()
ANY = some.recursive(
    PLAIN | some.sampled_from(ODD) | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NOT_FOR_USERS = re.compile(r"[A-Z]\w+Error\b|object is not|unsupported|not iterable|not subscript")


def places(found):
    """Return every place in decoded JSON: container, and key or index."""
    here = found.items() if isinstance(found, dict) else enumerate(found)
    every = []
    for key, value in here:
        every.append((found, key))
        if isinstance(value, dict | list):
            every += places(value)
    return every


def damage(run, data):
    """Set one place in a file of a run to anything, or leave it out."""
    path = data.draw(some.sampled_from(sorted(run.glob("*.json*"))), "file")
    lines = path.read_text().splitlines()
    whole = path.suffix == ".json"
    at = 0 if whole else data.draw(some.integers(0, len(lines) - 1), "line")
    found = json.loads(path.read_text() if whole else lines[at])
    if not isinstance(found, dict | list) or not found:
        return  # was damaged before
    container, key = data.draw(some.sampled_from(places(found)), "place")
    if data.draw(some.booleans(), "leave out"):
        del container[key]
    else:
        container[key] = data.draw(ANY, "value")
    lines[at] = json.dumps(found)
    path.write_text(lines[0] if whole else "\n".join(lines))


def reported(run, *outputs):
    """Return exit code and standard error of `report`, run in this process."""
    args, told = parsed(run, *outputs, "--quiet"), io.StringIO()
    with contextlib.redirect_stderr(told):
        code = args.run_alone(args)
    return code, told.getvalue()


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(some.data())
def test_a_page_or_one_line(relayed, trained, distilled, data):
    run = data.draw(some.sampled_from([relayed, trained[0], distilled]), "run")
    with tempfile.TemporaryDirectory() as name:
        copy, page = Path(name) / "run", Path(name) / "page.html"
        shutil.copytree(run, copy)
        for _ in range(data.draw(some.integers(1, 3), "times")):
            damage(copy, data)
        code, said = reported(copy, "--html", page, "--json", page.with_suffix(".json"))
        if code == 0:
            assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
            assert json.loads(page.with_suffix(".json").read_text())["pictures"] is not None
            assert all(line.startswith("hpc: warning: ") for line in said.splitlines())
            return
        assert code == 2 and not page.exists()
        (line,) = said.splitlines()
        assert line.startswith(f"hpc: error: {copy}") and not NOT_FOR_USERS.search(line)
