"""Plots of a comparison as plain text: quality against cost, the primary metric of each run on one step axis."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

from rltui.compare.model import Comparison, RunLine
from rltui.plots.numbers import duration, integer, number
from rltui.plots.spark import sparkline

WIDTH, HEIGHT = 56, 12
SPARK = 40
COST_WORDS = {"tokens": "tokens", "gpu_hours": "GPU hours", "hours": "hours", "steps": "steps"}


def cost_text(name: str, value: float | None) -> str:
    """A cost in its own unit; wall-clock hours as a duration."""
    if name == "steps":
        return integer(None if value is None else round(value))
    return duration(None if value is None else value * 3600) if name == "hours" else number(value)


def pareto(comparison: Comparison, width: int = WIDTH, height: int = HEIGHT) -> list[str]:
    """A letter a run, upper case on the front; empty where nothing can be drawn. The legend comes after an empty
    line."""
    axis = comparison.cost
    placed = [] if axis is None else [(r, c) for r in comparison.runs if (c := r.cost[axis]) is not None]
    dots = [(run, cost, run.best) for run, cost in placed if run.best is not None]
    if axis is None or len(dots) < 2:
        return []
    low_x, high_x = min(c for _, c, _ in dots), max(c for _, c, _ in dots)
    low_y, high_y = min(b for *_, b in dots), max(b for *_, b in dots)
    grid = [[" "] * width for _ in range(height)]
    legend = []
    for letter, (run, cost, best) in zip(ascii_letters[:26], dots, strict=False):
        x = round((cost - low_x) / (high_x - low_x or 1) * (width - 1))
        y = height - 1 - round((best - low_y) / (high_y - low_y or 1) * (height - 1))
        sign = letter.upper() if run.on_front else letter
        grid[y][x] = sign if grid[y][x] == " " else "*"
        legend.append(f"{sign} {run.id}")
    labels = {0: number(high_y), height - 1: number(low_y)}
    rows = [f"{labels.get(i, ''):>9} |{''.join(row)}" for i, row in enumerate(grid)]
    left, right = cost_text(axis, low_x), cost_text(axis, high_x)
    foot = f"{'':>9} +{'-' * width}"
    scale = f"{COST_WORDS[axis]:>9}  {left}{' ' * max(1, width - len(left) - len(right))}{right}"
    more = [f"({len(dots) - 26} more runs are not drawn)"] if len(dots) > 26 else []
    head = f"{comparison.primary.label} over {COST_WORDS[axis]}; CAPITALS: on the front, *: several runs"
    return [head, *rows, foot, scale, "", *legend, *more]


def curves(comparison: Comparison, shown: Sequence[RunLine]) -> list[str]:
    """One sparkline a run, all on the same steps and the same range."""
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
