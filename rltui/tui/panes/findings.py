"""Pane 1: findings, worst first, each with first → mid → last, onset, trend and the config value behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rltui.manual.glossary import called
from rltui.plots.numbers import change, integer, number
from rltui.report.courses import evidence_change, evidence_course
from rltui.report.recording import evidence_label
from rltui.tui.rows import SELECTED, Row, length, put, scrolled, title
from rltui.tui.view import GLYPH, ROLE, View

if TYPE_CHECKING:
    from rltui.evidence.model import Evidence, Finding
    from rltui.report.model import Report

ARROW = (" → ", "dim")
LABEL, LABEL_WIDE, CHANGE, NUMBER, SINCE = 17, 21, 8, 7, 5
TINY = 5e-4
"""Smaller values are written as `3e-4`."""
NARROW_HEAD = f"{'from':>{NUMBER}} → {'last':>{NUMBER}}{'':{3 + CHANGE + 2}}{'since':>{SINCE}}"
WORDS_FROM = 76
"""Narrower panes show only the glyph of a severity."""


class Listed(Struct, frozen=True):
    """A row that can be selected: a finding, or (title, needs, enable) of a check that could not run."""

    finding: Finding | None
    check: tuple[str, str, str] | None = None


def listed(view: View, everything: bool) -> list[Listed]:
    """Open findings; if there are none, the checks that could not run. `everything`: all findings and those checks."""
    if view.report is None:
        return []
    found = [Listed(f) for f in view.open_findings()]
    checks = [Listed(None, check) for check in view.report.not_evaluable]
    if everything:
        return found + [Listed(f) for f in view.report.findings if f.status == "resolved"] + checks
    return found or checks


def needed(view: View, everything: bool, second_row: bool) -> int:
    """Rows that the pane would like to have, title included."""
    items = listed(view, everything)
    second = 1 if second_row and items and items[0].finding is not None and len(items[0].finding.evidence) > 1 else 0
    return 1 + max(1, len(items) + second)


def short_key(key: str) -> str:
    """The last part of a dotted config key."""
    return key.rsplit(".", 1)[-1]


def config_value(value: object) -> str:
    """A config value as people write it: 3e-6, not 3e-06."""
    if isinstance(value, float):
        text = f"{value:g}"
        return text.replace("e-0", "e-").replace("e+0", "e")
    return str(value)


def hint(finding: Finding) -> str:
    """The config values behind a finding, or else the text of its first evidence."""
    tied = [c for c in finding.causes if c.status == "supported" and c.config_key and c.value is not None]
    if tied:
        return ", ".join(f"{short_key(c.config_key or '')} {config_value(c.value)}" for c in tied[:2])
    return finding.evidence[0].text if finding.evidence else ""


def _note(view: View, items: list[Listed], room: int) -> str:
    """How many findings of each severity, the worst first, as far as there is room."""
    if view.report is None:
        return ""
    counts = {"critical": 0, "warning": 0, "info": 0}
    for item in items:
        if item.finding is not None and item.finding.status == "active":
            counts[item.finding.severity] += 1
    seen = sum(item.finding is not None and view.acknowledged(item.finding) for item in items)
    parts = [
        f"{counts['critical']} critical" if counts["critical"] else "",
        f"{counts['warning']} warning{'s' if counts['warning'] > 1 else ''}" if counts["warning"] else "",
        f"{counts['info']} note{'s' if counts['info'] > 1 else ''}" if counts["info"] else "",
        f"{seen} acknowledged" if seen else "",
    ]
    if not any(parts):
        skipped = len(view.report.not_evaluable)
        parts = ["none open", f"{skipped} checks could not run" if skipped else ""]
    told = [part for part in parts if part]
    while len(told) > 1 and len(" · ".join(told)) > room:
        told.pop()
    return " · ".join(told)


def _head(view: View, width: int, focus: bool, items: list[Listed]) -> Row:
    resolved = sum(f.status == "resolved" for f in view.report.findings) if view.report else 0
    if any(item.finding is not None for item in items):
        words = "first → mid → last" if width >= 120 else NARROW_HEAD if width >= WORDS_FROM else "from → last"
        right: Row = [(words, "dim")]
    else:
        right = []
    if resolved and width >= 100:
        right = [
            (f"{resolved} resolved, ", "dim"),
            ("A", "key"),
            (" shows them" + ("   " if right else ""), "dim"),
            *right,
        ]
    room = width - 14 - len("".join(text for text, _ in right))
    return title(width, "1", "Findings", right or None, focus, _note(view, items, room))


def fitting(view: View, name: str, value: float | None) -> str:
    """A value that fits into its column. A small one is `3e-4`, and not cut off."""
    text = view.value(name, value)
    if not value or view.unit(name) == "%" or (len(text) <= NUMBER and abs(value) >= TINY):
        return text
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}".replace("-", "−")


def metric_of(view: View, evidence: Evidence) -> str:
    """The report's name for the metric of an evidence, or else a name that no other evidence has."""
    known = view.name_of(evidence.metric) or view.name_of(evidence.key)
    return known or (evidence.metric if evidence_label(evidence) is None else f"{evidence.metric} {evidence.key}")


