"""Pane 1: findings, worst first, each with first → mid → last, onset, trend and the config value behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from rich.cells import cell_len

from rltui.manual.glossary import called
from rltui.plots.numbers import change, integer, number
from rltui.report.courses import evidence_change, evidence_course
from rltui.report.recording import evidence_label
from rltui.tui.rows import SELECTED, Row, cut, fitted, length, put, scrolled, shortened, title
from rltui.tui.view import GLYPH, ROLE, View

if TYPE_CHECKING:
    from rltui.evidence.model import Evidence, Finding
    from rltui.report.model import Report

ARROW = (" → ", "dim")
CHANGE, NUMBER, SINCE, LIFE = 8, 7, 5, 11
LONGEST_TITLE, LONGEST_LABEL = 54, 21
"""The most cells that titles and metric names get."""
LEAST_TITLE, LEAST_LABEL = 16, 11
"""The fewest cells in which they can be told apart. A pane with less room shows fewer numbers."""
HINT = 12
"""The fewest cells in which the config value behind a finding is shown."""
WHOLE, WORDS = 120, 92
"""Panes narrower than `WHOLE` leave out the middle, life and hint of a finding. Those narrower than `WORDS` also show
only the glyph of its severity."""
TINY = 5e-4
"""Smaller values are written as `3e-4`."""


class FindingColumns(Struct, frozen=True):
    """Widths of the columns of one pane: a number always has the name of what it measures on its left."""

    words: int
    title: int
    label: int
    numbers: int  # how many of first → mid → last are shown
    unit: int
    change: int
    before_since: str
    since: int
    life: int

    @classmethod
    def of(cls, width: int, titles: int, labels: int, units: int, last_step: int) -> FindingColumns:
        """`titles`, `labels`, `units`: the longest lengths. `last_step`: the greatest number in the column of steps."""
        whole = width >= WHOLE
        words = 12 if width >= WORDS else 2
        before = "  since " if whole else "  "
        since = max(len(integer(last_step)), 0 if whole else SINCE)
        numbers = 3 if whole else 2
        room = width - 1 - words - _measured(numbers, units + 1) - len(before) - since - (LIFE if whole else 0)
        if room < LEAST_TITLE + LEAST_LABEL + 2 and numbers > 1:
            numbers, room = 1, room + NUMBER + len(ARROW[0]) + CHANGE
        label = min(labels, LONGEST_LABEL, max(LEAST_LABEL, room - titles - 2)) + 1
        title = min(titles + 1, LONGEST_TITLE, room - label) if whole else room - label
        return cls(
            words, title, label, numbers, units + 1, CHANGE if numbers > 1 else 0, before, since, LIFE if whole else 0
        )

    @property
    def measured(self) -> int:
        """The name of the metric and all of its numbers."""
        return self.label + _measured(self.numbers, self.unit) - CHANGE + self.change


def _measured(numbers: int, unit: int) -> int:
    return numbers * NUMBER + (numbers - 1) * len(ARROW[0]) + unit + CHANGE


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


def hint(finding: Finding, room: int) -> str:
    """The config values behind a finding, as many as there is room for, or else the text of its first evidence."""
    tied = [c for c in finding.causes if c.status == "supported" and c.config_key and c.value is not None]
    if tied:
        told = [f"{short_key(c.config_key or '')} {config_value(c.value)}" for c in tied[:2]]
        return told[0] if len(", ".join(told)) > room else ", ".join(told)
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


def _head(view: View, width: int, focus: bool, items: list[Listed], cols: FindingColumns) -> Row:
    resolved = sum(f.status == "resolved" for f in view.report.findings) if view.report else 0
    right: Row = []
    if any(item.finding is not None for item in items):
        words = ("last", "from → last", "first → mid → last")[cols.numbers - 1]
        gap = cols.unit + cols.change + len(cols.before_since) + cols.since
        right = [(words if cols.life else f"{words}{'since':>{gap}}", "dim")]
    if resolved and width >= 100:
        right = [
            (f"{resolved} resolved, ", "dim"),
            ("A", "key"),
            (" shows them" + ("   " if right else ""), "dim"),
            *right,
        ]
    room = width - 15 - len("".join(text for text, _ in right))
    return title(width, "1", "Findings", right or None, focus, _note(view, items, room))


def fitting(view: View, name: str, value: float | None) -> str:
    """A value that fits into its column. A small one is written as `3e-4`, not cut off."""
    text = view.value(name, value)
    if not value or view.unit(name) == "%" or (len(text) <= NUMBER and abs(value) >= TINY):
        return text
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}".replace("-", "−")


def metric_of(view: View, evidence: Evidence) -> str:
    """The report's name for the metric of an evidence, or else a name that no other evidence has."""
    known = view.name_of(evidence.metric) or view.name_of(evidence.key)
    return known or (evidence.metric if evidence_label(evidence) is None else f"{evidence.metric} {evidence.key}")


def named(view: View, evidence: Evidence) -> tuple[str, str, str]:
    """The metric of an evidence, its name on the screen and its unit."""
    name = view.name_of(evidence.metric) or evidence.metric
    return name, *(evidence_label(evidence) or (view.label(name), view.unit(name)))


