"""The metric chart: a smoothed line over raw dots, labels instead of axes, events as vertical lines.

`draw` gives rows of (text, role) for a screen that colours by role. `chart` gives plain lines for Markdown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from rltui.plots import axis
from rltui.plots.canvas import Cell, Layer, dots, rasterise
from rltui.plots.glyphs import BRAILLE, GlyphSet
from rltui.plots.numbers import number
from rltui.plots.spark import downsample

Floats = NDArray[np.float64]
Run = tuple[str, str]

GUTTER = 8  # cells for the labels on the left, two of them blank
LABEL_ROWS_FROM = 4  # a chart with fewer rows has no labels below
GUTTER_FROM = 24  # a narrower chart has no labels on the left
BLOCKS = 8  # a long smoothed series is reduced to this many means a dot column
GAP_SPACINGS = 3.0  # a line breaks if points are missing for longer than three of its usual spacings
_HUGE = 1e300  # values are drawn within +- this, so that differences stay finite


class Line(Struct, frozen=True):
    """One series. `role` colours its smoothed line. `spans`: (first step, last step, role) of parts in another role.

    `smooth` is the number of points in the trailing mean (1: as logged). `dots`: show the raw points behind it.
    """

    steps: ArrayLike
    values: ArrayLike
    role: str = "ink"
    smooth: int = 1
    dots: bool = False
    spans: tuple[tuple[float, float, str], ...] = ()


class ChartMark(Struct, frozen=True):
    """An event. `kind`: onset, other, best, checkpoint, restart or cursor. `role` colours it; by default, the kind."""

    step: float
    kind: str
    role: str = ""


class Drawing(Struct, frozen=True):
    """Rows of runs, each row exactly as wide as asked. `above`, `below`: raw points outside `low`..`high`.

    `nonfinite`: logged NaN or infinity, not drawn. `scale` is the one drawn: linear if no value is positive.
    """

    rows: tuple[tuple[Run, ...], ...]
    low: float | None = None
    high: float | None = None
    first: float | None = None
    last: float | None = None
    above: int = 0
    below: int = 0
    nonfinite: int = 0
    scale: str = "lin"

    def lines(self) -> list[str]:
        return ["".join(text for text, _ in row) for row in self.rows]


def chart(
    *lines: Line,
    width: int,
    height: int,
    marks: Sequence[ChartMark] = (),
    scale: str = "lin",
    xlabel: str = "step",
    glyphs: GlyphSet = BRAILLE,
) -> list[str]:
    """`height` plain text lines, at most `width` wide, for a code block. Parameters as for `draw`."""
    drawing = draw(lines, width, height, marks=marks, scale=scale, xlabel=xlabel, glyphs=glyphs)
    return [line.rstrip() for line in drawing.lines()]


def draw(
    lines: Sequence[Line],
    width: int,
    height: int,
    *,
    marks: Sequence[ChartMark] = (),
    scale: str = "lin",
    robust: bool = True,
    x_range: tuple[float, float] | None = None,
    xlabel: str = "",
    x_write: Callable[[float], str] = lambda x: f"{x:.0f}",
    labels: bool = True,
    glyphs: GlyphSet = BRAILLE,
) -> Drawing:
    """Chart of `lines` in `width` x `height` cells, labels included.

    `scale`: lin or log. `robust`: the range is that of the 1-99 % quantiles, else of all points. `x_range`: first and
    last step of a zoom. `labels=False`: no rows below, for charts stacked over one axis. Never raises.
    """
    width, height = max(0, width), max(0, height)
    series = [(line, *_clean(line, x_range)) for line in lines]
    finite = [values[np.isfinite(values)] for _, _, values, _ in series]
    every = np.concatenate(finite) if finite else np.empty(0)
    nonfinite = sum(len(values) for _, _, values, _ in series) - len(every)
    if not len(every) or not width or not height:
        return Drawing(_nothing(width, height), nonfinite=nonfinite)
    if scale == "log" and not (every > 0).any():
        scale = "lin"
    low, high = _range(every, scale, robust)
    starts, ends = [s[0] for _, s, _, _ in series if len(s)], [s[-1] for _, s, _, _ in series if len(s)]
    first, last = x_range if x_range is not None else (float(min(starts)), float(max(ends)))

    marks = [m for m in marks if first <= m.step <= last]
    tick_at = (axis.log_ticks if scale == "log" else axis.ticks)(low, high, 5 if height >= 16 else 3)
    if len(tick_at) < 2 and height >= LABEL_ROWS_FROM and scale != "log":
        tick_at = axis.ticks(low, high, 5)  # one label shows no range
    texts = [f"{t:g}" if 1e-4 <= t < 1e4 else number(t) for t in tick_at] if scale == "log" else _tick_texts(tick_at)
    gutter = max([GUTTER, *(len(t) + 2 for t in texts)]) if width >= GUTTER_FROM else 0
    gutter = gutter if gutter <= width // 2 else 0
    below = labels and height >= LABEL_ROWS_FROM
    has_rail = below and height > LABEL_ROWS_FROM and any(m.kind != "cursor" for m in marks)
    body_height, body_width = height - below - has_rail, width - gutter

    braille = glyphs.name != "ascii"
    across, up = dots(body_width, body_height, braille)
    to_x = _Scale(first, last, across)
    to_y = _Scale(np.log10(low), np.log10(high), up) if scale == "log" else _Scale(low, high, up)
    layers: list[Layer] = []
    for line, steps, values, before in series:
        layers += _layers(line, steps, values, before, to_x, to_y, scale, braille)
    cells = rasterise(layers, body_width, body_height, braille)

    def x_cell(step: float) -> int:
        return int(to_x(step)) // (2 if braille else 1)

    y_row = {}
    for value, text in zip(tick_at, texts, strict=True):
        dot = int(to_y(np.log10(value) if scale == "log" else value))
        y_row[body_height - 1 - (dot // 4 if braille else dot)] = text
    _overlay(cells, marks, x_cell, y_row, glyphs)
    for line, steps, values, _ in series if cells else ():
        if line.dots or line.smooth == 1:
            at = to_x(steps) // (2 if braille else 1)
            _clipped(cells[0], at[values > high], glyphs.above)
            _clipped(cells[-1], at[values < low], glyphs.below)
    rows = [
        _runs(((f"{y_row.get(y, ''):>{gutter - 2}}  ", "axis"),) if gutter else (), row) for y, row in enumerate(cells)
    ]
    if has_rail:
        rows.append(_runs(((" " * gutter, "axis"),), _rail_cells(marks, x_cell, body_width, glyphs)))
    if below:
        head = f"{xlabel[: max(0, gutter - 2)]:>{max(0, gutter - 2)}}  " if gutter else ""
        rows.append(((head + axis.labels(first, last, body_width, x_cell, x_write), "axis"),))
    return Drawing(
        tuple(rows),
        low,
        high,
        first,
        last,
        above=int((every > high).sum()),
        below=int((every < low).sum()),
        nonfinite=nonfinite,
        scale=scale,
    )


class _Scale:
    """Linear map of low..high to the dots 0..n-1, clamped."""

    def __init__(self, low: float, high: float, n: int) -> None:
        self.low, self.span, self.top = float(low), float(high) - float(low), max(0, n - 1)

    def __call__(self, values: ArrayLike) -> NDArray[np.int64]:
        if self.span <= 0:
            return np.full(np.shape(values), self.top // 2, dtype=np.int64)
        inside = np.clip(np.asarray(values, dtype=np.float64), self.low, self.low + self.span)
        return np.rint(np.clip((inside - self.low) / self.span, 0.0, 1.0) * self.top).astype(np.int64)


def _clean(line: Line, x_range: tuple[float, float] | None) -> tuple[Floats, Floats, Floats]:
    """Steps and values as floats, in step order: finite steps inside the zoom. Also the values before the zoom that
    smoothing needs."""
    steps, values = (np.asarray(a, dtype=np.float64).ravel() for a in (line.steps, line.values))
    n = min(len(steps), len(values))
    steps, values = steps[:n], values[:n]
    keep = np.isfinite(steps) & (np.abs(steps) < _HUGE)
    steps, values = steps[keep], values[keep]
    if len(steps) > 1 and (np.diff(steps) < 0).any():
        order = np.argsort(steps, kind="stable")
        steps, values = steps[order], values[order]
    if x_range is None:
        return steps, values, values[:0]
    a, b = int(np.searchsorted(steps, x_range[0])), int(np.searchsorted(steps, x_range[1], side="right"))
    return steps[a:b], values[a:b], values[max(0, a - line.smooth + 1) : a]


def _range(values: Floats, scale: str, robust: bool) -> tuple[float, float]:
    """Lowest and highest value of the chart: the 1-99 % quantiles (or all) and 4 % more; from zero if that is near."""
    values = np.clip(values, -_HUGE, _HUGE)
    if scale == "log":
        values = np.log10(np.maximum(values[values > 0], 1e-300))
    sample = values[:: len(values) // 8192 + 1] if robust else values
    low, high = (float(q) for q in np.quantile(sample, (0.01, 0.99) if robust else (0.0, 1.0)))
    if scale == "log":
        air = max(0.04 * (high - low), 0.02)
        return float(10.0 ** max(low - air, -300.0)), float(10.0 ** min(high + air, 300.0))
    span = high - low
    if span <= 1e-9 * max(abs(low), abs(high)):
        half = 0.1 * abs(low) or 1.0
        return low - half, high + half
    start = low - 0.04 * span
    if 0 <= low <= 0.25 * high:
        start = 0.0
    return start, high + 0.04 * span


def _smooth(values: Floats, points: int) -> Floats:
    """Trailing mean over this many points, without NaN. A logged NaN stays, so that the line breaks there."""
    good = np.isfinite(values)
    if points <= 1 or len(values) < 2:
        return np.where(good, values, np.nan)
    window = np.ones(min(points, len(values)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        total = np.convolve(np.where(good, np.clip(values, -_HUGE, _HUGE), 0.0), window)[: len(values)]
        if good.all():
            return total / np.minimum(np.arange(1, len(values) + 1), len(window))
        count = np.convolve(good.astype(np.float64), window)[: len(values)]
        return np.where(good, total / count, np.nan)


def _blocks(steps: Floats, values: Floats, smooth: int, columns: int) -> tuple[Floats, Floats, int]:
    """A long series as means of neighbouring points, `BLOCKS` of them a dot column, and the smoothing counted in these
    means. Finer detail cannot be seen in a smoothed line, and smoothing 100,000 points costs more than drawing them."""
    size = len(steps) // (BLOCKS * max(1, columns))
    if smooth < 2 * size or size < 2:
        return steps, values, smooth
    starts = np.arange(0, len(steps), size)
    good = np.isfinite(values)
    count = np.add.reduceat(good.astype(np.float64), starts)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        total = np.add.reduceat(np.where(good, np.clip(values, -_HUGE, _HUGE), 0.0), starts)
        return steps[starts], np.where(count > 0, total / count, np.nan), max(1, round(smooth / size))


def _layers(
    line: Line, steps: Floats, values: Floats, before: Floats, to_x: _Scale, to_y: _Scale, scale: str, braille: bool
) -> list[Layer]:
    if not len(steps):
        return []
    columns = to_x.top + 1

    def height_of(v: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(v > 0, np.log10(np.maximum(v, 1e-300)), np.nan) if scale == "log" else v

    found: list[Layer] = []
    if line.dots:
        at, low, high = downsample(steps, height_of(values), columns)
        xs, ys = np.concatenate((at, at)), np.concatenate((low, high))
        inside = (ys >= to_y.low) & (ys <= to_y.low + to_y.span)
        found.append(_layer(to_x(xs[inside]), to_y(ys[inside]), "faint", False, "braille" if braille else ","))
    whole = len(values)
    steps, values, points = _blocks(steps, values, line.smooth, columns)
    lead = before if len(values) == whole else before[:0]
    smooth = height_of(_smooth(np.concatenate((lead, values)), points)[len(lead) :])
    usual = float(np.median(np.diff(steps))) if len(steps) > 1 else 0.0
    at, low, high = downsample(steps, smooth, columns)
    broken = np.isnan(low)
    parts = np.zeros(len(at), dtype=np.int64)  # which unbroken piece a point belongs to
    if len(at) > 1:
        # after downsampling a point stands for a dot column, so a gap must also be wider than that
        widest = max(GAP_SPACINGS * usual, 2.0 * to_x.span / columns if len(steps) > columns else 0.0)
        parts[1:] = np.cumsum((np.diff(at) > widest) | broken[1:] | broken[:-1])
    marker = "braille" if braille else "#"
    for start, end in _pieces(parts, broken):
        across, lows, highs = to_x(at[start:end]), to_y(low[start:end]), to_y(high[start:end])
        for a, b, role in _coloured(at[start:end], line):
            x = np.repeat(across[a:b], 2)
            y = np.column_stack((lows[a:b], highs[a:b])).ravel()
            found.append(_layer(x, y, role, len(x) > 2, marker))
    return found


def _layer(xs: NDArray[np.int64], ys: NDArray[np.int64], role: str, joined: bool, marker: str) -> Layer:
    return Layer(xs, ys, role, joined, marker)


def _pieces(parts: NDArray[np.int64], broken: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Index ranges of equal part number, without the broken points."""
    cuts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]
    return [(a, b) for a, b in pairwise(cuts) if not broken[a]]


