"""Charts of one metric for the drill-downs. They are drawn again only if what they show has changed, because a chart of
a long run takes a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.plots.numbers import duration, number
from rltui.tui.view import ROLE, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from rltui.compare.fair import Beside
    from rltui.evidence.model import Finding
    from rltui.plots.chart import Drawing
    from rltui.report.recording import Floats, Series

SMOOTH_SHARE = 50
"""The smoothing window is the number of points divided by this, and `SMOOTH_MOST` points at most."""
SMOOTH_MOST = 25
KEPT = 8
AXES = ("step", "time", "tokens")
WRITE: dict[str, Callable[[float], str]] = {
    "step": lambda x: f"{x:.0f}",
    "time": lambda x: duration(x),
    "tokens": lambda x: number(x),
}


def window(points: int, level: int = 0) -> int:
    """Points of the trailing mean; 1: as logged. Each `level` above 0 doubles it, each below halves it."""
    usual = max(1, min(SMOOTH_MOST, points // SMOOTH_SHARE))
    if level > 0:
        return max(1, min(points, (2 if usual == 1 else usual) << (level - (usual == 1))))
    return max(1, usual >> -level)


def x_of(view: View, name: str, axis: str) -> Floats | None:
    """The positions of a metric's points on an axis: steps, seconds since its first row, or tokens trained on so far.
    None if the run does not log them."""
    import numpy as np

    series = view.series(name)
    if series is None:
        return None
    if axis == "step":
        return series.steps.astype(np.float64)
    if axis == "time":
        known = series.times[series.times == series.times]
        return series.times - known[0] if len(known) else None
    seen, each = view.series("total_tokens_seen"), view.series("total_tokens_step")
    if seen is not None and len(seen):
        return np.interp(series.steps, seen.steps, np.nan_to_num(seen.values))
    if each is not None and len(each):
        return np.interp(series.steps, each.steps, np.cumsum(np.nan_to_num(each.values)))
    return None


class Charts:
    """Draws the charts of one screen and keeps the last few."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Drawing] = {}
        self.drawn = 0
        """Drawings made since this was last set to 0."""
        self.others = 0
        """Onsets of other findings that the last chart marks."""

    def draw(
        self,
        view: View,
        name: str,
        width: int,
        height: int,
        *,
        finding: Finding | None,
        coloured: bool,
        scale: str = "lin",
        robust: bool = True,
        labels: bool = True,
        level: int = 0,
        axis: str = "step",
        overlay: str | None = None,
        zoom: int = 1,
        beside: Beside | None = None,
        series: Series | None = None,
    ) -> Drawing | None:
        """Chart of metric `name`; None if it is not logged. The onset of `finding` is marked; if `coloured`, the line
        has the colour of its severity from there on. Events of the run are marked only with `labels`. `level`: more or
        less smoothing. `axis`: step, time or tokens. `overlay`: another metric, over its own range. `zoom`: this many
        times closer, around the step cursor or at the newest steps. `beside`: the same metric of other runs. `series`:
        draw only these points, over the steps, instead of all that is logged."""
        cut = series is not None
        at = x_of(view, name, axis) if series is None else series.steps.astype("float64")
        series = series if series is not None else view.series(name)
        if series is None or at is None or not len(series) or view.recording is None:
            return None
        onset = finding.onset_step if finding else None
        others = {f.onset_step for f in view.flagged.values() if f.onset_step not in (None, onset)} if labels else set()
        self.others = len(others)
        key = (
            view.recording.revision,
            len(series),
            name,
            width,
            height,
            onset,
            finding.severity if finding else "",
            coloured,
            scale,
            robust,
            labels,
            level,
            axis,
            overlay,
            zoom,
            cut,
            id(beside) if beside is not None else None,
            view.cursor,
            frozenset(others),
        )
        if key not in self._kept:
            self.drawn += 1
            import numpy as np  # not before it is needed

            from rltui.plots.chart import ChartMark, Line, draw

            first, last = (
                (float(view.span[0]), float(view.span[1])) if axis == "step" else (float(at[0]), float(at[-1]))
            )

            def x(step: float) -> float:
                return step if axis == "step" else float(np.interp(step, series.steps, at))

            role = ROLE[finding.severity] if finding and coloured else ""
            spans = ((x(onset), last, role),) if role and role != "dim" and onset is not None else ()
            best = view.best_step()
            severity = ROLE[finding.severity] if finding else ""
            marks = [ChartMark(x(onset), "onset", severity)] if onset is not None else []
            if labels and view.report is not None:
                marks += [ChartMark(x(c.step), "checkpoint") for c in view.recording.run.checkpoints if c.step != best]
                marks += [ChartMark(x(step), "other") for step in others if step is not None]
                marks += [ChartMark(x(step), "restart") for step in view.report.run.restarts]
            if best is not None:
                marks.append(ChartMark(x(best), "best"))
            if view.cursor is not None:
                marks.append(ChartMark(x(view.cursor), "cursor"))
            if zoom > 1:
                first, last = _closer(first, last, x(view.at), zoom)
            smooth = window(len(series), level)
            factor = 100.0 if view.unit(name) == "%" else 1.0
            values = series.values * factor
            lines = [Line(at, values, smooth=smooth, dots=smooth > 1, spans=spans)]
            other = view.series(overlay) if overlay else None
            other_at = x_of(view, overlay, axis) if overlay else None
            if other is not None and other_at is not None and len(other):
                lines.insert(
                    0, Line(other_at, _over(other.values, values), role="accent", smooth=window(len(other), level))
                )
            for x_other, y_other in beside.lines if beside is not None else ():
                lines.insert(0, Line(x_other, y_other * factor, role="accent"))
            while len(self._kept) >= KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = draw(
                lines,
                width,
                height,
                marks=marks,
                scale=scale,
                robust=robust,
                x_range=(first, last),
                x_write=WRITE[axis],
                labels=labels,
                glyphs=view.glyphs,
            )
        return self._kept[key]


def _closer(first: float, last: float, around: float, zoom: int) -> tuple[float, float]:
    """A part of the range that is `zoom` times shorter, with `around` in the middle if the range allows that."""
    size = (last - first) / zoom
    start = min(max(first, around - size / 2), last - size)
    return start, start + size


def _over(values: Floats, onto: Floats) -> Floats:
    """One metric's values, scaled to the range of another's by their 1-99 % quantiles."""
    import numpy as np

    seen, target = values[np.isfinite(values)], onto[np.isfinite(onto)]
    if not len(seen) or not len(target):
        return values
    low, high = np.quantile(seen, (0.01, 0.99))
    to_low, to_high = np.quantile(target, (0.01, 0.99))
    span = high - low
    share = (values - low) / span if span > 0 else np.full(len(values), 0.5)
    laid: Floats = to_low + share * (to_high - to_low)
    return laid
