"""Charts of one metric for the drill-downs, drawn again only when what they show has changed: a drawing takes 12 ms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.tui.view import ROLE, View

if TYPE_CHECKING:
    from rltui.diagnosis.model import Finding
    from rltui.plots.chart import Drawing

SMOOTH_SHARE = 50
"""The smoothing window is this part of the points, at most `SMOOTH_MOST` of them."""
SMOOTH_MOST = 25
KEPT = 8


def window(points: int) -> int:
    """Points of the trailing mean; 1: as logged."""
    return max(1, min(SMOOTH_MOST, points // SMOOTH_SHARE))


class Charts:
    """Draws and remembers the last few charts of one screen."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Drawing] = {}

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
    ) -> Drawing | None:
        """Metric `name` over the run's steps; None where nothing is logged. `finding` marks its onset, and from there
        on, if `coloured`, the line has its severity's colour. Event marks of the run with `labels` only."""
        series = view.series(name)
        if series is None or not len(series) or view.frame is None:
            return None
        onset = finding.onset_step if finding else None
        key = (
            view.frame.revision,
            len(series),
            name,
            width,
            height,
            onset,
            coloured,
            scale,
            robust,
            labels,
            view.cursor,
        )
        if key not in self._kept:
            from rltui.plots.chart import Line, Mark, draw  # plotext and numpy: not before they are needed

            first, last = view.span
            role = ROLE[finding.severity] if finding and coloured else ""
            spans = ((float(onset), float(last), role),) if role and role != "dim" and onset is not None else ()
            best = view.best_step()
            marks = [Mark(onset, "onset")] if onset is not None else []
            if labels and view.report is not None:
                marks += [Mark(c.step, "checkpoint") for c in view.frame.run.checkpoints if c.step != best]
                marks += [Mark(step, "restart") for step in view.report.run.restarts]
            if best is not None:
                marks.append(Mark(best, "best"))
            if view.cursor is not None:
                marks.append(Mark(view.cursor, "cursor"))
            smooth = window(len(series))
            factor = 100.0 if view.unit(name) == "%" else 1.0
            line = Line(series.steps, series.values * factor, smooth=smooth, dots=smooth > 1, spans=spans)
            while len(self._kept) >= KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = draw(
                [line],
                width,
                height,
                marks=marks,
                scale=scale,
                robust=robust,
                x_range=(float(first), float(last)),
                labels=labels,
                glyphs=view.glyphs,
            )
        return self._kept[key]