def _coloured(at: Floats, line: Line) -> list[tuple[int, int, str]]:
    """Index ranges by role: the line's own, then the spans over it. A span of one point takes in the point before."""
    found = [(0, len(at), line.role)]
    for first, last, role in line.spans:
        a, b = int(np.searchsorted(at, first)), int(np.searchsorted(at, last, side="right"))
        if b > a:
            found.append((max(0, a - 1) if b - a == 1 else a, b, role))
    return found


def _tick_texts(values: Sequence[float]) -> list[str]:
    """Labels with as many decimals as the ticks need to differ. Zero is `0`. A label is not repeated."""
    gap = min((b - a for a, b in pairwise(values)), default=0.0)
    decimals = next((d for d in range(6) if all(abs(round(v, d) - v) <= 1e-3 * gap for v in values)), None)
    found: list[str] = []
    for value in values:
        text = "0" if abs(value) < 1e-9 * gap or value == 0 else number(value, decimals=decimals if gap else None)
        found.append("" if text in found else text)
    return found


_RULED = {"onset", "best", "restart"}


def _mark_glyph(kind: str, glyphs: GlyphSet) -> str:
    return {
        "onset": glyphs.onset,
        "other": glyphs.other_onset,
        "best": glyphs.best,
        "checkpoint": glyphs.checkpoint,
        "cursor": glyphs.cursor,
    }.get(kind, "r")


