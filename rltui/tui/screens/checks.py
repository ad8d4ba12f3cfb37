"""What was checked (the five pipeline stages), what is not logged and so could not be checked, what does not apply."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from rltui.manual.glossary import called
from rltui.plots.glyphs import meter
from rltui.plots.numbers import integer, percent
from rltui.report.signal_budget import START, signal_budget
from rltui.tui.panes.verdict import STAGES
from rltui.tui.rows import Row, clip, cut, length, put, wrap
from rltui.tui.screens.text import Block, TextScreen

if TYPE_CHECKING:
    from rltui.diagnosis.insight import Insight
    from rltui.tui.view import View

NAME_W, BESIDE = 42, 76
ORDER = ("fail", "warn", "pass", "unknown")


def must_hold(insight: Insight, width: int) -> list[Block]:
    """Invariants that the numbers of any run must keep, with how each was measured."""
    blocks: list[Block] = [("", [[(" WHAT MUST HOLD", "dim")]])]
    for one in sorted(insight.invariants, key=lambda one: ORDER.index(one.status)):  # failed ones come first
        glyph, role = STAGES[one.status]
        head: Row = [
            (" ", "fg"),
            put(f"{glyph} {called(one.status)}", 12, role),
            put(one.name, max(20, min(52, width - 46)), "fg" if one.status != "unknown" else "dim"),
            (cut(one.measured or "", 30), "fg"),
        ]
        how: list[Row] = [[(" " * 13, "fg"), (line, "dim")] for line in wrap(one.how, width - 16)]
        blocks.append((f"{one.name} {one.how}", [head, *how]))
    return blocks


def _reward(insight: Insight, width: int) -> list[Block]:
    """The values that the reward takes, because a healthy binary reward moves differently from a graded one."""
    if insight.rewards is None:
        return []
    text = insight.rewards.text
    role = "dim" if insight.rewards.binary is None else "fg"
    rows: list[Row] = [[(" ", "fg"), (line, role)] for line in wrap(text, width - 4)]
    return [(f"values of the reward {text}", [[(" VALUES OF THE REWARD", "dim")], *rows, []])]


def _constants(insight: Insight, width: int) -> list[Block]:
    """All constants between reward and loss: value, number format, what the maths needs, and where each was found."""
    if not insight.constants:
        return []
    blocks: list[Block] = [("", [[], [(" CONSTANTS BETWEEN REWARD AND LOSS", "dim")]])]
    name_w = max(20, min(52, width - 46))
    for one in insight.constants:
        glyph, role = STAGES[one.status]
        head: Row = [
            (" ", "fg"),
            put(f"{glyph} {called(one.status)}", 12, role),
            put(one.name, name_w - 1, "fg"),
            (" ", "fg"),
            put(f"{one.value:g}", 10, "strong"),
            (one.format or "", "dim"),
        ]
        told = [*wrap(f"needs: {one.needs}", width - 16), *wrap(f"from {one.where}", width - 16)]
        more: list[Row] = [[(" " * 13, "fg"), (line, "dim")] for line in told]
        blocks.append((f"{one.name} {one.where} {one.needs}", [head, *more]))
    return blocks


def _blocked(name: str, needs: str, enable: str, width: int) -> list[Row]:
    """A check that could not run, what it needs, and how to log that; in columns if there is room."""
    if width < 120:
        rows: list[Row] = [[(" ? ", "dim"), (name, "fg")]]
        rows += [
            [("   needs " if i == 0 else " " * 9, "dim"), (line, "dim")]
            for i, line in enumerate(wrap(needs, width - 10))
        ]
        return [*rows, *[[("   ", "fg"), (line, "fg")] for line in wrap(enable, width - 4)]]
    name_w, needs_w = NAME_W, (width - NAME_W - 3) * 2 // 5
    columns = zip_longest(
        wrap(name, name_w - 2), wrap(needs, needs_w - 2), wrap(enable, width - name_w - needs_w - 4), fillvalue=""
    )
    return [
        [(" ? " if i == 0 else "   ", "dim"), put(a, name_w - 2), ("  ", "fg"), put(b, needs_w, "dim"), (c, "fg")]
        for i, (a, b, c) in enumerate(columns)
    ]


def _budget(view: View, width: int) -> list[Block]:
    """A waterfall of one step: what each stage lets through."""
    report = view.report
    if report is None:
        return []
    bar_w = max(10, min(40, width - 66))
    rows: list[Row] = [[(" WHAT IS LEFT OF A STEP'S SIGNAL", "dim")]]
    for one in signal_budget(report):
        row: Row = [(" ", "fg"), put(one.stage, 22, "fg")]
        if one.share is None:
            row += [put("? not known", bar_w, "dim"), (f"   log {view.label(one.metric)}", "dim")]
        else:
            filled, track = meter(one.share, bar_w, view.glyphs)
            row += [(filled, "crit" if one.since is not None else "ink"), (track, "rule")]
            row += [put(percent(one.share), 7, "strong", ">"), put(f" of {one.of}", 15, "dim")]
            if one.at_start is not None and one.of != START and abs(one.at_start - one.share) >= 0.005:
                row.append((f" {percent(one.at_start)} at the start", "dim"))
            if one.since is not None:
                row += [(" since ", "dim"), (integer(one.since), "fg")]
        rows.append(clip(row, width))
    return [("signal", [*rows, []])]


class PipelineScreen(TextScreen):
    """All five stages in order, each with the reason for its status and with its findings, and how much of a step's
    signal is left at each."""

    NAME = "pipeline"
    HEAD = "Pipeline"

    def content(self, width: int) -> list[Block]:
        report = self.view.report
        if report is None:
            return []
        blocks: list[Block] = []
        for place, stage in enumerate(report.pipeline, 1):
            glyph, role = STAGES[stage.status]
            head: Row = [(f" {place} ", "dim"), put(stage.stage, 14, "strong")]
            head.append(put(f"{glyph} {called(stage.status)}", 14, role))
            beside = width >= BESIDE  # if not, the reason is below
            indent = length(head) if beside else 3
            lines = wrap(stage.because, max(20, width - indent - 3)) or [""]
            rows: list[Row] = [[*head, (lines.pop(0), "fg")] if beside else head]
            rows += [[(" " * indent, "fg"), (line, "fg")] for line in lines]
            for finding in report.findings:
                if finding.stage == stage.stage and finding.status == "active":
                    rows.append([(" " * (17 if beside else 3), "fg"), (f"· {finding.title}", "dim")])
            blocks.append((stage.stage, [*rows, []]))
        blocks += _budget(self.view, width)
        outlook = self.view.outlook
        if outlook is None:
            return blocks
        return [*blocks, *_reward(outlook, width), *must_hold(outlook, width), *_constants(outlook, width)]

    def redraw(self) -> None:
        if self.view.report is not None:
            self.rltui.ask_outlook()
        super().redraw()


class CoverageScreen(TextScreen):
    """What is not logged, which checks this blocks, and how to log it in this framework. Then what is not known, and
    the checks that do not apply to this kind of run."""

    NAME = "coverage"
    HEAD = "Coverage"

    def content(self, width: int) -> list[Block]:
        report = self.view.report
        if report is None:
            return []
        cover = report.coverage
        broken = [(one.rule, one.error) for one in report.checks_failed] + list(self.view.undrawn.items())
        logged: Row = [(f" {cover.present} of {cover.expected}", "strong"), (" expected metrics are logged", "fg")]
        ran: Row = [
            (f" {report.checks}", "strong"),
            (" checks ran, ", "fg"),
            (f"{len(report.not_evaluable)}", "strong"),
            (" could not", "fg"),
        ]
        if broken:
            ran += [(", ", "fg"), (f"{len(broken)} failed", "crit")]
        none: Row = [(f" {len(report.not_applicable)}", "strong"), (" do not apply to this kind of run", "fg")]
        blocks: list[Block] = [("", [logged, ran, *([none] if report.not_applicable else []), []])]
        if report.lost:
            unread: list[Row] = [[(f" {line}", "warn")] for line in wrap(report.lost, width - 2)]
            blocks.append((report.lost, [*unread, []]))
        if broken:
            blocks.append(("", [[(" CHECKS THAT FAILED: A FAULT OF RLTUI, NOT OF THE RUN", "dim")]]))
        for check, error in broken:
            said: list[Row] = [[("   ", "fg"), (line, "dim")] for line in wrap(error, width - 4)]
            blocks.append((f"{check} {error}", [[(" ✗ ", "crit"), (check, "fg")], *said]))
        if broken:
            blocks.append(("", [[]]))
        if report.not_evaluable:
            head: Row = [put(" CHECKS THAT COULD NOT RUN", NAME_W + 3, "dim")]
            if width >= 120:
                head += [put("needs", (width - NAME_W - 3) * 2 // 5, "dim"), ("how to log it", "dim")]
            blocks.append(("", [head]))
        for name, needs, enable in report.not_evaluable:
            blocks.append((f"{name} {needs} {enable}", _blocked(name, needs, enable, width)))
        if cover.missing:
            blocks.append(("", [[], [(" NOT LOGGED", "dim")]]))
        for gap in cover.missing:
            rows: list[Row] = [
                [
                    (" ? ", "dim"),
                    put(self.view.label(gap.metric) + (", 0 throughout" if gap.zero else ""), 40),
                    (f"blocks {', '.join(gap.blocks)}" if gap.blocks else "", "dim"),
                ]
            ]
            rows += [[("   ", "fg"), (line, "dim")] for line in wrap(gap.enable, width - 4)]
            blocks.append((f"{gap.metric} {' '.join(gap.blocks)} {gap.enable}", rows))
        told = {gap.metric for gap in cover.missing}
        unknowns = [text for text in report.unknowns if text.split(" ", 1)[0] not in told]
        if unknowns:
            blocks.append(("", [[], [(" NOT KNOWN", "dim")]]))
            for text in unknowns:
                blocks.append(
                    (
                        text,
                        [
                            [(" · " if i == 0 else "   ", "dim"), (line, "fg")]
                            for i, line in enumerate(wrap(text, width - 4))
                        ],
                    )
                )
        if report.not_applicable:
            blocks.append(("", [[], [(" CHECKS THAT DO NOT APPLY TO THIS RUN", "dim")]]))
        name_w = max((len(name) for name, _ in report.not_applicable), default=0) + 2
        for name, why in report.not_applicable:
            lines = wrap(why, max(20, width - name_w - 4)) or [""]
            rows = [[(" – ", "dim"), put(name, name_w), (lines[0], "dim")]]
            rows += [[(" " * (name_w + 3), "fg"), (line, "dim")] for line in lines[1:]]
            blocks.append((f"{name} {why}", rows))
        return blocks
