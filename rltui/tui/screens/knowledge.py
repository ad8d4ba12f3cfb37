"""What a rule looks at, why, its thresholds and sources; then the pages that it leads to."""

from __future__ import annotations

from collections.abc import Callable

from rltui.tui import pages
from rltui.tui.rows import Row, wrap
from rltui.tui.screens.text import Block, TextScreen


class KnowledgeScreen(TextScreen):
    """The text of `rltui explain ID`, or another page that `read` gives."""

    NAME = "knowledge"
    HEAD = "Knowledge"

    def __init__(self, word: str, read: Callable[[str], str] = pages.explanation) -> None:
        super().__init__()
        self.word = word
        self._read = read

    def on_mount(self) -> None:
        self.rltui.worker.page(self.word, self._read)
        super().on_mount()

    def crumbs(self) -> tuple[str, ...]:
        return (self.HEAD, self.word)

    def content(self, width: int) -> list[Block]:
        text = self.view.pages.get(self.word)
        if text is None:
            return []
        blocks: list[Block] = []
        for line in text.splitlines():
            if line.startswith("#"):
                rows: list[Row] = [[(" " + line.lstrip("# "), "strong")]]
            else:
                indent = len(line) - len(line.lstrip(" "))
                pieces = wrap(line, width - 2 - indent) or [""]
                rows = [
                    [(" " * (1 + indent + (2 if i and line.lstrip().startswith("- ") else 0)), "fg"), (piece, "fg")]
                    for i, piece in enumerate(pieces)
                ]
            blocks.append((line, rows))
        return blocks
