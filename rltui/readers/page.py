"""A saved page of the web: a notebook, or tables and texts of a training among other words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from rltui.readers.base import Rows
from rltui.readers.html_tables import headings
from rltui.readers.notebook import NotebookReader

_EDGE = re.compile(r"<(/?)(table|pre)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_CLASSES = re.compile(r"\bclass\s*=\s*[\"']([^\"'<>]*)")
_CELL = frozenset(("cell", "jp-Cell"))
_SHOWN = frozenset(("output", "output_area", "cell_output", "jp-OutputArea"))
_WRITTEN = frozenset(("input", "input_area", "cell_input", "jp-InputArea"))
_RESULT = frozenset(("output_execute_result", "jp-OutputArea-executeResult"))
"""Classes by which nbconvert, Jupyter and Jupyter Book mark a cell, what it shows, what stands in it, its result."""


class PageReader(NotebookReader):
    """As a notebook: its cells where the page marks them; else each text is a cell, and so are tables one below the
    other, unless they hold the same metrics."""

    format = "page"

    def parse(self, data: bytes) -> Any:
        return {"cells": [{"outputs": cell} for cell in _cells(data.decode("utf-8", "replace"))]}


def holds_rows(data: bytes) -> bool:
    """Whether a page shows rows of a training."""
    reader = PageReader()
    return any(isinstance(record, Rows) for record in [*reader.feed(data), *reader.finish()])


def _cells(page: str) -> list[list[dict[str, Any]]]:
    """The outputs of each cell, as a notebook has them."""
    cells: list[list[dict[str, Any]]] = [[]]
    marked = any(_CELL.intersection(words.split()) for words in _CLASSES.findall(page))
    metrics: set[str] = set()
    for before, tag, inside in _pieces(page):
        classes = [set(words.split()) for words in _CLASSES.findall(before)]
        if marked and any(_CELL & words for words in classes):
            cells.append([])
        if not marked:
            named = headings(inside) if tag == "table" else set()
            if not named or named & metrics:
                cells.append([])
                metrics = set()
            metrics |= named
        elif any(_WRITTEN & words for words in classes[_last(classes, _SHOWN) + 1 :]):
            continue
        if tag == "table":
            cells[-1].append({"output_type": "display_data", "data": {"text/html": before + inside}})
        elif _last(classes, _RESULT) >= 0:
            cells[-1].append({"output_type": "execute_result", "data": {"text/plain": _text(inside)}})
        else:
            cells[-1].append({"output_type": "stream", "text": _text(inside)})
    return cells


def _pieces(page: str) -> Iterator[tuple[str, str, str]]:
    """Of each table and preformatted text that stands in no other: what is between it and the one before, which of both
    it is, and its inside."""
    end, begun, depth, kind = 0, (0, 0), 0, ""
    for edge in _EDGE.finditer(page):
        closes, tag = edge[1], edge[2].lower()
        if not depth and not closes:
            begun, depth, kind = edge.span(), 1, tag
        elif depth and tag == kind:
            depth += -1 if closes else 1
            if not depth:
                yield page[end : begun[0]], kind, page[begun[1] : edge.start()]
                end = edge.end()


def _last(classes: list[set[str]], wanted: frozenset[str]) -> int:
    return max((place for place, words in enumerate(classes) if wanted & words), default=-1)


def _text(html: str) -> str:
    return unescape(_TAG.sub("", html))
