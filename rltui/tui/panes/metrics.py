"""Pane 2: one row for each metric, all sparklines on one step axis."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec import Struct

from rltui.plots.axis import column, labels, rail
from rltui.plots.numbers import MINUS, fixed_decimals
from rltui.report.courses import change_of
from rltui.tui.headings import Heading, headings
from rltui.tui.lists import Order, matches
from rltui.tui.panes.metric_keys import key_in, prefix_of
from rltui.tui.rows import SELECTED, Row, put, scrolled, shortened, title, wrapped
from rltui.tui.view import GLYPH, ROLE, View

if TYPE_CHECKING:
    from rltui.evidence.model import Finding
    from rltui.report.model import MetricSummary

KINDS = ("metric", "constant", "missing")
MOST_DECIMALS = 5
RECENT = 50
"""The last this many points decide how many decimals a metric has, so that its width does not change."""


class MetricLine(Struct, frozen=True):
    """A line of the list: a heading, a blank, a metric, or a metric that is not logged. `prefix`: what all keys below a
    heading begin with, so that each is shown without it."""

    kind: str  # "heading" | "blank" | "metric" | "constant" | "missing"
    name: str = ""
    prefix: str = ""


def _rank(name: str, heading: Heading, flagged: bool) -> tuple[int, int]:
    base = name.split(":", 1)[0]
    first = heading.first.index(base) if base in heading.first else len(heading.first)
    return (0 if flagged else 1, first) if first == len(heading.first) else (1, first)


def grouped(view: View, pattern: str = "") -> list[tuple[Heading, list[tuple[str, bool]]]]:
    """For each heading: (metric, whether it is logged), most important first. Only those that match `pattern`."""
    listed = view.listed
    out = []
    missing = {m.metric for m in view.report.coverage.missing if m.blocks} if view.report else set()
    for heading in headings():
        names = [(n, True) for n, m in listed.items() if (m.group or "other") in heading.groups]
        known = {n.split(":", 1)[0] for n, _ in names}
        names += [(n, False) for n in heading.first if n in missing and n not in known]
        if pattern:
            names = [(n, on) for n, on in names if matches(pattern, f"{n} {view.label(n)} {_key(view, n)}")]
        names.sort(key=lambda item: _rank(item[0], heading, item[0] in view.flagged))
        if names:
            out.append((heading, names))
    known_groups = {group for heading in headings() for group in heading.groups}
    rest = [(n, True) for n, m in listed.items() if (m.group or "other") not in known_groups]
    if pattern:
        rest = [(n, on) for n, on in rest if matches(pattern, f"{n} {view.label(n)} {_key(view, n)}")]
    if rest:
        out.append((Heading("more", (), ()), rest))
    return out


def overview(view: View, room: int, narrow: bool) -> list[str]:
    """The metrics that get a row if there is no room for all: those with findings, the pinned ones, then the first of
    each heading in turn."""
    groups = grouped(view)
    flagged = [n for _, names in groups for n, _ in names if n in view.flagged]
    queues = [[n for n, _ in names if n not in view.flagged] for heading, names in groups if heading.first]
    turns = [n for turn in zip_longest(*queues) for n in turn if n is not None]
    turns += [n for heading, names in groups if not heading.first for n, _ in names if n not in view.flagged]
    pinned = [n for n in (view.marks.pinned if view.marks else ()) if view.metric(n) is not None]
    chosen: list[str] = []
    used: set[str] = set()
    heading_of = {n: heading.name for heading, names in groups for n, _ in names}
    if narrow:  # there is room for few, so logged metrics come first
        logged = view.listed
        turns.sort(key=lambda name: name not in logged)
    for name in dict.fromkeys([*flagged, *pinned, *turns]):
        cost = 1 + (0 if narrow or heading_of[name] in used else 2)
        if room < cost:
            continue
        room -= cost
        used.add(heading_of[name])
        chosen.append(name)
    return chosen


def constant(view: View, name: str) -> bool:
    """Whether the metric was logged more than once, always with the same value."""
    metric = view.metric(name)
    return metric is not None and metric.count > 1 and not metric.nan and metric.min == metric.max


def _sort_key(view: View, name: str, column: str) -> tuple[int, float, str]:
    """Metrics without a value in this column come last."""
    metric = view.metric(name)
    if column == "name" or metric is None:
        return 0, 0.0, view.label(name).lower()
    if column == "now":
        value = view.now_value(name)
    elif column == "change":
        value = metric.pct_change
    else:
        known = metric.min is not None and metric.max is not None and metric.mean
        value = (metric.max - metric.min) / abs(metric.mean) if known else None  # type: ignore[operator, arg-type]
    return (1, 0.0, "") if value is None else (0, -abs(value) if column != "now" else -value, "")


def _sorted(view: View, names: list[str], order: Order) -> list[str]:
    found = sorted(names, key=lambda name: _sort_key(view, name, order.column))
    return found[::-1] if order.reverse else found


def lines(
    view: View, room: int, *, everything: bool, pattern: str, narrow: bool, order: Order | None = None
) -> list[MetricLine]:
    """The lines of the list for `room` rows. `everything`: the list of all metrics, with constant ones together at the
    end, and with an `order` that may be by another column than the stage."""
    groups = grouped(view, pattern)
    order = order or Order()
    flat: list[str] = []
    if everything and not pattern:
        flat = [n for _, names in groups for n, on in names if on and n not in view.flagged and constant(view, n)]
        folded = set(flat)
        groups = [(h, [item for item in names if item[0] not in folded]) for h, names in groups]
    if everything and (order.column != "stage" or order.reverse):
        all_names = _sorted(view, [n for _, names in groups for n, on in names if on], order)
        if order.column == "stage":
            all_names = [n for _, names in reversed(groups) for n, on in names if on]
        ordered = [MetricLine("metric", name) for name in all_names]
        return ordered + _folded(flat, narrow)
    if not everything and not pattern:
        chosen = set(overview(view, room + (0 if narrow else 1), narrow))
        groups = [(h, [item for item in names if item[0] in chosen]) for h, names in groups]
    out: list[MetricLine] = []
    groups = [(heading, names) for heading, names in groups if names]
    airy = sum(2 + len(names) for _, names in groups) - 1 <= room
    for heading, names in groups:
        if not narrow:
            if out and (airy or everything):
                out.append(MetricLine("blank"))
            prefix = prefix_of([_key(view, n) for n, on in names if on])
            out.append(MetricLine("heading", heading.name, prefix))
        else:
            prefix = ""
        out += [MetricLine("metric" if on else "missing", name, prefix) for name, on in names]
    return out + _folded(flat, narrow)


def _folded(names: list[str], narrow: bool) -> list[MetricLine]:
    """A heading for all constant metrics, and their rows below it."""
    if not names:
        return []
    blank = [] if narrow else [MetricLine("blank")]
    return [*blank, MetricLine("heading", f"constant: {len(names)}"), *[MetricLine("constant", name) for name in names]]


def _key(view: View, name: str) -> str:
    metric = view.listed.get(name)
    return metric.key if metric else ""


class Columns(Struct, frozen=True):
    """Widths of the columns for one width of the pane."""

    name: int
    spark: int
    now: int
    unit: int
    change: int
    key: int

    @classmethod
    def of(cls, width: int) -> Columns:
        if width < 66:
            name, now, unit, chg, key = 17, 8, 6, 8, 0
        elif width < 90:
            name, now, unit, chg, key = 21, 8, 6, 8, 0
        elif width < 140:
            name, now, unit, chg, key = 21, 9, 6, 8, 21
        elif width < 200:
            name, now, unit, chg, key = 28, 9, 6, 8, 32
        else:
            name, now, unit, chg, key = 40, 9, 6, 8, 48
        spark = width - 3 - name - now - unit - chg - key
        if spark < 8:
            name = max(8, name - (8 - spark))
            spark = max(4, width - 3 - name - now - unit - chg - key)
        return cls(name, spark, now, unit, chg, key)


def axis_rows(view: View, cols: Columns) -> list[Row]:
    """Step labels, and below them the marks of best checkpoint, onset and cursor."""
    first, last = view.axis()
    lead = (" " * (3 + cols.name), "fg")
    when = "now" if view.cursor is None else "then"
    text = f"{when:>{cols.now}}{'':{cols.unit}}{'change':>{cols.change}}"
    heads = text + (f"{'key':>6}" if cols.key else "")
    rows = [[lead, (labels(first, last, cols.spark, reached=view.span[1]), "dim"), (heads, "dim")]]
    marks, roles, best, worst = [], {"◆": "accent", "▼": "crit", "│": "accent"}, view.best_step(), view.worst
    if best is not None:
        marks.append((best, "◆"))
    if worst is not None and worst.onset_step is not None:
        marks.append((worst.onset_step, "▼"))
        roles["▼"] = ROLE[worst.severity]
    if view.cursor is not None:
        marks.append((view.cursor, "│"))
    row: Row = [lead]
    line, at = rail(marks, first, last, cols.spark), 0
    for x, glyph in enumerate(line):
        if glyph != " ":
            row += [(line[at:x], "fg"), (glyph, roles[glyph])]
            at = x + 1
    return [*rows, row]


def _spark(view: View, name: str, width: int, role: str, onset: int | None) -> Row:
    series = view.series(name)
    first, last = view.axis()
    if series is None or not len(series):
        return [(" " * width, "ink")]
    from rltui.plots.spark import sparkline  # it needs numpy, which the first values on the screen do not need

    key = name, width, first, last, view.glyphs.name
    if key not in view.sparks:  # 1.5 ms each at 100,000 steps, and each key press draws a page of them
        view.sparks[key] = sparkline(series.steps, series.values, width, first, last, view.glyphs)
    text = view.sparks[key]
    if onset is None or not role:
        return [(text, "ink")]
    at = column(onset, first, last, width)
    tick = "|" if view.glyphs.name == "ascii" else ""
    return [(text[:at] + tick, "ink"), (text[at + len(tick) :], role)]


def _row(view: View, line: MetricLine, cols: Columns, selected: bool) -> Row:
    start = ("▌", SELECTED) if selected else (" ", "fg")
    if line.kind == "blank":
        return []
    if line.kind == "heading":
        width = 3 + cols.name + cols.spark + cols.now + cols.unit + cols.change + 3
        return [put(f" {line.name.upper()}", width, "dim"), put(line.prefix, max(0, cols.key - 3), "dim")]
    if line.kind == "missing":
        rest = cols.spark + cols.now + cols.unit + cols.change + cols.key
        return [
            start,
            ("? ", "dim"),
            put(shortened(view.label(line.name), cols.name - 1), cols.name - 1, "dim"),
            put(" not logged", rest + 1, "dim"),
        ]
    finding = view.flagged.get(line.name)
    metric = view.metric(line.name)
    if line.kind == "constant":
        value = f"{view.value(line.name, metric.last_value if metric else None)} {view.unit(line.name)}"
        rest = cols.spark + cols.now + cols.unit + cols.change
        key = put(f"   {metric.key if metric else ''}", cols.key, "dim")
        return [start, ("  ", "fg"), put(view.label(line.name), cols.name, "dim"), put(value, rest, "dim"), key]
    role = ROLE[finding.severity] if finding else ""
    later = finding is not None and view.cursor is not None and (finding.onset_step or 0) > view.cursor
    is_pinned = view.marks is not None and line.name in view.marks.pinned
    glyph = GLYPH[finding.severity] if finding else "•" if is_pinned else " "
    strong = "strong" if role == "crit" or selected else "fg"
    scale = 100.0 if view.unit(line.name) == "%" else 1.0
    recent = [value * scale for value in view.recent(line.name, RECENT)]
    decimals = fixed_decimals(recent) if recent else None
    tiny = decimals is not None and decimals > MOST_DECIMALS
    if tiny:
        decimals = None  # a learning rate is written as 3e-6
    row: Row = [
        start,
        (f"{glyph} ", "dim" if later else role or "fg"),
        put(shortened(view.label(line.name), cols.name - 1), cols.name - 1, strong),
    ]
    row += [(" ", "fg"), *_spark(view, line.name, cols.spark, role, finding.onset_step if finding else None)]
    now = view.now_value(line.name)
    if now and decimals is not None and abs(now * scale) < 0.5 * 10**-decimals:
        decimals = None  # it would read as zero
    shown = "0" if tiny and now == 0 else view.value(line.name, now, decimals)  # 0.000 could be any small rate
    row += [put(shown, cols.now, strong, ">"), put(f" {view.unit(line.name)}", cols.unit, "dim")]
    moved = _moved(metric, finding if view.last_rows is None else None, scale)
    row.append(put(moved, cols.change, role or "fg", ">"))
    if cols.key:
        row += [("   ", "fg"), put(key_in(_key(view, line.name), line.prefix, cols.key - 3), cols.key - 3, "dim")]
    return row


def _moved(metric: MetricSummary | None, finding: Finding | None, scale: float) -> str:
    """The change of a metric, times `scale`, like all numbers of the row."""
    return "" if metric is None else _short(change_of(metric, finding, scale))


def _short(moved: str) -> str:
    """A tiny difference as `+1.1e-5`, so that it fits into its column."""
    if len(moved) < 8 or moved.endswith(("%", "×")):
        return moved
    mantissa, exponent = f"{float(moved.replace(MINUS, '-')):+.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}".replace("-", MINUS)


def _title(view: View, width: int, focus: bool, shown: int, pattern: str | None, typing: bool) -> Row:
    total = len(view.listed)
    if pattern is not None:
        note = f"/{pattern}{'▏' if typing else ''}  {shown} of {total}"
        return title(width, "2", "Metrics", None, focus, note)
    right: Row = []
    if width >= 90:
        if view.best is not None:
            right += [("◆", "accent"), (f" {view.best.called}", "dim")]
        worst = view.worst
        if worst is not None and worst.onset_step is not None:
            right += [
                ("   " if right else "", "fg"),
                ("▼", ROLE[worst.severity]),
                (" onset of the worst finding", "dim"),
            ]
    note = f"{shown} of {total}" if shown < total else ""
    return title(width, "2", "Metrics", right or None, focus, note)


def draw(
    view: View,
    width: int,
    height: int,
    *,
    focus: bool,
    selected: str | None,
    everything: bool,
    pattern: str | None,
    typing: bool = False,
    top: int = 0,
    order: Order | None = None,
) -> tuple[list[Row], dict[int, str], int]:
    """The rows, the metric of each row, and the first line of the list that is shown."""
    if view.report is None and view.first is None:
        return [_title(view, width, focus, 0, pattern, typing)], {}, 0
    narrow = width < 90
    cols = Columns.of(width)
    head = [] if narrow and height < 16 else axis_rows(view, cols)
    room = list_rows(width, height, focus)
    found = lines(view, room, everything=everything, pattern=pattern or "", narrow=narrow, order=order)
    names = [line.name for line in found if line.kind in KINDS]
    rows = [
        _title(view, width, focus, sum(line.kind in ("metric", "constant") for line in found), pattern, typing),
        *head,
    ]
    if not names or not (pattern or view.listed):
        why = f"nothing matches /{pattern} (Esc clears it)" if pattern else _empty(view)
        return [*rows[:1], [("   " + why, "dim")]], {}, 0
    keep = next((i for i, line in enumerate(found) if line.name == selected and line.kind in KINDS), None)
    _, start = scrolled([[] for _ in found], room, keep, top)
    shown = found[start : start + room]
    owners: dict[int, str] = {}
    for i, line in enumerate(shown):
        if line.kind in KINDS:
            owners[len(rows)] = line.name
        rows.append(_row(view, line, cols, focus and start + i == keep))
    explained = explained_rows(height, focus)
    if explained and selected is not None:
        rows += [[]] * (height - explained - len(rows))
        rows += [[(" ", "fg"), (line, "dim")] for line in wrapped(meaning(view, selected), width - 2, explained)]
    return rows, owners, start


def list_rows(width: int, height: int, focus: bool) -> int:
    """Rows for the list itself, without the title, the axis and the meaning of the selected metric."""
    axis = 0 if width < 90 and height < 16 else 2
    return height - 1 - axis - explained_rows(height, focus)


def meaning(view: View, name: str) -> str:
    """The meaning of a metric in one line, or that it is not known."""
    return f"{view.label(name)}: {view.explained(name) or 'a key of this run whose meaning is not known'}"


def explained_rows(height: int, focus: bool) -> int:
    """Number of rows at the bottom, if the pane has the focus, for the meaning of the selected metric."""
    return 0 if not focus or height < 10 else 2 if height >= 16 else 1


def _empty(view: View) -> str:
    if view.recording is not None and not view.recording.loading.done:
        return "reading, no step found so far"
    known = view.recording.run.sources if view.recording is not None else ()
    hints = [source.note for source in known if source.note and not source.rows]
    return hints[0] if hints else "no metric rows yet: the trainer has not logged a step, or this is not its metric log"
