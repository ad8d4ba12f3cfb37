"""One metric: its chart with what is known of it beside it, and a screen of all its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region, Size

from rltui.plots.numbers import change
from rltui.tui.charts import AXES, Charts, window, x_of
from rltui.tui.messages import Compared, CompareProgress, Differs
from rltui.tui.panes import header, statistics
from rltui.tui.panes.log import clock
from rltui.tui.rows import SELECTED, Row, clip, put, title
from rltui.tui.screens.base import PaneScreen, Places
from rltui.tui.view import ROLE

if TYPE_CHECKING:
    from rltui.compare.fair import Beside
    from rltui.compare.read import ComparedRun
    from rltui.report.recording import Checkpoint


SCALES = (
    ("lin", True, "robust range 1–99 % · linear"),
    ("lin", False, "full range · linear"),
    ("log", True, "robust range 1–99 % · logarithmic"),
)


LEVELS = 6
BAND = "band of the other runs"
CLOSER, CLOSEST = 4, 16


class MetricScreen(PaneScreen):
    """Chart at the left, numbers at the right. Below 120 columns the numbers are below the chart."""

    NAME = "metric"
    PANES: ClassVar[tuple[str, ...]] = ("header", "top", "chart", "numbers")

    def __init__(self, metric: str) -> None:
        super().__init__()
        self.metric = metric
        self.scale = 0
        self.level = 0  # of smoothing
        self.axis = 0
        self.overlay: str | None = None
        self.beside: str | None = None  # BAND, or the id of another run
        self._beside: tuple[object, Beside | None] = None, None
        self.zoomed = 1
        self.painted = False  # the chart is drawn later, because it takes as long as everything else
        self.charts = Charts()

    def places(self, size: Size) -> Places:
        width, height = size
        air = 1 if height >= 30 else 0
        places = {"header": Region(0, 0, width, 1), "top": Region(0, 1 + air, width, 1)}
        y = 2 + 2 * air + (1 if height >= 24 and not air else 0)
        body = height - y - 1 - air
        if width >= 120:
            side = 46
            places["chart"] = Region(1, y, width - side - 4, body)
            places["numbers"] = Region(width - side - 1, y, side, body)
        else:
            below = min(7, body // 3)
            places["chart"] = Region(1, y, width - 2, body - below - 1)
            places["numbers"] = Region(1, y + body - below, width - 2, below)
        return places | {"footer": Region(0, height - 1, width, 1)}

    def redraw(self) -> None:
        if self.view.report is not None:
            self.rltui.ask_outlook()
        super().redraw()

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            group = next((m.group for m in [self.view.metric(self.metric)] if m), "")
            return header.crumbs(self.view, width, ("Metrics", group or "other", self.view.label(self.metric)))
        if pane == "top":
            return [statistics.top(self.view, self.metric, width)]
        if pane == "chart":
            return self._chart(width, height)
        draw = statistics.full if self.size.width >= 120 else statistics.short
        return draw(self.view, self.metric, width)[:height]

    # -- pieces --------------------------------------------------------------------------------------------------

    def _chart(self, width: int, height: int) -> list[Row]:
        if not self.painted:
            self.painted = True
            self.call_after_refresh(self.redraw)
            return [title(width, "", "Chart", None, True)]
        view, series = self.view, self.view.series(self.metric)
        scale, robust, words = SCALES[self.scale]
        finding, best = view.flagged.get(self.metric), view.best
        drawing = self.charts.draw(
            view,
            self.metric,
            width,
            max(4, height - 3),
            finding=finding,
            coloured=True,
            scale=scale,
            robust=robust,
            level=self.level,
            axis=AXES[self.axis],
            overlay=self.overlay,
            zoom=self.zoomed,
            beside=(beside := self._others()),
        )
        if drawing is None or series is None:
            return [title(width, "", "Chart", None, True), [(" nothing logged yet", "dim")]]
        smooth = window(len(series), self.level)
        over = f"{words} · smoothed over {smooth}" if smooth > 1 else words
        over += f" · x {AXES[self.axis]}" if width >= 90 else ""
        over += f" · zoom {self.zoomed}×" if self.zoomed > 1 else ""
        if drawing.scale != scale:
            over += " (no positive value, so no logarithm)"
        below: list[str] = []
        outside = drawing.above + drawing.below
        if outside:
            parts = [f"{n} {word}" for n, word in ((drawing.above, "above"), (drawing.below, "below")) if n]
            below.append(f"▴▾ {' and '.join(parts)} the range")
        if drawing.nonfinite:
            below.append(f"{drawing.nonfinite} logged as NaN or infinite")
        legend: Row = [("        ", "fg")]
        if finding is not None and finding.onset_step is not None:
            legend += [("▼", ROLE[finding.severity]), (f" onset {finding.onset_step}   ", "dim")]
        if best is not None:
            legend += [("◆", "accent"), (f" {best.called} {best.step}   ", "dim")]
        if self.overlay is not None:
            other = view.metric(self.overlay)
            low, high = (view.value(self.overlay, x) for x in ((other.min, other.max) if other else (None, None)))
            legend += [("━", "accent"), (f" {view.label(self.overlay)} {low}–{high}, over its own range   ", "dim")]
        if self.beside is not None:
            legend.append(("━", "accent"))
            words = "no other run logs it on this axis" if beside is None else f"{beside.label}   {beside.words}"
            legend.append((f" {words}   ", "dim"))
        if self._checkpoints():
            legend.append(("◇ checkpoint   ", "dim"))
        if view.report is not None and view.report.run.restarts:
            legend += [("r", "warn"), (" restart   ", "dim")]
        if self.charts.others:
            legend.append(("▽ other findings   ", "dim"))
        legend.append((" · ".join(below), "dim"))
        rows: list[Row] = [title(width, "", "Chart", [(over, "dim")], True), self._readout(width)]
        return [*rows, *[list(row) for row in drawing.rows], clip(legend, width)]

    def _checkpoints(self) -> list[Checkpoint]:
        return list(self.view.recording.run.checkpoints) if self.view.recording else []

    def _readout(self, width: int) -> Row:
        """The step and value under the chart cursor, always in the same row."""
        view = self.view
        if view.cursor is None:
            return [("        ", "fg"), ("h l", "key"), (" move a cursor through the steps", "dim")]
        metric = view.metric(self.metric)
        value = view.value_at(self.metric, view.cursor)
        row: Row = [
            ("        ", "fg"),
            ("│ ", "accent"),
            (f"step {view.cursor}", "accent.b"),
            (f"   {view.value(self.metric, value)}", "fg"),
        ]
        row.append((f" {view.unit(self.metric)}", "dim"))
        if metric is not None and value is not None:
            moved = change(metric.first, value)
            row.append((f"   {moved} against the first window" if moved not in ("", "→") else "", "dim"))
        finding = view.flagged.get(self.metric)
        if finding is not None and finding.onset_step is not None:
            away = view.cursor - finding.onset_step
            row.append((f"   {abs(away)} steps {'after' if away >= 0 else 'before'} onset", "dim"))
        return clip(row, width)

    # -- keys ----------------------------------------------------------------------------------------------------

    def action_scale(self) -> None:
        self.scale = (self.scale + 1) % len(SCALES)
        self.redraw()

    def action_smooth(self, by: int) -> None:
        """More or less smoothing. 0: the usual smoothing."""
        self.level = max(-LEVELS, min(self.level + by, LEVELS)) if by else 0
        self.redraw()

    def action_zoom(self) -> None:
        """Zooms in around the step cursor, four and then sixteen times, then back."""
        self.zoomed = 1 if self.zoomed >= CLOSEST else self.zoomed * CLOSER
        self.redraw()

    def leave(self) -> bool:
        was, self.zoomed = self.zoomed, 1
        return was > 1

    def action_axis(self) -> None:
        """Switches to the next x axis that this run logs."""
        for _ in AXES:
            self.axis = (self.axis + 1) % len(AXES)
            if x_of(self.view, self.metric, AXES[self.axis]) is not None:
                break
        if self.axis == 0:
            self.rltui.say("x is the step again: this run logs no further axis")
        self.redraw()

    def action_overlay(self) -> None:
        """Overlays the next metric: first those that share a finding with this one, then flagged, then its group."""
        view, own = self.view, self.view.metric(self.metric)
        told = [
            name
            for finding in (view.report.findings if view.report else ())
            if self.metric in (names := [view.name_of(e.metric) for e in finding.evidence])
            for name in names
        ]
        near = [n for n, m in (view.report.metrics if view.report else {}).items() if own and m.group == own.group]
        found = [n for n in dict.fromkeys([*told, *view.flagged, *near]) if n and n != self.metric and view.metric(n)]
        at = found.index(self.overlay) + 1 if self.overlay in found else 0
        self.overlay = found[at] if at < len(found) else None
        self.redraw()

    def _others(self) -> Beside | None:
        """The same metric of the other runs, computed again if the run has new rows."""
        view, series = self.view, self.view.series(self.metric)
        at = x_of(view, self.metric, AXES[self.axis])
        if self.beside is None or series is None or at is None or view.recording is None:
            return None
        key = (self.beside, self.metric, self.axis, view.recording.revision, id(self.rltui.many.facts))
        if self._beside[0] != key:
            from rltui.compare.fair import beside_many, beside_one

            runs, axis = {run.id: run for run in self._rivals()}, AXES[self.axis]
            if self.beside in runs:
                self._beside = key, beside_one(runs[self.beside], self.metric, axis)
            else:
                name = view.recording.run.names.get(series.key)
                way = name.direction if name else "none"
                self._beside = key, beside_many([*runs.values()], self.metric, axis, at, series.values, way, axis)
        return self._beside[1]

    def _rivals(self) -> list[ComparedRun]:
        """The runs that were read for a comparison, without this one."""
        own = self.view.newest.run.path if self.view.newest else ""
        return [run for run in self.rltui.many.facts if run.path != own]

    def action_compare(self) -> None:
        """Shows the band of the other runs behind the line, then each of them, then none. Reads them first."""
        if self.rltui.many.comparison is None:
            self.beside = BAND
            self.rltui.many.compare((), self.view.newest.run.path if self.view.newest else "")
            self.rltui.say("reading the runs beside this one …")
            return
        cycle = [BAND, *(run.id for run in self._rivals() if self.metric in run.traces), None]
        self.beside = cycle[(cycle.index(self.beside) + 1) % len(cycle)] if self.beside in cycle[:-1] else BAND
        self.redraw()

    def take(self, message: Compared | CompareProgress | Differs) -> None:
        """Shows how far the other runs are read."""
        if self.beside is not None and isinstance(message, CompareProgress):
            self.rltui.say(f"reading the runs beside this one: {message.done + 1} of {message.total}, {message.name}")
        elif self.beside is not None and isinstance(message, Compared):
            self.rltui.say(message.problem or f"{len(message.facts) - 1} other runs are read (c: the next one)")

    def action_open(self) -> None:
        """Opens the values behind the chart."""
        self.rltui.open_values(self.metric)

    def action_pin(self) -> None:
        self.rltui.exports.pin(self.metric)

    def action_knowledge(self) -> None:
        self.rltui.open_meaning(self.metric)

    def action_chart_cursor(self, by: int) -> None:
        """Moves the cursor by one column of the chart, or one step if a column is less than a step."""
        first, last = self.view.span
        place = self._places.get("chart")
        width = ((place.width if place else 80) - 8) * self.zoomed
        self.rltui.move_cursor(by * max(1, round((last - first + 1) / max(1, width))))

    def action_move(self, by: int) -> None:
        """Goes to the next or previous metric, in the order of the main screen."""
        names = self.rltui.metric_names()
        if self.metric in names:
            self.metric = names[max(0, min(len(names) - 1, names.index(self.metric) + by))]
            self.redraw()

    def action_edge(self, end: int) -> None:
        if end > 0:
            self.rltui.follow()


class ValuesScreen(PaneScreen):
    """All values of a metric. `j k` go from row to row. The newest row is followed until the user leaves it."""

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
