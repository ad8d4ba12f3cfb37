"""Step axes: the cell of a step, labels and event marks in a row of cells, round ticks for a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, floor, isfinite, log10


def column(step: float, first: float, last: float, width: int) -> int:
    """The cell of `step` on an axis of `width` cells from `first` to `last`, both included; clamped to the axis."""
    span = last - first + 1
    return max(0, min(width - 1, int((step - first) * width / span + 1e-9 * width))) if span > 0 else 0


def round_step(span: float, parts: int) -> float:
    """The least of 1, 2, 5 x 10^k that cuts `span` into at most `parts` parts."""
    raw = span / max(1, parts)
    if raw <= 0 or not isfinite(raw):
        return 1.0
    power = 10.0 ** floor(log10(raw))
    return next((f * power for f in (1.0, 2.0, 5.0) if f * power >= raw * (1 - 1e-9)), 10.0 * power)


def ticks(low: float, high: float, parts: int = 5) -> list[float]:
    """Round values inside [low, high], about `parts` of them."""
    step = round_step(high - low, parts)
    start, end = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    if end - start > 4 * parts:  # beyond the precision of a float: no round value separates the two ends
        return [low]
    return [k * step for k in range(start, end + 1)]


def log_ticks(low: float, high: float, parts: int = 5) -> list[float]:
    """Powers of ten in [low, high], about `parts`. For less than two decades 1, 2, 5 of each, or else linear ticks."""
    first, last = ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9)
    if last - first >= 2:
        found = [10.0**k for k in range(first, last + 1, ceil((last - first) / parts))]
    else:
        found = [f * 10.0**k for k in range(first - 1, last + 1) for f in (1.0, 2.0, 5.0)]
    inside = [t for t in found if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]
    return inside if len(inside) > 1 else ticks(low, high, parts)


def labels(
    first: float,
    last: float,
    width: int,
    place: Callable[[float], int] | None = None,
    write: Callable[[float], str] = lambda x: f"{x:.0f}",
    reached: float | None = None,
) -> str:
    """Round labels, left-aligned at their cells, in exactly `width` characters. The ends have labels if there is room.

    `place` maps a step to its cell (default: `column`). `reached`: the newest step of a run that has not filled its
    axis yet; it has the last label, and nothing beyond it has one.
    """
    at = place or (lambda step: column(step, first, last, width))
    row = [" "] * max(0, width)
    end = write(last if reached is None else reached)
    if len(end) > width:
        return " " * width
    stop = width if reached is None else max(len(end), min(width, at(reached) + 1))
    row[stop - len(end) : stop] = end
    gap = round_step((last - first) * (len(end) + 4) / width, 1) if last > first else 0.0
    if not gap > 0.0:  # also for a range too small to compute with
        return "".join(row) if width < 2 * len(end) + 1 else f"{end:<{width}}"
    room = stop - len(end) - 1  # one blank before the last label
    free = 0
    gap = max(1.0, gap) if float(first).is_integer() and float(last).is_integer() else gap
    middle = [k * gap for k in range(floor(first / gap) + 1, ceil(last / gap))]
    for value in [first, *(t for t in middle if t > first)]:
        text, x = write(value), at(value)
        if x >= free and x + len(text) <= room:
            row[x : x + len(text)] = text
            free = x + len(text) + 1
    return "".join(row)


def rail(marks: Iterable[tuple[float, str]], first: float, last: float, width: int) -> str:
    """Event glyphs at their cells; a later mark wins its cell. Marks outside the axis are left out."""
    row = [" "] * max(0, width)
    for step, glyph in marks:
        if first <= step <= last and row:
            row[column(step, first, last, width)] = glyph
    return "".join(row)
