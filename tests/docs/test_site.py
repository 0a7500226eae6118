"""The pages are built without a warning, fetch nothing, and name every option there is."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec

import pytest

from hpc.cli.tree import commands, subcommands
from hpc.command_line import build_parser
from tests.launching import ROOT

pytestmark = pytest.mark.skipif(not find_spec("mkdocs"), reason="needs the extra docs")
PICTURES = (".svg", ".png")
FETCHING = {"script": "src", "img": "src", "iframe": "src", "source": "src"}
"""Tags and their attributes that make a browser fetch something; and links to style sheets."""


class Fetched(HTMLParser):
    """Collects what a browser fetches to show a page."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in FETCHING:
            self.found.append(values.get(FETCHING[tag]) or "")
        elif tag == "link" and values.get("rel") not in ("next", "prev", "canonical"):
            self.found.append(values.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages, built."""
    folder = tmp_path_factory.mktemp("site")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        ["timeout", "170", sys.executable, "-m", "mkdocs", "build", "-q", "-d", folder],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0 and not built.stderr, built.stderr
    return folder


def test_nothing_is_fetched_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        found = Fetched(page.read_text(encoding="utf-8")).found
        assert found and not [one for one in found if re.match(r"(\w+:)?//", one)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_the_page_on_own_models_shows_the_files(site):
    page = html.unescape((site / "howto" / "own-models.html").read_text(encoding="utf-8"))
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    for name in ("examples/spdnn_infer.py", "demo/my_blocks.py"):
        assert re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8")).strip() in shown, name


def test_every_picture_is_there(site):
    for page in set(site.rglob("*.html")) - {site / "404.html"}:  # whose paths are a server's
        for one in Fetched(page.read_text(encoding="utf-8")).found:
            if one.endswith(PICTURES):
                assert (page.parent / one).exists(), f"{page}: {one}"


def test_every_option_of_hpc_is_listed(site):
    page = html.unescape((site / "reference" / "options-hpc.html").read_text(encoding="utf-8"))
    for words, command in commands(build_parser()):
        if subcommands(command):
            continue
        _, found, rest = page.partition(f"<code>hpc {' '.join(words)}</code>")
        assert found, words
        section = rest.split("<h2", 1)[0]
        for action in command._actions:
            for option in action.option_strings:
                assert option in ("-h", "--help") or f"{option}" in section, (words, option)


def test_functions_are_documented_with_their_parameters(site):
    page = html.unescape((site / "reference" / "api-spdnn.html").read_text(encoding="utf-8"))
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    assert "hpc.spdnn.infer" in text
    assert "any intracommunicator; only its ranks take part." in text
    assert not re.search(r"\( ?any intracommunicator", text), "a description shown as a type"