def _numbers(view: View, evidence: Evidence, cols: FindingColumns, strong: bool, role: str) -> Row:
    """`KL to reference  0.034 →  0.052 →  0.159 nats   4.8×`."""
    name, label, unit = named(view, evidence)
    row: Row = [put(shortened(label, cols.label - 1), cols.label, "dim")]
    course = evidence_course(evidence, view.metric(name))
    between = evidence_change(evidence, view.metric(name), view.flagged.get(name))
    before = course[:-1] if cols.numbers == 3 else between[: cols.numbers - 1]
    row.append((" " * ((cols.numbers - 1 - len(before)) * (NUMBER + len(ARROW[0]))), "fg"))
    for value in before:
        row += [put(fitting(view, name, value), NUMBER, "fg", ">"), ARROW]
    row += [
        put(fitting(view, name, course[-1]), NUMBER, "strong" if strong else "fg", ">"),
        put(f" {unit}", cols.unit, "dim"),
    ]
    times = 100.0 if unit == "%" else 1.0
    ends = (None if x is None else x * times for x in between)
    return [*row, put(change(*ends), cols.change, role, ">")]


def _called(finding: Finding) -> str:
    return ("└ " if finding.root else "") + finding.title + (f" · {finding.subject}" if finding.subject else "")


def _row(view: View, item: Listed, width: int, selected: bool, cols: FindingColumns) -> Row:
    start: Row = [("▌", SELECTED)] if selected else [(" ", "fg")]
    if item.finding is None:
        return start + _not_run(item.check or ("", "", ""), width - 1)
    f = item.finding
    resolved = f.status == "resolved"
    shown = "resolved" if resolved else f.severity
    role = "dim" if resolved else ROLE[f.severity]
    later = view.cursor is not None and f.onset_step is not None and f.onset_step > view.cursor
    seen = view.acknowledged(f)
    name_role = "dim" if later or resolved or (seen and not selected) else "strong" if selected else "fg"
    words = f"{GLYPH[shown]} {called(shown)}" if cols.words > 2 else GLYPH[shown]
    row = [*start, put(words, cols.words, "dim" if later else role)]
    if f.evidence:
        row += [put(cut(_called(f), cols.title - 1), cols.title, name_role)]
        row += _numbers(view, f.evidence[0], cols, selected, role if selected else "fg")
    else:  # nothing was measured, so the title gets the room of the numbers
        row.append(put(_called(f), cols.title + cols.measured, name_role))
    onset = "" if f.onset_step is None else number(f.onset_step, decimals=0) if later else integer(f.onset_step)
    row += [(cols.before_since if onset else " " * len(cols.before_since), "dim"), put(onset, cols.since, "fg", ">")]
    if cols.life:
        row.append(put(f"  {'seen' if seen else f.life}", cols.life, "fg" if f.life == "worse" else "dim"))
        room = width - length(row)
        if room >= HINT:
            row.append(put(hint(f, room), room, "dim"))
    return row


def _not_run(check: tuple[str, str, str], width: int) -> Row:
    """A check that could not run, what it needs, and what would enable it, as far as there is room."""
    name, needs, enable = check
    unknown = f"? {called('unknown'):<10}" if width >= WORDS else "? "
    row: Row = [(unknown, "dim"), put(name, min(LONGEST_TITLE, max(LEAST_TITLE, len(name))) + 2, "fg")]
    row.append((f"needs {needs}", "dim"))
    if width >= WHOLE and enable:
        row.append((f"   {enable}", "dim"))
    return fitted(row, width)


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
    found = [item.finding for item in items if item.finding is not None]
    titles = max((cell_len(_called(f)) for f in found if f.evidence), default=0)
    told = [named(view, one) for f in found for one in f.evidence[:2]]
    labels, units = (max((cell_len(one[part]) for one in told), default=0) for part in (1, 2))
    cols = FindingColumns.of(width, titles, labels, units, view.span[1])
    head = [_head(view, width, focus, items, cols)]
    if view.report is None:
        return head, {}, 0
    if not items:
        return [*head, [(f"   {_why_none(view, view.report)}", "dim")]], {}, 0
    rows: list[Row] = []
    owners: list[int] = []
    keep = 0
    for i, item in enumerate(items):
        if i == selected:
            keep = len(rows)
        rows.append(_row(view, item, width, i == selected, cols))
        owners.append(i)
        second = item.finding.evidence[1] if item.finding and len(item.finding.evidence) > 1 else None
        if i == selected and second is not None and height > len(items) + 1 and cols.life:
            more: Row = [
                (" " * (1 + cols.words + cols.title), "fg"),
                *_numbers(view, second, cols, False, "fg"),
                (" " * (len(cols.before_since) + cols.since + cols.life), "fg"),
            ]
            room = width - length(more)
            rows.append([*more, put(second.text, room, "dim")] if room >= HINT else more)
            owners.append(i)
    shown, top = scrolled(rows, height - 1, keep, top)
    return head + shown, {y + 1: owners[top + y] for y in range(len(shown))}, top
