"""One metric: chart, statistics, the findings that use it, where it comes from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region, Size

from rltui.plots.numbers import change, integer, number
from rltui.tui.charts import AXES, Charts, window, x_of
from rltui.tui.panes import header
from rltui.tui.rows import Row, clip, put, title, wrap
from rltui.tui.screens.base import PaneScreen, Places
from rltui.tui.view import GLYPH, ROLE

if TYPE_CHECKING:
    from rltui.run.run import Checkpoint

SCALES = (
    ("lin", True, "robust range 1–99 % · linear"),
    ("lin", False, "full range · linear"),
    ("log", True, "robust range 1–99 % · logarithmic"),
)


LEVELS = 6


class MetricScreen(PaneScreen):
    """Chart at the left, numbers at the right; below 120 columns the numbers stand below the chart."""

    NAME = "metric"
    PANES: ClassVar[tuple[str, ...]] = ("header", "top", "chart", "numbers")

    def __init__(self, metric: str) -> None:
        super().__init__()
        self.metric = metric
        self.scale = 0
        self.level = 0  # of smoothing
        self.axis = 0
        self.overlay: str | None = None
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

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            group = next((m.group for m in [self.view.metric(self.metric)] if m), "")
            return header.crumbs(self.view, width, ("Metrics", group or "other", self.view.label(self.metric)))
        if pane == "top":
            return [self._top(width)]
        if pane == "chart":
            return self._chart(width, height)
        return self._numbers(width)[:height] if self.size.width >= 120 else self._short(width)[:height]

    # -- pieces --------------------------------------------------------------------------------------------------

    def _top(self, width: int) -> Row:
        view, metric = self.view, self.view.metric(self.metric)
        if metric is None:
            return [(" ", "fg"), (f"{view.label(self.metric)} is not logged", "dim")]
        finding = view.flagged.get(self.metric)
        row: Row = [(" ", "fg")]
        if finding is not None:
            row.append((f"{GLYPH[finding.severity]} {finding.severity}  ", ROLE[finding.severity]))
        row += [
            (f"{view.label(self.metric)}  ", "strong"),
            (view.value(self.metric, view.now_value(self.metric)), "strong"),
        ]
        row.append((f" {view.unit(self.metric)}", "dim"))
        moved = change(metric.first, metric.last)
        if moved and moved != "→":
            role = ROLE[finding.severity] if finding else "fg"
            words = "of its first window" if moved.endswith("×") else "since its first window"
            row.append((f"   {moved} {words}", role))
        meaning = self._meaning()
        row.append((f"   {metric.key}{': ' + meaning if meaning else ''}", "dim"))
        return clip(row, width - 1)

    def _meaning(self) -> str:
        metric = self.view.metric(self.metric)
        name = self.view.frame.run.names.get(metric.key) if self.view.frame and metric else None
        return name.meaning if name else ""

    def _chart(self, width: int, height: int) -> list[Row]:
        view, series = self.view, self.view.series(self.metric)
        scale, robust, words = SCALES[self.scale]
        finding, best = view.flagged.get(self.metric), view.best_step()
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
        )
        if drawing is None or series is None:
            return [title(width, "", "Chart", None, True), [(" nothing logged yet", "dim")]]
        smooth = window(len(series), self.level)
        over = f"{words} · smoothed over {smooth}" if smooth > 1 else words
        over += f" · x {AXES[self.axis]}" if width >= 90 else ""
        if drawing.scale != scale:
            over += " (nothing positive to take the logarithm of)"
        below: list[str] = []
        outside = drawing.above + drawing.below
        if outside:
            parts = [f"{n} {word}" for n, word in ((drawing.above, "above"), (drawing.below, "below")) if n]
            below.append(f"{' and '.join(parts)} the range")
        if drawing.nonfinite:
            below.append(f"{drawing.nonfinite} logged as NaN or infinite")
        legend: Row = [("        ", "fg")]
        if finding is not None and finding.onset_step is not None:
            legend += [("▼", ROLE[finding.severity]), (f" onset {finding.onset_step}   ", "dim")]
        if best is not None:
            legend += [("◆", "accent"), (f" best checkpoint {best}   ", "dim")]
        if self.overlay is not None:
            other = view.metric(self.overlay)
            low, high = (view.value(self.overlay, x) for x in ((other.min, other.max) if other else (None, None)))
            legend += [("━", "accent"), (f" {view.label(self.overlay)} {low}–{high}, over its own range   ", "dim")]
        if self._checkpoints():
            legend.append(("◇ checkpoint   ", "dim"))
        legend.append((" · ".join(below), "dim"))
        rows: list[Row] = [title(width, "", "Chart", [(over, "dim")], True), self._readout(width)]
        return [*rows, *[list(row) for row in drawing.rows], clip(legend, width)]

    def _checkpoints(self) -> list[Checkpoint]:
        return list(self.view.frame.run.checkpoints) if self.view.frame else []

    def _readout(self, width: int) -> Row:
        """What the chart cursor stands on, on a fixed row: nothing floats."""
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

    def _pair(self, name: str, value: str, extra: str = "") -> Row:
        return [put(f" {name}", 19, "dim"), put(value, 10, "fg", ">"), (f"  {extra}", "dim")]

    def _stats(self) -> list[Row]:
        view, metric = self.view, self.view.metric(self.metric)
        if metric is None:
            return []
        show = partial(view.value, self.metric)
        unit = view.unit(self.metric)
        slope = metric.slope_per_100_steps
        factor = 100 if unit == "%" else 1
        rows = [
            self._pair("first window", show(metric.first), unit),
            self._pair("mid window", show(metric.mid), unit),
            self._pair("last window", show(metric.last), unit),
            self._pair("min", show(metric.min)),
            self._pair("max", show(metric.max)),
            self._pair("mean", show(metric.mean)),
            [],
            self._pair(
                "slope", number(None if slope is None else factor * slope, sign=True, missing="–"), "per 100 steps"
            ),
            self._pair("correlation", number(metric.corr_step, sign=True, decimals=2, missing="–"), "with the step"),
        ]
        if metric.shape:
            rows += [[], [(" shape  ", "dim"), (metric.shape, "fg")]]
        return rows

    def _short(self, width: int) -> list[Row]:
        view, metric = self.view, self.view.metric(self.metric)
        if metric is None:
            return []
        show = partial(view.value, self.metric)
        slope = metric.slope_per_100_steps
        factor = 100 if view.unit(self.metric) == "%" else 1
        return [
            title(width, "", "Statistics", [(self._counted(), "dim")]),
            [
                (" first → mid → last  ", "dim"),
                (f"{show(metric.first)} → {show(metric.mid)} → {show(metric.last)}", "fg"),
                ("   min ", "dim"),
                (show(metric.min), "fg"),
                ("   max ", "dim"),
                (show(metric.max), "fg"),
            ],
            [
                (" slope ", "dim"),
                (number(None if slope is None else factor * slope, sign=True, missing="–"), "fg"),
                (" per 100 steps", "dim"),
                (f"   {metric.shape}" if metric.shape else "", "fg"),
            ],
            *self._used(width)[:3],
        ]

    def _counted(self) -> str:
        metric = self.view.metric(self.metric)
        if metric is None:
            return ""
        parts = [f"{integer(metric.count)} rows"]
        if metric.nan:
            parts.append(f"{metric.nan} not finite")
        parts.append(f"{integer(metric.missing)} without" if metric.missing else "none missing")
        return ", ".join(parts)

    def _used(self, width: int) -> list[Row]:
        rows: list[Row] = []
        for finding in self.view.report.findings if self.view.report else ():
            if any(self.view.name_of(e.metric) == self.metric for e in finding.evidence):
                word = "resolved" if finding.status == "resolved" else finding.severity
                role = "dim" if word == "resolved" else ROLE[finding.severity]
                rows.append(clip([(f" {GLYPH[word]} {word:<9} ", role), (finding.title, "fg")], width))
        return rows

    def _numbers(self, width: int) -> list[Row]:
        metric = self.view.metric(self.metric)
        rows = [title(width, "", "Statistics", [(self._counted(), "dim")]), *self._stats()]
        used = self._used(width)
        if used:
            rows += [[], title(width, "", "Findings that use it"), *used]
        others = [name for name in list(self.view.flagged)[:6] if name != self.metric]
        if self.view.cursor is not None and others:
            rows += [[], title(width, "", f"At step {self.view.cursor}")]
            rows += [
                [
                    put(f" {self.view.label(name)}", 26, "dim"),
                    put(self.view.value(name, self.view.value_at(name, self.view.cursor)), 10, "fg", ">"),
                    (f" {self.view.unit(name)}", "dim"),
                ]
                for name in others
            ]
        rows += [[], title(width, "", "Where it comes from")]
        if metric is not None:
            rows += [[(" key   ", "dim"), (line, "fg")] for line in wrap(metric.key, width - 8)]
        if self.view.report:
            for source in self.view.report.run.sources[:3]:
                lines = wrap(source.path, width - 8)
                rows += [[(" file  " if i == 0 else "       ", "dim"), (line, "fg")] for i, line in enumerate(lines)]
        trap = self._trap()
        if trap:
            rows += [[], title(width, "", "Mind"), *[[(" ", "fg"), (line, "dim")] for line in wrap(trap, width - 2)]]
        return rows

    def _trap(self) -> str:
        metric = self.view.metric(self.metric)
        name = self.view.frame.run.names.get(metric.key) if self.view.frame and metric else None
        return name.trap if name else ""

    # -- keys ----------------------------------------------------------------------------------------------------

    def action_scale(self) -> None:
        self.scale = (self.scale + 1) % len(SCALES)
        self.redraw()

    def action_smooth(self, by: int) -> None:
        """More or less smoothing; 0: the usual."""
        self.level = max(-LEVELS, min(self.level + by, LEVELS)) if by else 0
        self.redraw()

    def action_axis(self) -> None:
        """The next x axis that this run knows."""
        for _ in AXES:
            self.axis = (self.axis + 1) % len(AXES)
            if x_of(self.view, self.metric, AXES[self.axis]) is not None:
                break
        if self.axis == 0:
            self.rltui.say("x is the step; this run logs no other axis beyond those shown")
        self.redraw()

    def action_overlay(self) -> None:
        """The next metric over this one: those that findings tell together with it, then those of its group."""
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

    def action_open(self) -> None:
        """The values behind the chart."""
        from rltui.tui.screens.values import ValuesScreen

        self.rltui.open_place(lambda: ValuesScreen(self.metric))

    def action_pin(self) -> None:
        self.rltui.exports.pin(self.metric)

    def action_chart_cursor(self, by: int) -> None:
        """One column of the chart, or one step where columns are narrower."""
        first, last = self.view.span
        place = self._places.get("chart")
        width = (place.width if place else 80) - 8
        self.rltui.move_cursor(by * max(1, round((last - first + 1) / max(1, width))))

    def action_move(self, by: int) -> None:
        """The next or previous metric of the list that it was opened from."""
        names = self.rltui.metric_names()
        if self.metric in names:
            self.metric = names[max(0, min(len(names) - 1, names.index(self.metric) + by))]
            self.redraw()

    def action_edge(self, end: int) -> None:
        if end > 0:
            self.rltui.follow()