def _numbers(view: View, evidence: Evidence | None, width: int, strong: bool, role: str) -> Row:
    """`0.034 →  0.052 →  0.159 %   4.8×`, with the label in front if there is room."""
    wide = width >= 120
    label_w = (LABEL_WIDE if width >= 150 else LABEL) if wide else 0
    if evidence is None:
        return [(" " * (label_w + (3 * NUMBER + 6 if wide else 2 * NUMBER + 3) + 3 + CHANGE), "fg")]
    name = view.name_of(evidence.metric) or evidence.metric
    label, unit = evidence_label(evidence) or (view.label(name), view.unit(name))
    row: Row = [put(label, label_w - 1, "dim"), (" ", "fg")] if wide else []
    course = evidence_course(evidence, view.metric(name))
    if wide and len(course) == 2:
        row.append((" " * (NUMBER + len(ARROW[0])), "fg"))
    between = evidence_change(evidence, view.metric(name), view.flagged.get(name))
    for value in course[:-1] if wide else between[:1]:
        row += [put(fitting(view, name, value), NUMBER, "fg", ">"), ARROW]
    row += [
        put(fitting(view, name, course[-1]), NUMBER, "strong" if strong else "fg", ">"),
        (f" {unit if unit in ('%', 's', 'GB', 'W') else '':<2}", "dim"),
    ]
    times = 100.0 if unit == "%" else 1.0
    ends = (None if x is None else x * times for x in between)
    return [*row, put(change(*ends), CHANGE, role, ">")]


def _row(view: View, item: Listed, width: int, selected: bool, title_w: int) -> Row:
    start: Row = [("▌", SELECTED)] if selected else [(" ", "fg")]
    if item.finding is None:
        name, needs, enable = item.check or ("", "", "")
        unknown = f"? {called('unknown'):<10}" if width >= WORDS_FROM else "? "
        row: Row = [*start, (unknown, "dim"), put(name, title_w - 1, "fg"), (" ", "fg")]
        if width >= 120:
            return [*row, put(f"needs {needs}", 24, "dim"), put(f" {enable}", max(0, width - title_w - 38), "dim")]
        return [*row, put(f" needs {needs}", max(0, width - title_w - 1 - len(unknown)), "dim")]
    f = item.finding
    resolved = f.status == "resolved"
    shown = "resolved" if resolved else f.severity
    role = "dim" if resolved else ROLE[f.severity]
    later = view.cursor is not None and f.onset_step is not None and f.onset_step > view.cursor
    name = ("└ " if f.root else "") + f.title + (f" · {f.subject}" if f.subject else "")
    seen = view.acknowledged(f)
    name_role = "dim" if later or resolved or (seen and not selected) else "strong" if selected else "fg"
    words = f"{GLYPH[shown]} {called(shown):<10}" if width >= WORDS_FROM else f"{GLYPH[shown]} "
    row = [*start, (words, "dim" if later else role)]
    if f.evidence:
        row += [put(name, title_w - 1, name_role), (" ", "fg")]
        row += _numbers(view, f.evidence[0], width, selected, role if selected else "fg")
    else:  # nothing was measured, so the title has the room of the numbers
        row.append(put(name, title_w + length(_numbers(view, None, width, False, "fg")), name_role))
    onset = "" if f.onset_step is None else number(f.onset_step, decimals=0) if later else integer(f.onset_step)
    since = "   since " if width >= 120 else "  "
    row += [(since if onset else " " * len(since), "dim"), put(onset, _since_width(view, width), "fg", ">")]
    if width >= 120:
        row.append(put(f"   {'seen' if seen else f.life}", 11, "fg" if f.life == "worse" else "dim"))
    room = width - sum(len(t) for t, _ in row)
    if room > 8 and width >= 120:
        row.append(put(hint(f), room, "dim"))
    return row


def _title_width(view: View, width: int) -> int:
    """Width that the other columns leave for the title in a narrow pane."""
    words = 12 + 2 if width >= WORDS_FROM else 2 + 2
    return max(8, width - 1 - words - (2 * NUMBER + 6) - CHANGE - _since_width(view, width))


def _since_width(view: View, width: int) -> int:
    """Width of the onset's column, at a middle width with room for its heading."""
    return max(len(integer(view.span[1])), SINCE if WORDS_FROM <= width < 120 else 0)


def _why_none(view: View, report: Report) -> str:
    """Why there is no finding."""
    if report.checks:
        return f"all clear: {report.checks} checks"
    if view.recording is not None and not view.recording.loading.done:
        return "the checks begin when the log is read"
    return f"no check could run yet: {'no' if not report.run.steps.rows else 'too few'} metric rows"


def draw(
    view: View, width: int, height: int, *, focus: bool, selected: int, everything: bool, top: int = 0
) -> tuple[list[Row], dict[int, int], int]:
    """The rows, the index of the item of each row, and the first row shown."""
    items = listed(view, everything)
    head = [_head(view, width, focus, items)]
    if view.report is None:
        return head, {}, 0
    if not items:
        return [*head, [(f"   {_why_none(view, view.report)}", "dim")]], {}, 0
    wide_w = next((w for least, w in ((200, 54), (180, 46), (150, 36), (140, 38), (120, 31)) if width >= least), 0)
    title_w = wide_w or _title_width(view, width)
    rows: list[Row] = []
    owners: list[int] = []
    keep = 0
    for i, item in enumerate(items):
        if i == selected:
            keep = len(rows)
        rows.append(_row(view, item, width, i == selected, title_w))
        owners.append(i)
        second = item.finding.evidence[1] if item.finding and len(item.finding.evidence) > 1 else None
        if i == selected and second is not None and height > len(items) + 1 and width >= 120:
            more: Row = [
                (" " * (13 + title_w), "fg"),
                *_numbers(view, second, width, False, "fg"),
                (" " * (20 + len(integer(view.span[1]))), "fg"),
            ]
            room = width - sum(len(t) for t, _ in more)
            rows.append([*more, put(second.text, max(0, room), "dim")])
            owners.append(i)
    shown, top = scrolled(rows, height - 1, keep, top)
    return head + shown, {y + 1: owners[top + y] for y in range(len(shown))}, top
