"""The commands in a page of Markdown: blocks fenced as sh, and in the README indented ones.

What cannot be run has a comment on the line before that says why: `<!-- skip: REASON -->` for the
block that follows, `<!-- skip WORDS; WORDS: REASON -->` for its commands with these words.

`<!-- printed -->` before a paragraph says that what stands in it `like this` is printed by the
page's commands, figures among them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SKIP = re.compile(r"<!-- skip(?P<words> [^:]*)?: (?P<reason>\S.*?) -->\n\s*\Z")
_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_INDENTED = re.compile(r"(?<=\n\n)(?P<text>(?:    .*\n|\n(?=    ))+)")
_PRINTED = re.compile(r"^<!-- printed -->\n(?P<text>(?:.+\n)+)", re.M)
_COMMAND = re.compile(r"(python|mpirun|make|pip|bash) ")


@dataclass(frozen=True)
class Block:
    """Commands as a page has them. reason : why they are not run, "" where they are."""

    text: str
    reason: str
    words: tuple[str, ...] = ()

    @property
    def script(self) -> str:
        """The commands to run, those with `words` left out."""
        if self.reason and not self.words:
            return ""
        lines = re.split(r"\n(?!\s)", re.sub(r"\\\n\s*", "", self.text))
        return "\n".join(line for line in lines if not any(one in line for one in self.words))


def shell_blocks(page: str, indented: bool = False) -> list[Block]:
    """Return a page's blocks of commands, in order."""
    fenced = list(_FENCED.finditer(page))
    found = [(one.start(), one["text"]) for one in fenced if one["language"] in ("sh", "bash")]
    if indented:
        blank = _FENCED.sub(lambda one: "#" * len(one[0]), page)
        texts = [
            (one.start(), re.sub(r"^    ", "", one["text"], flags=re.M))
            for one in _INDENTED.finditer(blank)
        ]
        found += [(start, text) for start, text in texts if _COMMAND.match(text)]
    return [_block(page[:start], text) for start, text in sorted(found)]


def printed_words(page: str) -> list[str]:
    """Return what a page says that its commands print, white space as one blank."""
    return [
        " ".join(words.split())
        for paragraph in _PRINTED.finditer(page)
        for words in re.findall(r"`([^`]+)`", paragraph["text"])
    ]


def not_printed(page: str, output: str) -> list[str]:
    """Return what of `printed_words` is not in an output."""
    shown = " ".join(output.split())
    return [words for words in printed_words(page) if words not in shown]


def _block(before: str, text: str) -> Block:
    marker = _SKIP.search(before)
    if marker is None:
        return Block(text, "")
    words = tuple(one.strip() for one in (marker["words"] or "").split(";") if one.strip())
    return Block(text, marker["reason"], words)
