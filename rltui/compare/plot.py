"""Plots of a comparison as plain text: quality against cost, and the primary metric of each run on one step axis.

plotext draws these plots and no others. It is good at points and several lines in one frame with labelled axes, drawn
once. The chart in which a user zooms and moves a cursor is our own (`rltui.plots.chart`): it needs roles instead of
colours, dots behind lines, rules below points, and 60 frames a second. plotext returns a string that contains colours,
and parsing it took longer than drawing. plotext keeps one global figure, so each figure is drawn under a lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from math import isfinite
from string import ascii_letters
from threading import Lock
from typing import Any

from msgspec import Struct

from rltui.compare.model import Comparison, RunLine
from rltui.plots.numbers import duration, integer, number
from rltui.plots.spark import sparkline

SMALLEST, GREATEST = 1e-200, 1e300
"""Below the first or above the second, plotext divides by 0 or by an infinity."""
_LOCK = Lock()
LEAST = 20, 6
"""Fewest columns and rows: a smaller frame has no room for its content."""

Ticks = Sequence[tuple[float, str]]
OVERLAID = 6
SPARK = 40
COST_WORDS = {"tokens": "tokens", "gpu_hours": "GPU hours", "hours": "hours", "steps": "steps"}


class Trace(Struct, frozen=True):
    """Points drawn with one character. `joined`: a line connects them."""

    xs: Sequence[float]
    ys: Sequence[float]
    marker: str
    joined: bool = True


def figure(
    traces: Sequence[Trace], width: int, height: int, *, x_ticks: Ticks, y_ticks: Ticks, rules: Sequence[float] = ()
) -> list[str]:
    """`height` lines of plain text, at most `width` wide. Later traces cover earlier ones. `rules`: x of vertical
    lines. Leaves out points that are not finite or above `GREATEST`. Empty if no point is left, or if the size is below
    `LEAST`."""
    shown = [
        (list(xs), list(ys), trace)
        for trace in traces
        if (
            found := [
                (_drawn(x), _drawn(y))
                for x, y in zip(trace.xs, trace.ys, strict=True)
                if abs(x) <= GREATEST and abs(y) <= GREATEST
            ]
        )
        for xs, ys in [zip(*found, strict=True)]
    ]
    if not shown or width < LEAST[0] or height < LEAST[1]:
        return []
    plt: Any = import_module("plotext")  # imported here, as only a figure needs it; untyped
    with _LOCK:
        plt.clear_figure()
        try:
            plt.theme("clear")
            plt.limit_size(False, False)
            plt.plotsize(width, height)
            plt.xticks(*_columns(x_ticks))
            plt.yticks(*_columns(y_ticks))
            for at in rules:
                plt.vline(at)
            for xs, ys, trace in shown:
                (plt.plot if trace.joined and len(xs) > 1 else plt.scatter)(xs, ys, marker=trace.marker)
            text: str = plt.uncolorize(plt.build())
        finally:
            plt.clear_figure()
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def _drawn(value: float) -> float:
    """The value, or 0 if it is so small that plotext would divide by it and get an infinity."""
    return value if abs(value) > SMALLEST else 0.0


def _columns(ticks: Ticks) -> tuple[list[float], list[str]]:
    fitting = [(at, text) for at, text in ticks if abs(at) <= GREATEST]
    return [at for at, _ in fitting], [text for _, text in fitting]


WIDTH, HEIGHT = 64, 14


def cost_text(name: str, value: float | None) -> str:
    """A cost in its own unit; wall-clock hours as a duration."""
    if name == "steps":
        return integer(None if value is None else round(value))
    return duration(None if value is None else value * 3600) if name == "hours" else number(value)


def pareto(comparison: Comparison, width: int = WIDTH, height: int = HEIGHT) -> list[str]:
    """Best value over cost: one letter per run, upper case on the Pareto front. The legend follows after an empty line.
    Empty if nothing can be drawn."""
    axis = comparison.cost
    placed = [] if axis is None else [(r, c) for r in comparison.runs if (c := r.cost[axis]) is not None]
    dots = [(run, cost, run.best) for run, cost in placed if run.best is not None]
    if axis is None or len(dots) < 2:
        return []
    low_x, high_x = min(c for _, c, _ in dots), max(c for _, c, _ in dots)
    low_y, high_y = min(b for *_, b in dots), max(b for *_, b in dots)
    if not isfinite(high_x - low_x) or not isfinite(high_y - low_y):
        return []
    legend, signs, placed_at = [], [], []
    for letter, (run, cost, best) in zip(ascii_letters[:26], dots, strict=False):
        sign = letter.upper() if run.on_front else letter
        legend.append(f"{sign} {run.id}")
        x, y = (cost - low_x) / (high_x - low_x or 1), (best - low_y) / (high_y - low_y or 1)
        cell = round(x * (width - 12)), round(y * (height - 3))
        signs.append("*" if cell in placed_at else sign)
        placed_at.append(cell)
    rows = figure(
        [Trace([c], [b], sign, joined=False) for sign, (_, c, b) in zip(signs, dots, strict=False)],
        width,
        height,
        x_ticks=_ticks(low_x, high_x, lambda cost: cost_text(axis, cost)),
        y_ticks=_ticks(low_y, high_y, number),
    )
    if not rows:
        return []
    more = [f"({len(dots) - 26} more runs are not drawn)"] if len(dots) > 26 else []
    head = f"{comparison.primary.label} over {COST_WORDS[axis]} (capitals: on the front, *: several runs)"
    return [head, *rows, "", *legend, *more]


def _ticks(low: float, high: float, write: Callable[[float], str]) -> list[tuple[float, str]]:
    """Ticks at the ends and the middle; no two have the same text."""
    at = [low, (low + high) / 2, high] if high > low else [low]
    return list({write(one): (one, write(one)) for one in at}.values())


def overlaid(comparison: Comparison, shown: Sequence[RunLine]) -> list[str]:
    """The curves of the first few runs in one frame, one letter per run; empty if fewer than two can be drawn."""
    drawn = [(run, points) for run in shown if len(points := comparison.curves.get(run.id, ())) > 1][:OVERLAID]
    if len(drawn) < 2:
        return []
    steps = [step for _, points in drawn for step, _ in points]
    values = [value for _, points in drawn for _, value in points]
    rows = figure(
        [
            Trace([float(step) for step, _ in points], [value for _, value in points], letter)
            for letter, (_, points) in zip(ascii_letters, drawn, strict=False)
        ],
        WIDTH + 12,
        HEIGHT + 2,
        x_ticks=_ticks(min(steps), max(steps), lambda step: integer(round(step))),
        y_ticks=_ticks(min(values), max(values), number),
    )
    legend = [f"{letter} {run.id}" for letter, (run, _) in zip(ascii_letters, drawn, strict=False)]
    return [f"{comparison.primary.label} over the steps", *rows, "", *legend] if rows else []


def curves(comparison: Comparison, shown: Sequence[RunLine]) -> list[str]:
    """One sparkline per run, all over the same steps and the same range."""
    drawn = [(run, points) for run in shown if (points := comparison.curves.get(run.id))]
    if not drawn:
        return []
    first = min(points[0][0] for _, points in drawn)
    last = max(points[-1][0] for _, points in drawn)
    values = [value for _, points in drawn for _, value in points]
    bounds = min(values), max(values)
    width = max(len(run.id) for run, _ in drawn)
    head = f"{comparison.primary.label}, steps {first} to {last}, {number(bounds[0])} to {number(bounds[1])}"
    rows = []
    for run, points in drawn:
        steps, heights = zip(*points, strict=True)
        rows.append(f"{run.id:<{width}}  {sparkline(steps, heights, SPARK, first, last, bounds=bounds)}")
    return [head, *rows]
