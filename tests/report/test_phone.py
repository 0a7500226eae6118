"""The page on a phone: nothing is wider than the screen, and no words of a picture overlap."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from tests.report.browser import CHROMIUM, browsed
from tests.report.reporting import command

WIDTHS = (390, 320)
SCRIPT = Path(__file__).with_name("phone.js").read_text(encoding="utf-8")


def measured(page, width, tmp_path):
    """Return what `phone.js` finds of a page in a frame of this width."""
    outer = tmp_path / "phone.html"
    inner = html.escape(page.read_text(encoding="utf-8"))
    outer.write_text(
        f'<iframe width="{width}" height="800" style="border:0" srcdoc="{inner}"></iframe>'
        f"<script>{SCRIPT}</script>",
        encoding="utf-8",
    )
    said, document = browsed(outer, tmp_path, "--dump-dom", "--window-size=600,900")
    assert said == []
    (found,) = re.findall(r'<pre id="measured">(.*)</pre>', document)
    return json.loads(html.unescape(found))


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
@pytest.mark.parametrize("which", ["trained", "relayed", "distilled", "inferred"])
def test_it_fits(which, request, tmp_path):
    found = request.getfixturevalue(which)
    page = tmp_path / "page.html"
    command(found[0] if which == "trained" else found, "--html", page)
    for width in WIDTHS:
        found = measured(page, width, tmp_path)
        assert found.pop("texts") > 20
        assert found == {"wide": [], "cut": [], "over": []}, width


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_what_does_not_fit_is_noticed(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<style>h2 { width: 9rem; white-space: nowrap; overflow: hidden }</style>"
        '<p style="width: 400px">wide</p><h2>cut off, since it is a long heading</h2>'
        '<svg width="300" height="60"><text x="9" y="30">one</text><text x="12" y="32">two</text>'
        '<text x="290" y="30">three</text></svg>'
    )
    found = measured(page, 390, tmp_path)
    assert found["over"] == [["one", "two"], ["three", "edge"]]
    assert [text.split()[1] for text in found["wide"] + found["cut"]] == ["wide", "cut"]
