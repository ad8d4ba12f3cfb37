"""Pane 3: where the time of a step goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.plots.glyphs import bar, excess
from rltui.plots.numbers import duration, number
from rltui.tui.panes.header import UnderWay, age_text, under_way
from rltui.tui.rows import Row, put, title, wrap, wrapped
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.report.model import PhaseItem


NOTE_WIDTH = 48
SLOW = 1.5
"""A step is slow if it takes longer than this many times the median."""


def needed(view: View) -> int:
    """Rows that the pane would like to have."""
    clock = under_way(view) is not None
    if view.report is None or not view.report.phases.items:
        return 3 + clock
    return 1 + clock + len(view.report.phases.items) + min(2, len(wrap(remarks(view), NOTE_WIDTH)))


def slow_steps(view: View) -> list[int]:
    """Steps that took over `SLOW` times the median, in step order."""
    series = view.series("time_per_step_s")
    if series is None or not len(series):
        return []
    seconds = series.finite()
    usual = float(sorted(seconds.values.tolist())[len(seconds) // 2]) if len(seconds) else 0.0
    return [int(step) for step in seconds.steps[seconds.values > SLOW * usual].tolist()]


def seconds(view: View, item: PhaseItem) -> float | None:
    """Median seconds of a phase, or its seconds in the step under the cursor."""
    if view.cursor is None:
        return item.seconds
    name = view.name_of(item.key)
    return view.value_at(name, view.cursor) if name else None


def colour(view: View, item: PhaseItem) -> str:
    """The colour of a phase, only if a finding is open: in a healthy run a high share is a note, not an alarm."""
    return "warn" if item.status == "high" and view.worst is not None else ""


def _percent(share: float) -> str:
    return number(100 * share, decimals=0 if share >= 0.0095 or share == 0 else 1)


def whole_step(view: View) -> float:
    """Seconds of a step. With a step cursor, those of that step, if the run logs them."""
    items = view.report.phases.items if view.report else ()
    whole = view.value_at("time_per_step_s", view.cursor) if view.cursor is not None else None
    return whole or sum(x for item in items if (x := seconds(view, item)) is not None)


def remarks(view: View) -> str:
    phases = view.report.phases if view.report else None
    if phases is None:
        return ""
    if phases.note:
        return phases.note
    main = next((item for item in phases.items if item.name == phases.bottleneck), None)
    if main is not None and main.expected is not None:
        low, high = (round(100 * x) for x in main.expected)
        where = {"high": "above", "low": "below", "usual": "inside"}.get(main.status)
        if where:
            return f"{main.name} is {where} its usual {low}–{high} %"
    return ""


def _heading(view: View, width: int, focus: bool) -> Row:
    total = whole_step(view)
    if not total:
        return title(width, "3", "Step time", None, focus)
    overlapped = view.report is not None and view.report.phases.overlapped
    words = f" s at step {view.cursor}" if view.cursor is not None else " s a step"
    if overlapped:
        return title(width, "3", "Step time", [("phases overlap", "dim")], focus)
    return title(width, "3", "Step time", [(number(total), "strong"), (words, "dim")], focus)


def _why_not(view: View, width: int) -> list[Row]:
    note = view.report.phases.note if view.report else ""
    return [[(f"   {line}", "dim")] for line in wrapped(note or "no phase times logged", width - 4, 2)]


def draw(view: View, width: int, height: int, *, focus: bool) -> list[Row]:
    if view.report is None:
        return [title(width, "3", "Step time", None, focus)]
    items = view.report.phases.items
    if view.cursor is not None:
        items = tuple(item for item in items if view.name_of(item.key))  # of the others only the median is known
    rows = [_heading(view, width, focus)]
    if height < 2:
        return rows
    total = whole_step(view)
    name_w = 18 if width >= 90 else 14
    bar_w = max(4, width - 2 - name_w - 17)
    if height >= 4 and (now := under_way(view)) is not None:
        rows.append(_clock(view, now, name_w, bar_w))
    if not items:
        return rows + _why_not(view, width)
    if height < 4:
        return [*rows, _one_line(view, width, items, total)]
    decimals = 0 if total >= 100 else 1 if total >= 10 else 2 if total >= 1 else 3
    for item in items[: height - len(rows)]:
        took = seconds(view, item)
        role = colour(view, item)
        if took is None:
            rows.append([("   ", "fg"), put(item.name, name_w), ("not logged", "dim")])
            continue
        share = item.share if view.cursor is None else took / total if total else 0.0
        usual = item.expected[1] if item.expected and role else None
        inside, over = excess(share, usual, bar_w, view.glyphs)
        bar: Row = [(inside, "ink"), (over, role or "ink"), (" " * (bar_w - len(inside) - len(over)), "fg")]
        rows.append(
            [
                (" ! " if role else "   ", role or "fg"),
                put(item.name, name_w - 1),
                (" ", "fg"),
                *bar,
                put(number(took, decimals=decimals), 6, "fg", ">"),
                (" s", "dim"),
                put(_percent(share), 6, role or "fg", ">"),
                (" %", "dim"),
            ]
        )
    left = max(0, height - len(rows))
    return rows + [[(f"   {line}", "dim")] for line in wrapped(remarks(view), width - 4, left)]


def _clock(view: View, now: UnderWay, name_w: int, bar_w: int) -> Row:
    """What the run does now, for how long, and how much of the usual time that is. The row is a warning if it takes
    over `SLOW` times the longest usual time."""
    late = now.high_s is not None and now.seconds > SLOW * now.high_s
    role = "warn" if late else "ink"
    usual = now.usual_s
    full = bar(min(1.0, now.seconds / usual), bar_w, view.glyphs) if usual else ""
    row: Row = [(f" {view.glyphs.live} ", "warn" if late else "ok"), put(now.name or "this step", name_w - 1, "strong")]
    row += [(" ", "fg"), (full, role), (" " * (bar_w - len(full)), "fg"), put(age_text(now.seconds), 8, "fg", ">")]
    return [*row, put(f" / {duration(usual)}" if usual else "", 9, "dim")]


def _one_line(view: View, width: int, items: tuple[PhaseItem, ...], total: float) -> Row:
    row: Row = [("   ", "fg")]
    if (now := under_way(view)) is not None and now.name:
        usual = f" / {duration(now.usual_s)}" if now.usual_s is not None else ""
        row = [
            (f" {view.glyphs.live} ", "ok"),
            (f"{now.name} {age_text(now.seconds)}", "strong"),
            (f"{usual}   ", "dim"),
        ]
    for item in sorted(items, key=lambda i: -i.share):
        took = seconds(view, item)
        if took is None or not total:
            continue
        role = colour(view, item)
        share = item.share if view.cursor is None else took / total
        part: Row = [
            (f"{'! ' if role else ''}{item.name} ", role or "fg"),
            (_percent(share), role or "fg"),
            (" %   ", "dim"),
        ]
        if sum(len(t) for t, _ in [*row, *part]) > width:
            break
        row += part
    return row
