"""Step time in full: one step as a waterfall, the phases over the steps, the slowest steps; and the stall card."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region, Size

from rltui.plots.axis import labels, ticks
from rltui.plots.numbers import duration, number
from rltui.tui.panes import header, phases
from rltui.tui.rows import SELECTED, Row, clip, put, title, wrap
from rltui.tui.screens.base import PaneScreen, Places
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.report.model import PhaseItem

NAME = 19
TAIL = 32
SLOWEST = 8
SLOW = 1.5
"""A step is slow that takes so many times the median one."""


def slow_steps(view: View) -> list[int]:
    """Steps that took over `SLOW` times the median, in step order."""
    series = view.series("time_per_step_s")
    if series is None or not len(series):
        return []
    seconds = series.finite()
    usual = float(sorted(seconds.values.tolist())[len(seconds) // 2]) if len(seconds) else 0.0
    return [int(step) for step in seconds.steps[seconds.values > SLOW * usual].tolist()]


class PhasesScreen(PaneScreen):
    """`j k` select a phase, Enter opens its metric."""

    NAME = "phases"
    PANES: ClassVar[tuple[str, ...]] = ("header", "top", "step", "history", "slow")

    def __init__(self) -> None:
        super().__init__()
        self.row = 0

    @property
    def items(self) -> tuple[PhaseItem, ...]:
        return self.view.report.phases.items if self.view.report else ()

    def places(self, size: Size) -> Places:
        width, height = size
        air = 1 if height >= 30 else 0
        count = max(1, len(self.items))
        places = {"header": Region(0, 0, width, 1)}
        y = 1 + air
        want = [("top", 3 if height >= 30 else 2), ("step", count + 2), ("history", count + 2)]
        for name, rows in [*want, ("slow", SLOWEST + 2)]:
            room = height - 1 - air - y
            if room >= min(rows, 3):
                places[name] = Region(1, y, width - 2, min(rows, room))
                y += min(rows, room) + air
        return places | {"footer": Region(0, height - 1, width, 1)}

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            return header.crumbs(self.view, width, ("Step time",))
        rows = {"top": self._top, "step": self._step, "history": self._history, "slow": self._slow}[pane](width)
        return rows[:height]

    # -- pieces --------------------------------------------------------------------------------------------------

    def _top(self, width: int) -> list[Row]:
        view = self.view
        card = view.frame.stall if view.frame else None
        if card is not None and card.verdict in ("slow", "hung"):
            role = "crit" if card.verdict == "hung" else "warn"
            head: Row = [(f"{'✗' if role == 'crit' else '!'} {card.verdict}  ", f"{role}.b")]
            head.append((f"{card.phase or 'the step'} has gone on for ", "strong"))
            head.append((duration(view.now - card.since) if card.since and view.now else "a while", "strong"))
            if card.usual_s is not None:
                usual = f"   usually {duration(card.usual_s)}"
                head.append((usual + (f", at most {duration(card.high_s)}" if card.high_s else ""), "dim"))
            why = [[(" " * 8, "fg"), (line, "fg")] for line in wrap(" · ".join(card.because), width - 10)]
            return [clip(head, width), *why]
        metric = view.metric("time_per_step_s")
        now = phases.whole_step(view)
        if not now:
            return [[(line, "dim")] for line in wrap(phases.remarks(view) or "no phase times logged", width - 2)]
        row: Row = [("A step takes ", "fg"), (f"{number(now)} s", "strong")]
        if metric is not None and metric.first is not None and metric.last is not None:
            more = metric.last - metric.first
            if more:
                row.append((f", {number(more, sign=True)} s against the first window", "fg"))
        moved = []
        for item in self.items:
            timed = self.view.metric(self.view.name_of(item.key) or "")
            if timed is not None and timed.first is not None and timed.last is not None and timed.first != timed.last:
                moved.append((timed.last - timed.first, item.name))
        moved.sort(key=lambda pair: -abs(pair[0]))
        text = "   ".join(f"{number(by, sign=True)} s {name}" for by, name in moved[:4])
        told = [clip([(text, "fg")], width)] if text else []
        return [row, *told, *[[(line, "dim")] for line in wrap(phases.remarks(view), width - 2)]]

    def _step(self, width: int) -> list[Row]:
        view = self.view
        where = f"step {view.cursor}" if view.cursor is not None else "median of the last steps"
        rows = [title(width, "3", "One step", [(where, "dim")], True)]
        whole = phases.whole_step(view)
        if not whole:
            return [*rows, [(" no phase times logged", "dim")]]
        bar_w = max(10, width - NAME - TAIL)
        head = [" "] * bar_w
        for tick in ticks(0.0, whole, 6):
            x = round(tick / whole * bar_w)
            text = number(tick, decimals=0) if whole >= 10 else f"{tick:g}"
            if x + len(text) <= bar_w and not "".join(head[max(0, x - 1) : x + len(text)]).strip():
                head[x : x + len(text)] = text
        rows.append([(" " * NAME, "fg"), ("".join(head), "dim"), (f"{'s':>8}{'share':>9}  {'usual':<9}", "dim")])
        at = 0.0
        full = "#" if view.glyphs.name == "ascii" else "█"
        overlapped = view.report is not None and view.report.phases.overlapped
        for i, item in enumerate(self.items):
            took = phases.seconds(view, item)
            if took is None and not item.key:
                took = max(0.0, whole - sum(phases.seconds(view, other) or 0.0 for other in self.items if other.key))
            if took is None:
                rows.append([("   ", "fg"), put(item.name, NAME - 3), ("not logged at this step", "dim")])
                continue
            start = min(bar_w - 1, round(at / whole * bar_w))
            size = max(1, min(bar_w - start, round(took / whole * bar_w)))
            role = phases.colour(view, item)
            usual = f"{item.expected[0] * 100:.0f}–{item.expected[1] * 100:.0f} %" if item.expected else ""
            mark: Row = [("▌", SELECTED)] if i == self.row else [(" ", "fg")]
            rows.append(
                [
                    *mark,
                    ("! " if role else "  ", role or "fg"),
                    put(item.name, NAME - 4),
                    (" " * (start + 1), "fg"),
                    (full * size, role or "ink"),
                    (" " * (bar_w - start - size), "fg"),
                    put(number(took), 8, "fg", ">"),
                    put(number(100 * took / whole, decimals=0 if took >= 0.0095 * whole else 1), 7, role or "fg", ">"),
                    (" %  ", "dim"),
                    put(usual, 9, "dim"),
                ]
            )
            at += 0.0 if overlapped else took
        return rows

    def _history(self, width: int) -> list[Row]:
        from rltui.plots.spark import sparkline

        view = self.view
        bar_w = max(10, width - NAME - TAIL)
        first, last = view.axis()
        rows = [title(width, "", "Seconds over the steps", [("now", "dim"), ("   first window", "dim")])]
        for item in self.items:
            name = view.name_of(item.key)
            series = view.series(name) if name else None
            if series is None or not len(series) or name is None:
                continue
            metric = view.metric(name)
            text = sparkline(series.steps, series.values, bar_w, first, last, view.glyphs)
            rows.append(
                [
                    ("   ", "fg"),
                    put(item.name, NAME - 3),
                    (text, phases.colour(view, item) or "ink"),
                    put(number(view.now_value(name), missing="–"), 8, "fg", ">"),
                    put(number(metric.first if metric else None, missing="–"), 10, "dim", ">"),
                ]
            )
        return [*rows, [(" " * NAME, "fg"), (labels(first, last, bar_w), "dim")]]

    def _slow(self, width: int) -> list[Row]:
        view = self.view
        rows = [
            title(width, "", "Slowest steps", [("s", "key"), (" next   ", "dim"), ("S", "key"), (" previous", "dim")])
        ]
        series = view.series("time_per_step_s")
        if series is None or not len(series):
            return [*rows, [(" the time of a step is not logged", "dim")]]
        seconds = series.finite()
        order = seconds.values.argsort()[::-1][:SLOWEST].tolist()
        named = [(item.name, name) for item in self.items if (name := view.name_of(item.key))][:6]
        if width < 120:
            named = named[:3]
        rows.append([(f"{'step':>8}{'s':>10}", "dim"), *[put(f"  {name}", 14, "dim", ">") for name, _ in named]])
        for i in order:
            step = int(seconds.steps[i])
            at = view.cursor == step
            rows.append(
                [
                    ("▌", SELECTED) if at else (" ", "fg"),
                    (f"{step:>7}", "fg"),
                    put(number(float(seconds.values[i])), 10, "strong", ">"),
                    *[put(number(view.value_at(name, step), missing="–"), 14, "fg", ">") for _, name in named],
                ]
            )
        return rows

    # -- keys ----------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        self.row = max(0, min(self.row + by, len(self.items) - 1))
        self.redraw()

    def action_open(self) -> None:
        name = self.view.name_of(self.items[self.row].key) if self.row < len(self.items) else None
        if name is not None:
            self.rltui.open_metric(name)
        else:
            self.rltui.say("this part is not logged: it is the rest of the step")
