"""What moved first: metrics in the order in which they began to mover, on one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.plots.numbers import number
from rltui.tui.panes.findings import NUMBER, fitting
from rltui.tui.rows import SELECTED, Row, put
from rltui.tui.view import GLYPH, ROLE, View

if TYPE_CHECKING:
    from rltui.diagnosis.insight import FirstMover

NAME = 19
VALUES, ROOMY = 2 * NUMBER + 4, 56


def draw(
    view: View, movers: tuple[FirstMover, ...], width: int, strong: frozenset[str], selected: int | None = None
) -> list[Row]:
    """A row a mover: glyph of its finding, name, step, where that lies among the others, before and after."""
    if not movers:
        return []
    first, last = movers[0].step, max(movers[-1].step, movers[0].step + 1)
    wide = width >= 90
    values_w = VALUES if width >= ROOMY else VALUES - 3
    tail = 36 if wide else values_w
    bar_w = max(0, width - NAME - 11 - tail)
    rows: list[Row] = []
    for i, mover in enumerate(movers):
        name = view.name_of(mover.metric) or mover.metric
        flagged = view.flagged.get(name)
        role = ROLE[flagged.severity] if flagged else "ink"
        x = round((mover.step - first) / (last - first) * (bar_w - 1)) if bar_w > 1 else 0
        line: Row = [(" " * x, "fg"), ("▌", role), ("─" * (bar_w - x - 1), "rule")] if bar_w > 1 else []
        values = f"{fitting(view, name, mover.before)} → {fitting(view, name, mover.after)}"
        row: Row = [
            ("▌", SELECTED) if i == selected else (" ", "fg"),
            (f"{GLYPH[flagged.severity]} " if flagged else "  ", role if flagged else "fg"),
            put(view.label(name), NAME, "strong" if name in strong or i == selected else "fg"),
            put(str(mover.step), 6, "fg", ">"),
            ("  ", "fg"),
            *line,
            put(values, values_w, "dim", ">"),
        ]
        if wide:
            row.append(put(f"{number(abs(mover.sds), decimals=1)} sd of noise", tail - values_w, "dim", ">"))
        rows.append(row)
    return rows
