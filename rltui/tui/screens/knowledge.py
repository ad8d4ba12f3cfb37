"""Pages of text that the worker reads: what a rule looks at, why, its thresholds and sources, and what it leads to.

The user's settings, and what works on this machine, are such pages too.
"""

from __future__ import annotations

from collections.abc import Callable

from rltui.tui.rows import Row, wrap
from rltui.tui.screens.text import Block, TextScreen


def explanation(word: str) -> str:
    """What is known of a rule, a metric or a knowledge page; "rules": the list of all."""
    from rltui.report.explain import as_text

    unknown = f"nothing is known of {word}: neither a rule nor a page, and the vocabulary does not know such a metric"
    return as_text(None if word == "rules" else word) or unknown


def settings_page(word: str) -> str:
    """The user's settings, and whether they are valid."""
    from rltui.report.settings_text import checked, shown

    return f"{shown()}\n\n{checked()}"


def doctor_page(word: str) -> str:
    """What works in this terminal and on this machine, and why something does not."""
    from rltui.doctor import checks, render

    return render(checks())


class KnowledgeScreen(TextScreen):
    """The text of `rltui explain ID`, or another page that `read` gives."""

    NAME = "knowledge"
    HEAD = "Knowledge"

    def __init__(self, word: str, read: Callable[[str], str] = explanation) -> None:
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
