"""One finding: charts of its evidence with the onset marked, likely causes, fixes, and what would refute it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region, Size

from rltui.evidence.model import Evidence, Finding
from rltui.manual.glossary import called
from rltui.plots.axis import labels
from rltui.plots.numbers import change, number
from rltui.report.answer import cause_text
from rltui.report.causes import fix_line, likely
from rltui.report.courses import evidence_change, evidence_course
from rltui.report.recording import evidence_label, evidence_series
from rltui.tui.charts import Charts
from rltui.tui.panes import finding_words, header
from rltui.tui.panes.findings import config_value, metric_of
from rltui.tui.rows import Row, clip, cut, length, put, title, wrap, wrapped
from rltui.tui.screens.base import PaneScreen, Places
from rltui.tui.view import GLYPH, ROLE

if TYPE_CHECKING:
    from rltui.report.recording import Series

CHARTS = 3
GUTTER = 8
ROOMY = 10
"""If a chart has this many rows, its text may have its own row."""
LOWEST = 4
"""The fewest rows of a chart with its caption."""
SUMMARY = 3
TO_DO = "to do: "
READABLE = 100
"""The most columns of a text that has the whole width."""


class FindingScreen(PaneScreen):
    """Charts at the left, text at the right. Below 120 columns the charts are above the text, and `j k` scroll it."""

    NAME = "finding"
    PANES: ClassVar[tuple[str, ...]] = ("header", "top", "charts", "words")

    def __init__(self, finding: str, subject: str | None) -> None:
        super().__init__()
        self.key = (finding, subject)
        self.row = 0
        self.top = 0
        self.painted = False
        self.charts = Charts()

    @property
    def found(self) -> Finding | None:
        """The finding in the report that is shown; None if it is not there."""
        findings = self.view.report.findings if self.view.report else ()
        return next((f for f in findings if (f.id, f.subject) == self.key), None)

    def places(self, size: Size) -> Places:
        width, height = size
        air = 1 if height >= 30 else 0
        finding = self.found
        top = 1 + (min(SUMMARY, len(self._summary(finding, width))) if finding is not None else 1)
        top += len(self._to_do(finding, width)) if finding is not None else 0
        places = {"header": Region(0, 0, width, 1), "top": Region(0, 1 + air, width, top)}
        y = 1 + top + 2 * air
        body = height - y - 1 - air
        if finding is not None and not self._drawn(finding):  # there is no chart, so the text has the room
            told = min(body // 2, len(self._told(finding, width - 2)))
            places["charts"] = Region(1, y, width - 2, told)
            words = min(width - 2, READABLE)
            places["words"] = Region(1, y + told + 1, words, body - told - 1)
        elif width >= 120:
            side = min(62, width * 2 // 5)
            places["charts"] = Region(1, y, width - side - 4, body)
            places["words"] = Region(width - side - 1, y, side, body)
        else:
            each = max(7, body // 2)
            places["charts"] = Region(1, y, width - 2, each)
            places["words"] = Region(1, y + each, width - 2, body - each)
        return places | {"footer": Region(0, height - 1, width, 1)}

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        finding, view = self.found, self.view
        if pane == "header":
            ids = [(f.id, f.subject) for f in (view.report.findings if view.report else ())]
            place = f"{ids.index(self.key) + 1} of {len(ids)}" if self.key in ids else "gone"
            return header.crumbs(view, width, ("Findings", place))
        if finding is None:
            return [[(" this finding is not in the report any more", "dim")]] if pane == "top" else []
        if pane == "top":
            return self._top(finding, width)
        if pane == "charts":
            return self._charts(finding, width, height)
        rows = finding_words.draw(view, finding, width)
        self.top = max(0, min(self.top, len(rows) - height))
        return rows[self.top : self.top + height]

    # -- pieces --------------------------------------------------------------------------------------------------

    def _top(self, finding: Finding, width: int) -> list[Row]:
        resolved = finding.status == "resolved"
        shown = called("resolved" if resolved else finding.severity)
        role = "dim" if resolved else f"{ROLE[finding.severity]}.b" if finding.severity != "info" else "dim"
        glyph = GLYPH["resolved" if resolved else finding.severity]
        head: Row = [(f" {glyph} {shown}  ", role), (finding.title, "strong")]
        if finding.subject:
            head.append((f"   {finding.subject}", "fg"))
        more: list[Row] = []  # as many as fit
        if finding.onset_step is not None:
            more.append([("   since ", "dim"), (f"{finding.onset_step}", "fg")])
            if finding.last_step is not None and finding.last_step > finding.onset_step:
                more.append([(f", {finding.last_step - finding.onset_step} steps", "dim")])
        more.append([(f"{', ' if more else '   '}{finding.life}", "dim")])
        if self.view.acknowledged(finding):
            more.append([(", acknowledged", "accent")])
        sure = number(finding.confidence, decimals=2)
        basis = f" from {finding.basis}" if finding.basis != "hypothesis" else ""
        more.append([("   confidence ", "dim"), (sure, "fg"), (basis, "dim")])
        for part in more:
            head += part if length([*head, *part]) < width else []
        indent = " " * (len(shown) + 5)
        lines = wrapped(finding.summary, width - len(indent) - 1, SUMMARY)
        return [
            clip(head, width - 1),
            *[[(indent, "fg"), (line, "fg")] for line in lines],
            *self._to_do(finding, width),
        ]

    def _to_do(self, finding: Finding, width: int) -> list[Row]:
        """The first thing to do, if the screen is so narrow that the causes would push it out of sight."""
        if width >= 120 or not finding.fixes or finding.status == "resolved":
            return []
        lines = wrapped(fix_line(finding.fixes[0]), width - len(TO_DO) - 2, 2)
        return [[(f" {TO_DO if not i else ' ' * len(TO_DO)}", "dim"), (line, "fg")] for i, line in enumerate(lines)]

    def _summary(self, finding: Finding, width: int) -> list[str]:
        shown = called("resolved" if finding.status == "resolved" else finding.severity)
        return wrap(finding.summary, width - len(shown) - 6) or [""]

    def _charts(self, finding: Finding, width: int, height: int) -> list[Row]:
        best = self.view.best_step()
        right: Row = []
        if best is not None:
            right += [("◆", "accent"), (f" best {best}   ", "dim")]
        if finding.onset_step is not None:
            right += [("▼", ROLE[finding.severity]), (f" onset {finding.onset_step}", "dim")]
        rows = [title(width, "", "Evidence", right or None, True)]
        drawn = self._drawn(finding)
        names = [metric_of(self.view, e) for e in drawn]
        bare = [e for e in finding.evidence if e not in drawn and (metric_of(self.view, e) not in names or e.text)]
        if not drawn:
            return self._told(finding, width)[:height]
        text_rows = [row for e in bare for row in self._bare(e, width)]
        if height - 3 - len(text_rows) < LOWEST:  # the first chart is worth more than text
            text_rows = []
        room = height - 3 - len(text_rows)
        count = max(0, min(CHARTS, len(drawn), room // LOWEST))
        each = room // count - 2 if count > 1 else room - 1
        self.charts.drawn = 0 if self.painted else 1  # the screen is shown first without charts
        self.painted = True
        for i, evidence in enumerate(drawn[:count]):
            caption = self._caption(evidence, width, i == self.row, 2 if each >= ROOMY else 1)
            rows += caption
            tall = max(3, each + 1 - len(caption))
            if self.charts.drawn:  # a chart takes a while, so each redraw draws one, and keys work in between
                rows += [[]] * tall
            else:
                rows += self._chart(finding, evidence, width, tall)
            rows += [[]] if count > 1 else []
        if self.charts.drawn and count:
            self.call_after_refresh(self.redraw)
        if count:
            first, last = self.view.span
            rows.append([(" " * GUTTER, "fg"), (labels(first, last, width - GUTTER), "dim")])
        for evidence in drawn[count:]:
            rows += self._caption(evidence, width, False, 1)
        return rows + text_rows

    def _told(self, finding: Finding, width: int) -> list[Row]:
        """The evidence if no metric shows it: its text, and the config values behind it."""
        rows = [title(width, "", "Evidence", None, True)]
        rows += [row for evidence in finding.evidence for row in self._bare(evidence, width)]
        if not finding.evidence:
            rows.append([(" rests on config or log lines, not on a metric", "dim")])
        keys = dict.fromkeys(c.config_key for c in likely(finding) if c.config_key and c.value is not None)
        values = {entry.key: entry for entry in (self.view.report.config if self.view.report else {}).values()}
        for entry in (values[key] for key in keys if key in values):
            row: Row = [(f" {entry.key}", "fg"), (" = ", "dim"), (config_value(entry.value), "strong")]
            rows.append(clip([*row, (f"   {entry.source}", "dim")], width))
        return rows

    def _drawn(self, finding: Finding) -> list[Evidence]:
        """Evidence with a chart: the first one of each metric that is logged."""
        found: dict[str, Evidence] = {}
        for evidence in finding.evidence:
            if self._series(evidence) is not None:
                found.setdefault(metric_of(self.view, evidence), evidence)
        return list(found.values())

    def _series(self, evidence: Evidence) -> Series | None:
        """The values of the evidence's metric by step, up to the step cursor. None if there are none."""
        view, read = self.view, self.view.recording
        series = view.series(metric_of(self.view, evidence))
        if series is None and read is not None:
            series = evidence_series(read, evidence)
        if series is not None and read is not None and view.cursor is not None:
            series = series.until_row(int(read.run.steps.searchsorted(view.cursor, "right")))
        return series if series is not None and len(series) else None

    def _caption(self, evidence: Evidence, width: int, selected: bool, most: int) -> list[Row]:
        """The numbers of the evidence and its text, which has its own row if it does not fit beside them."""
        view = self.view
        name = metric_of(view, evidence)
        course = evidence_course(evidence, view.metric(name))
        values = " → ".join(view.value(name, x) for x in course)
        label, unit = evidence_label(evidence) or (view.label(name), view.unit(name))
        row: Row = [
            ("▌" if selected else " ", "accent"),
            put(label, max(20, len(label) + 1) if width >= 80 else 20, "strong"),
            (f"{values}{' ' + unit if unit else ''}", "fg"),
        ]
        moved = change(*evidence_change(evidence, view.metric(name), view.flagged.get(name)))
        row.append((f"   {moved}" if moved else "", "fg"))
        said: Row = [(f"   {evidence.text}" if evidence.text else "", "dim")]
        if most > 1 and length([*row, *said]) > width:
            return [clip(row, width), [(f" {cut(evidence.text, width - 1)}", "dim")]]
        return [clip([*row, *said], width)]

    def _bare(self, evidence: Evidence, width: int) -> list[Row]:
        text = evidence.text or evidence.key or evidence.metric
        return [[(" · " if i == 0 else "   ", "dim"), (line, "fg")] for i, line in enumerate(wrap(text, width - 4))]

    def _chart(self, finding: Finding, evidence: Evidence, width: int, height: int) -> list[Row]:
        coloured = evidence is finding.evidence[0] and finding.status == "active"
        drawing = self.charts.draw(
            self.view,
            metric_of(self.view, evidence),
            width,
            height,
            finding=finding,
            coloured=coloured,
            labels=False,
            series=self._series(evidence),
        )
        return [list(row) for row in drawing.rows] if drawing else []

    def redraw(self) -> None:
        finding = self.found
        if finding is not None and finding.onset_step is not None:
            self.rltui.ask_insight(finding.onset_step)
        super().redraw()

    # -- keys ----------------------------------------------------------------------------------------------------

    def action_finding(self, severity: str, by: int) -> None:
        found = [(f.id, f.subject) for f in self.view.open_findings() if f.severity == severity]
        if not found:
            self.rltui.say(f"no {severity} finding is open")
            return
        place = (found.index(self.key) + by) % len(found) if self.key in found else 0
        self.key, self.row, self.top = found[place], 0, 0
        self.redraw()

    def action_acknowledge(self) -> None:
        if self.found is not None:
            self.rltui.exports.acknowledge(self.found)

    def action_knowledge(self) -> None:
        self.rltui.open_knowledge(self.key[0])

    def action_show(self, screen: str) -> None:
        """Opens the rollouts of the onset, and the config at the keys of causes and fixes."""
        finding = self.found
        if screen == "rollouts" and finding is not None and finding.onset_step is not None:
            self.rltui.open_rollouts(finding.onset_step)
        elif screen == "config" and finding is not None:
            named = [c.config_key for c in likely(finding) if c.config_key]
            named += [fix.config_key for fix in finding.fixes if fix.config_key]
            logged = {entry.key for entry in self.view.report.config.values()} if self.view.report else set[str]()
            self.rltui.open_config([key for key in dict.fromkeys(named) if key in logged])
        else:
            super().action_show(screen)

    def action_pane(self, name: str) -> None:
        """Opens the log at the lines of the onset."""
        finding = self.found
        if name == "log" and finding is not None and finding.onset_step is not None:
            self.rltui.open_log(finding.onset_step)
        else:
            super().action_pane(name)

    def copied(self) -> str:
        """The finding as text, with causes and fixes."""
        finding = self.found
        if finding is None:
            return super().copied()
        lines = [f"{finding.severity}: {finding.title} (since step {finding.onset_step})", finding.summary, ""]
        lines += [f"- cause: {cause_text(cause)}" for cause in likely(finding)]
        lines += [f"- fix: {fix_line(fix)}" for fix in finding.fixes]
        return "\n".join([*lines, *[f"- refuted if: {text}" for text in finding.refute]])

    def action_move(self, by: int) -> None:
        finding = self.found
        count = min(CHARTS, len(self._drawn(finding))) if finding else 0
        if 0 <= self.row + by < count and self.top == 0:
            self.row += by
        else:
            self.top = max(0, self.top + by)
        self.redraw()

    def action_page(self, by: int) -> None:
        self.top = max(0, self.top + by * max(1, self.size.height // 2))
        self.redraw()

    def action_edge(self, end: int) -> None:
        if end > 0:
            self.rltui.follow()
        self.top = 0 if end < 0 else 1_000_000
        self.redraw()

    def action_open(self) -> None:
        finding = self.found
        drawn = self._drawn(finding) if finding is not None else []
        if drawn:
            shown = drawn[min(self.row, len(drawn) - 1)]
            if evidence_label(shown) is None:
                self.rltui.open_metric(metric_of(self.view, shown))
            else:
                self.rltui.open_named("gpu")
        else:
            self.rltui.say("it rests on config or log lines: i shows the config, 6 the log")