def _overlay(
    cells: list[list[Cell]],
    marks: Sequence[ChartMark],
    x_cell: Callable[[float], int],
    y_row: dict[int, str],
    glyphs: GlyphSet,
) -> None:
    """Adds the vertical lines of the events, then the dotted grid, only where nothing is drawn."""
    for mark in marks:
        rule = glyphs.cursor if mark.kind == "cursor" else glyphs.onset_rule if mark.kind in _RULED else ""
        x = x_cell(mark.step)
        for row in cells if rule else ():
            if row[x][0] == " " or (mark.kind == "cursor" and row[x][0] == glyphs.onset_rule):
                row[x] = (rule, mark.role or mark.kind)
    for y in y_row:
        if 0 <= y < len(cells):
            for x in range(0, len(cells[y]), 2):
                if cells[y][x][0] == " ":
                    cells[y][x] = (glyphs.grid, "grid")


def _clipped(cells: list[Cell], at: NDArray[np.int64], glyph: str) -> None:
    """A sign at the edge for each column with points outside the range. None if many columns have them, as the signs
    would then say nothing."""
    columns = np.unique(at).tolist()
    if len(columns) <= len(cells) // 4:
        for x in columns:
            cells[x] = (glyph, "clipped")


def _rail_cells(marks: Sequence[ChartMark], x_cell: Callable[[float], int], width: int, glyphs: GlyphSet) -> list[Cell]:
    order = ("checkpoint", "other", "restart", "best", "onset", "cursor")  # the last wins its cell
    row: list[Cell] = [(" ", "axis")] * width
    for mark in sorted(marks, key=lambda m: order.index(m.kind) if m.kind in order else 0):
        row[x_cell(mark.step)] = (_mark_glyph(mark.kind, glyphs), mark.role or mark.kind)
    return row


def _runs(head: tuple[Run, ...], cells: Sequence[Cell]) -> tuple[Run, ...]:
    """Cells as runs of one role. A blank joins the run before it, so that there are few."""
    runs = list(head)
    for ch, role in cells:
        if runs and (ch == " " or runs[-1][1] == role):
            runs[-1] = (runs[-1][0] + ch, runs[-1][1])
        else:
            runs.append((ch, role or "axis"))
    return tuple(runs)


def _nothing(width: int, height: int) -> tuple[tuple[Run, ...], ...]:
    text = "nothing to draw"
    middle = text.center(width) if width >= len(text) else " " * width
    return tuple(((middle if y == height // 2 else " " * width, "axis"),) for y in range(height))
