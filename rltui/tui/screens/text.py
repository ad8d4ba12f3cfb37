"""Drill-downs that are one list of rows: run and config, pipeline, coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region, Size

from rltui.tui.filters import matches
from rltui.tui.panes import header
from rltui.tui.panes.findings import config_value
from rltui.tui.panes.verdict import STAGES
from rltui.tui.rows import Row, put, title, wrap
from rltui.tui.screens.base import PaneScreen, Places
from rltui.tui.view import GLYPH, ROLE

if TYPE_CHECKING:
    from rltui.diagnosis.model import Finding

Block = tuple[str, list[Row]]
"""Text for the filter, and rows."""


class TextScreen(PaneScreen):
    """Rows that scroll; `content` gives (text for the filter, rows) a block."""

    PANES: ClassVar[tuple[str, ...]] = ("header", "text")
    HEAD: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.top = 0

    def content(self, width: int) -> list[Block]:
        raise NotImplementedError

    def places(self, size: Size) -> Places:
        return {
            "header": Region(0, 0, size.width, 1),
            "text": Region(1, 2, size.width - 2, size.height - 4),
            "footer": Region(0, size.height - 1, size.width, 1),
        }

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            return header.crumbs(self.view, width, (self.HEAD,))
        blocks = self.content(width)
        if self.pattern:
            kept = [block for block in blocks if block[0] and matches(self.pattern, block[0])]
        else:
            kept = blocks
        rows = [row for _, block in kept for row in block]
        note = f"/{self.pattern}{'▏' if self.typing else ''}  {len(kept)}" if self.pattern is not None else ""
        if not rows:
            rows = [[(" nothing matches" if self.pattern else " nothing here yet", "dim")]]
        self.top = max(0, min(self.top, len(rows) - height + 1))
        below = len(rows) - self.top - height + 1
        right: Row = [(f"{below} more below", "dim")] if below > 0 else []
        return [title(width, "", self.HEAD, right or None, True, note), *rows[self.top : self.top + height - 1]]

    def action_move(self, by: int) -> None:
        self.top = max(0, self.top + by)
        self.redraw()

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.size.height // 2))

    def action_edge(self, end: int) -> None:
        self.action_move(end * 1_000_000)

    def action_match(self, by: int) -> None:
        self.action_move(by)


class ConfigScreen(TextScreen):
    """Where the run lies, what was read of it, and its config with the source of every value."""

    NAME = "config"
    HEAD = "Run and config"

    def content(self, width: int) -> list[Block]:
        report = self.view.report
        if report is None:
            return []
        run = report.run
        blocks: list[Block] = []
        rows: list[Row]
        for name, value in (
            ("path", run.path),
            ("state", f"{run.state}{': ' + run.state_because if run.state_because else ''}"),
            ("restarts", ", ".join(f"at step {step}" for step in run.restarts)),
            ("as of", report.as_of or ""),
        ):
            if value:
                lines = wrap(value, max(20, width - 14)) or [""]
                first: Row = [put(f" {name}", 12, "dim"), (lines[0], "fg")]
                blocks.append((f"{name} {value}", [first, *[[(" " * 12, "fg"), (line, "fg")] for line in lines[1:]]]))
        link = self.view.frame.link if self.view.frame else None
        if link is not None:
            words = "; ".join(part for part in (link.state, link.text, link.note) if part)
            role = "fg" if link.state == "connected" else "warn"
            rows = [
                [put(" link" if i == 0 else "", 12, "dim"), (line, role)]
                for i, line in enumerate(wrap(words, width - 14))
            ]
            blocks.append((f"link {words}", rows))
        blocks.append(("", [[], [put(" SOURCES", 40, "dim")]]))
        for source in run.sources:
            rows = [
                [(" ", "fg"), put(source.format, 22, "fg"), put(f"{source.rows} rows", 12, "dim"), (source.path, "fg")]
            ]
            told = (f"{source.skipped} skipped" if source.skipped else "", source.note, self._age(source.path))
            if any(told):
                text = " · ".join(part for part in told if part)
                rows += [
                    [(" " * 23, "fg"), (line, "warn" if source.skipped else "dim")] for line in wrap(text, width - 24)
                ]
            blocks.append((f"{source.format} {source.path} {source.note}", rows))
        name_w, value_w = (24, 22) if width >= 100 else (20, 14)
        blocks.append(
            ("", [[], [put(" CONFIG", name_w + 1, "dim"), put("value", value_w, "dim"), ("key, source", "dim")]])
        )
        for name, entry in sorted(report.config.items(), key=lambda item: not item[1].active):
            role = "fg" if entry.active else "dim"
            value = config_value(entry.value)
            where = f"{entry.key}   {entry.source}"
            rows = [
                [
                    (" ", "fg"),
                    put(name, name_w, role),
                    put(value, value_w - 1, "strong" if entry.active else "dim"),
                    (" ", "fg"),
                    put(where, max(0, width - name_w - value_w - 1), "dim"),
                ]
            ]
            if not entry.active or entry.note:
                note = entry.note or "not on the active path"
                rows += [
                    [(" " * (name_w + 1), "fg"), (line, "dim")] for line in wrap(note, max(20, width - name_w - 2))
                ]
            objects = self._objections(entry.key)
            for finding in objects:
                text = f"{GLYPH[finding.severity]} {finding.title}"
                rows.append([(" " * (name_w + 1), "fg"), (text, ROLE[finding.severity])])
            words = " ".join(finding.title for finding in objects)
            blocks.append((f"{name} {entry.key} {value} {words}", rows))
        return blocks

    def _age(self, path: str) -> str:
        """How old the newest row of a file is, and how late its writer is known to be; of a run that is followed."""
        frame = self.view.frame
        source = next((s for s in frame.run.sources if s.path == path), None) if frame and frame.live else None
        if source is None:
            return ""
        age = header.age_text(self.view.now - source.newest) if source.newest is not None and self.view.now else ""
        return "; ".join(part for part in (f"newest row {age} ago" if age else "", source.lag) if part)

    def _objections(self, key: str) -> list[Finding]:
        """Open findings that hold a config value for a cause of theirs."""
        return [f for f in self.view.open_findings() if any(c.config_key == key for c in f.causes)]


class PipelineScreen(TextScreen):
    """The five stages in order, none skipped, with what each verdict rests on and the findings of the stage."""

    NAME = "pipeline"
    HEAD = "Pipeline"

    def content(self, width: int) -> list[Block]:
        report = self.view.report
        if report is None:
            return []
        blocks: list[Block] = []
        words = {"pass": "pass", "warn": "warning", "fail": "critical", "unknown": "unknown"}
        for number, stage in enumerate(report.pipeline, 1):
            glyph, role = STAGES[stage.status]
            lines = wrap(stage.because, max(20, width - 34)) or [""]
            rows: list[Row] = [
                [
                    (f" {number} ", "dim"),
                    put(stage.stage, 14, "strong"),
                    put(f"{glyph} {words[stage.status]}", 14, role),
                    (lines[0], "fg"),
                ],
                *[[(" " * 31, "fg"), (line, "fg")] for line in lines[1:]],
            ]
            for finding in report.findings:
                if finding.stage == stage.stage and finding.status == "active":
                    rows.append([(" " * 17, "fg"), (f"· {finding.title}", "dim")])
            blocks.append((stage.stage, [*rows, []]))
        return blocks


class CoverageScreen(TextScreen):
    """What is not logged, which checks that blocks, and how to log it in this framework; then what nobody can know."""

    NAME = "coverage"
    HEAD = "Coverage"

    def content(self, width: int) -> list[Block]:
        report = self.view.report
        if report is None:
            return []
        cover = report.coverage
        summary: Row = [
            (f" {cover.present} of {cover.expected}", "strong"),
            (" expected metrics are logged; ", "fg"),
            (f"{report.checks}", "strong"),
            (" checks ran, ", "fg"),
            (f"{len(report.not_evaluable)}", "strong"),
            (" could not", "fg"),
        ]
        blocks: list[Block] = [("", [summary, []])]
        if report.not_evaluable:
            blocks.append(("", [[(" CHECKS THAT COULD NOT RUN", "dim")]]))
        for name, needs, enable in report.not_evaluable:
            rows: list[Row] = [[(" ? ", "dim"), (name, "fg")], [("   needs ", "dim"), (needs, "fg")]]
            rows += [
                [("   ", "fg"), (line, "accent" if i == 0 else "fg")] for i, line in enumerate(wrap(enable, width - 4))
            ]
            blocks.append((f"{name} {needs} {enable}", rows))
        if cover.missing:
            blocks.append(("", [[], [(" NOT LOGGED", "dim")]]))
        for gap in cover.missing:
            rows = [
                [
                    (" ? ", "dim"),
                    put(self.view.label(gap.metric), 30),
                    (f"blocks {', '.join(gap.blocks)}" if gap.blocks else "", "dim"),
                ]
            ]
            rows += [[("   ", "fg"), (line, "dim")] for line in wrap(gap.enable, width - 4)]
            blocks.append((f"{gap.metric} {' '.join(gap.blocks)} {gap.enable}", rows))
        if report.unknowns:
            blocks.append(("", [[], [(" UNKNOWN", "dim")]]))
            for text in report.unknowns:
                blocks.append(
                    (
                        text,
                        [
                            [(" · " if i == 0 else "   ", "dim"), (line, "fg")]
                            for i, line in enumerate(wrap(text, width - 4))
                        ],
                    )
                )
        return blocks
