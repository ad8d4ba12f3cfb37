"""The widget of every pane: painted line by line from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from rltui.tui import compat
from rltui.tui.rows import SELECTED, Row

if TYPE_CHECKING:
    from rltui.tui.shell import Painter


class Pane(Widget, can_focus=False):
    """Shows rows of few segments, and paints only those again that changed."""

    DEFAULT_CSS = "Pane { width: 1fr; height: 1fr; }"

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.rows: list[Row] = []

    def on_unmount(self) -> None:
        compat.forget_lines(self)
        self.rows = []

    def show(self, rows: list[Row]) -> None:
        """New content."""
        old, self.rows = self.rows, rows
        width, height = self.size
        regions = [
            Region(0, y, width, 1)
            for y in range(height)
            if (old[y] if y < len(old) else []) != (rows[y] if y < len(rows) else [])
        ]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        app = cast("Painter", self.app)
        theme, width = app.palette, self.size.width
        row = self.rows[y] if y < len(self.rows) else []
        selected = bool(row) and row[0][1] == SELECTED
        segments = []
        for text, role in row:
            style = theme.styles[role]
            if selected and not role.startswith("badge"):
                style += theme.selection
            if not text.isprintable():  # the path of a file, which may be called anything
                from rltui.text import shown

                text = shown(text).replace("\n", " ")
            segments.append(Segment(app.glyphs.translate(text), style))
        fill = theme.styles["fill"] + theme.selection if selected else theme.styles["fill"]
        return Strip(segments).adjust_cell_length(width, fill).simplify()
