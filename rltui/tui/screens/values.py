"""Every logged value of one metric, a row a step; only the rows that are seen are made."""

from __future__ import annotations

from typing import ClassVar

from rltui.plots.numbers import change
from rltui.tui.panes import header
from rltui.tui.panes.log import clock
from rltui.tui.rows import SELECTED, Row, put, title
from rltui.tui.screens.base import PaneScreen


class ValuesScreen(PaneScreen):
    """`j k` go from row to row; the newest one is followed until one leaves it."""

    NAME = "values"
    PANES: ClassVar[tuple[str, ...]] = ("header", "text")

    def __init__(self, metric: str) -> None:
        super().__init__()
        self.metric = metric
        self.row: int | None = None

    @property
    def count(self) -> int:
        series = self.view.series(self.metric)
        return 0 if series is None else len(series)

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        view = self.view
        if pane == "header":
            return header.crumbs(view, width, ("Metrics", view.label(self.metric), "Values"))
        series, count = view.series(self.metric), self.count
        unit = view.unit(self.metric)
        rows = [title(width, "", f"{view.label(self.metric)} by step", [(f"{count} values", "dim")], True)]
        if series is None or not count:
            return [*rows, [(" nothing logged", "dim")]]
        rows.append([(f"{'step':>9}{'value':>14} {unit:<6}{'from the one before':>22}{'at':>10}", "dim")])
        at = self._at()
        room = max(1, height - len(rows))
        start = max(0, min(at - room // 2, count - room))
        for i in range(start, min(count, start + room)):
            value, step, when = float(series.values[i]), int(series.steps[i]), float(series.times[i])
            before = float(series.values[i - 1]) if i else None
            shown = view.value(self.metric, value) if abs(value) < float("inf") else "NaN or infinite"
            rows.append(
                [
                    ("▌", SELECTED) if i == at else (" ", "fg"),
                    (f"{step:>8}", "fg"),
                    put(shown, 14, "strong" if i == at else "fg", ">"),
                    (" " * 7, "fg"),
                    put(change(before, value) if before is not None else "", 22, "dim", ">"),
                    put(clock(when if when == when else None), 10, "dim", ">"),
                ]
            )
        return rows

    def _at(self) -> int:
        series = self.view.series(self.metric)
        if self.row is not None:
            return max(0, min(self.row, self.count - 1))
        if self.view.cursor is not None and series is not None:
            return max(0, int(series.steps.searchsorted(self.view.cursor, "right")) - 1)
        return max(0, self.count - 1)

    def action_move(self, by: int) -> None:
        self.row = max(0, min(self._at() + by, self.count - 1))
        self.redraw()

    def action_knowledge(self) -> None:
        self.rltui.open_meaning(self.metric)

    def action_edge(self, end: int) -> None:
        self.row = 0 if end < 0 else None
        self.redraw()
