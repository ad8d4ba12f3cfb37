"""The text on one finding: what moved first, its causes and fixes, when it is resolved, and where to look next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.diagnosis.finding_words import TOO_CLOSE, began, seems_earlier
from rltui.evidence.model import Finding
from rltui.plots.numbers import number
from rltui.report.causes import fix_setting, likely, quotes_setting
from rltui.tui.panes.findings import NUMBER, config_value, fitting, metric_of
from rltui.tui.panes.log import clock, gpus_at, log_lines
from rltui.tui.rows import SELECTED, Row, clip, cut, put, spread, title, wrap
from rltui.tui.view import GLYPH, ROLE, View

if TYPE_CHECKING:
    from rltui.diagnosis.insight import FirstMover


MOVERS = 8
LINES = 5


def draw(view: View, finding: Finding, width: int) -> list[Row]:
    """All parts of the text, each under its head."""
    rows = _first_movers(view, finding, width)
    root = next((f for f in (view.report.findings if view.report else ()) if f.id == finding.root), None)
    if root is not None:
        rows += [
            title(width, "", "Follows from"),
            [(f" {GLYPH[root.severity]} ", ROLE[root.severity]), (root.title, "fg")],
            *([[(f"   {began(root)}, {TOO_CLOSE}", "dim")]] if seems_earlier(finding, root) else []),
            [],
        ]
    rows += [*_causes(finding, width), *_fixes(finding, width)]
    if finding.band is not None:
        rows.append(title(width, "", "Resolved when"))
        rows += [[(" ", "fg"), (line, "fg")] for line in wrap(finding.band.text, width - 2)]
        rows.append([])
    if finding.refute:
        rows.append(title(width, "", "Refuted if"))
        for text in finding.refute:
            rows += [
                [(" · " if i == 0 else "   ", "dim"), (line, "fg")] for i, line in enumerate(wrap(text, width - 4))
            ]
        rows.append([])
    rows += [*_log_lines(view, finding, width), *_then(view, finding, width)]
    if len(finding.episodes) > 1:
        rows.append(title(width, "", "Episodes"))
        for episode in finding.episodes:
            until = "now" if episode.end_step is None else str(episode.end_step)
            rows.append([(" ", "fg"), (f"{episode.onset_step}–{until}", "fg"), (f"   {episode.severity}", "dim")])
    return rows


def _causes(finding: Finding, width: int) -> list[Row]:
    causes = likely(finding)
    if not causes:
        return []
    rows = [title(width, "", "Likely causes" if causes[0].status == "supported" else "Possible causes")]
    for cause in causes:
        rows += [[(" ", "fg"), (line, "fg")] for line in wrap(cause.text, width - 2)]
        if cause.because:
            rows += [[("   ", "fg"), (line, "dim")] for line in wrap(cause.because, width - 4)]
        if cause.config_key and not quotes_setting(cause):
            value = "" if cause.value is None else config_value(cause.value)
            equals = " = " if value else ""
            row: Row = [("   ", "fg"), (cause.config_key, "dim"), (equals, "dim"), (value, "strong")]
            rows.append(clip(row, width))
    return [*rows, []]


def _fixes(finding: Finding, width: int) -> list[Row]:
    if not finding.fixes:
        return []
    rows = [title(width, "", "Fixes", [("impact    risk", "dim")])]
    for i, fix in enumerate(finding.fixes, 1):
        lines = wrap(fix.text, width - 22) or [""]
        rows.append(spread(width, [(f" {i} ", "dim"), (lines[0], "fg")], [(f"{fix.impact:>6}  {fix.risk:>6}", "fg")]))
        rows += [[("   ", "fg"), (line, "fg")] for line in lines[1:]]
        if fix.config_key:
            rows += [[("   ", "fg"), (line, "dim")] for line in wrap(fix_setting(fix), width - 4)]
    return [*rows, []]


def _first_movers(view: View, finding: Finding, width: int) -> list[Row]:
    """What moved first around the onset: metrics in the order of their onset, on one axis."""
    insight = view.insights.get((finding.onset_step, view.cursor)) if finding.onset_step is not None else None
    if not finding.evidence:
        return []  # nothing was measured: a wrong setting has no onset
    if insight is None or not insight.moves:
        return []
    own = frozenset(metric_of(view, e) for e in finding.evidence[:1])
    head = title(width, "", "What moved first", [("in order of onset", "dim")])
    return [head, *draw_first_movers(view, insight.moves[:MOVERS], width, own), []]


def _log_lines(view: View, finding: Finding, width: int) -> list[Row]:
    """Lines of the log near the onset: notable lines by their step, or else raw lines of that minute."""
    near = log_lines(view, finding.onset_step, LINES) if finding.onset_step is not None else []
    if not near:
        return []
    rows = [title(width, "", "Log around its onset", [("6", "key"), (" all lines", "dim")])]
    for head, text in near:
        rows.append([(f" {head}  ", "dim"), (cut(text, max(0, width - len(head) - 3)), "fg")])
    return [*rows, []]


def _then(view: View, finding: Finding, width: int) -> list[Row]:
    """Keys to related screens, the GPUs at the onset, and the code to open."""
    rows: list[Row] = []
    if finding.stage:
        rows.append([(" P", "key"), (f" the five stages of the pipeline, this is {finding.stage}", "dim")])
    if view.report and finding.onset_step in view.report.rollouts.steps:
        rows.append([(" 5", "key"), (f" what the policy wrote at step {finding.onset_step}", "dim")])
    rows += [[]] if rows else []
    gpus = gpus_at(view, finding.onset_step) if finding.onset_step is not None else []
    if gpus:
        when = clock(view.time_of(finding.onset_step or 0))
        rows += [title(width, "", "GPUs then", [(when, "dim")])]
        beside = 2 if width >= 60 else 1
        each = (width - 2) // beside
        for i in range(0, len(gpus), beside):
            rows.append([(" ", "fg"), *[put(told, each, "fg") for told in gpus[i : i + beside]]])
        rows.append([])
    if finding.where:
        rows += [title(width, "", "Code to open")]
        rows += [[(" ", "fg"), (cut(place, width - 2), "dim")] for place in finding.where]
        rows.append([])
    return rows


NAME = 19
VALUES, ROOMY = 2 * NUMBER + 4, 56


def draw_first_movers(
    view: View, movers: tuple[FirstMover, ...], width: int, strong: frozenset[str], selected: int | None = None
) -> list[Row]:
    """A row for each mover: glyph of its finding, name, step, place of that step on a common axis, values before and
    after."""
    if not movers:
        return []
    first, last = movers[0].step, max(movers[-1].step, movers[0].step + 1)
    wide = width >= 90
    values_w = VALUES if width >= ROOMY else VALUES - 3
    tail = 36 if wide else values_w
    bar_w = max(0, width - NAME - 11 - tail)
    rows: list[Row] = []
    for i, mover in enumerate(movers):
        name = view.name_of(mover.metric) or mover.metric
        flagged = view.flagged.get(name)
        role = ROLE[flagged.severity] if flagged else "ink"
        x = round((mover.step - first) / (last - first) * (bar_w - 1)) if bar_w > 1 else 0
        line: Row = [(" " * x, "fg"), ("▌", role), ("─" * (bar_w - x - 1), "rule")] if bar_w > 1 else []
        values = f"{fitting(view, name, mover.before)} → {fitting(view, name, mover.after)}"
        row: Row = [
            ("▌", SELECTED) if i == selected else (" ", "fg"),
            (f"{GLYPH[flagged.severity]} " if flagged else "  ", role if flagged else "fg"),
            put(view.label(name), NAME, "strong" if name in strong or i == selected else "fg"),
            put(str(mover.step), 6, "fg", ">"),
            ("  ", "fg"),
            *line,
            put(values, values_w, "dim", ">"),
        ]
        if wide:
            row.append(put(f"{number(abs(mover.sds), decimals=1)} sd of noise", tail - values_w, "dim", ">"))
        rows.append(row)
    return rows
