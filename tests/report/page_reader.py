"""Reads a page as a reader would: pictures by their anchors, with the numbers of their tables."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """tables : by picture, rows of exact values; a text where there is no number, None for '–'.

    shown : likewise, as a reader sees them. links : all addresses. svgs : by picture, how many.
    tiles : name to exact value, at the head of the page. notes : on parts that are missing.
    captions : by picture, the words above it.
    """

    def __init__(self, text):
        super().__init__()
        self.tables, self.shown, self.links, self.svgs, self.heads = {}, {}, [], {}, {}
        self.tiles, self.notes, self.captions = {}, [], {}
        self._section = self._cell = self._value = self._text = None
        self._head = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.links += [v for k, v in attributes if k in ("src", "href", "xlink:href")]
        if tag == "section":
            self._section = found["id"]
        elif tag == "table":
            self.tables[self._section], self.shown[self._section] = [], []
            self.heads[self._section] = []
        elif tag == "tr":
            if not self._in_head():
                self.tables[self._section].append([])
                self.shown[self._section].append([])
        elif tag == "thead":
            self._head = True
        elif tag in ("td", "th"):
            self._cell, self._value = "", None
        elif tag in ("dt", "li", "p"):
            self._text = ""
        elif tag == "data":
            self._value = float(found["value"])
            if self._section is None:
                self.tiles[self._name] = self._value
        elif tag == "svg":
            self.svgs[self._section] = self.svgs.get(self._section, 0) + 1

    def _in_head(self):
        return self._head

    def handle_endtag(self, tag):
        if tag == "dt":
            self._name = self._text
        elif tag == "li" and self._section is None:
            self.notes.append(self._text)
        elif tag == "p" and self._section not in (None, *self.captions):
            self.captions[self._section] = self._text
        elif tag == "thead":
            self._head = False
        elif tag == "th":
            self.heads[self._section].append(self._cell)
            self._cell = None
        elif tag == "td":
            text = None if self._cell == "–" else self._cell
            self.tables[self._section][-1].append(text if self._value is None else self._value)
            self.shown[self._section][-1].append(self._cell)
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell += data
        if self._text is not None:
            self._text += data
