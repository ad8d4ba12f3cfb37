"""Go on or stop: the verdict, KL against reward, gain against cost, checkpoints, and what must hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rltui.diagnosis.kl_reward import table
from rltui.plots.numbers import number
from rltui.prose import joined
from rltui.tui.panes import verdict
from rltui.tui.rows import SELECTED, Row, cut, put, wrap
from rltui.tui.screens.checks import must_hold
from rltui.tui.screens.text import Block, TextScreen
from rltui.tui.view import GLYPH, ROLE

if TYPE_CHECKING:
    from rltui.diagnosis.insight import Insight


class DecisionScreen(TextScreen):
    """What the verdict rests on, in the order in which people decide."""

    NAME = "decision"
    HEAD = "Decision"

    def redraw(self) -> None:
        if self.view.report is not None:
            self.rltui.ask_outlook()
        super().redraw()

    def content(self, width: int) -> list[Block]:
        report = self.view.report
        if report is None:
            return []
        found = report.verdict
        word, role = verdict.badge_of(found)
        room = width - 4
        sure = f"  confidence {number(found.confidence, decimals=2)}" if found.judged else ""
        rows: list[Row] = [[(" ", "fg"), (f" {word} ", role), (sure, "dim")]]
        rows += [[(" ", "fg"), (line, "strong")] for line in wrap(found.text, room)]
        rows += [[(" ", "fg"), (line, "dim")] for line in wrap(found.would_change, room)]
        for name in found.because:
            finding = next((f for f in report.findings if f.id == name), None)
            if finding is not None:
                rows.append([(f"   {GLYPH[finding.severity]} ", ROLE[finding.severity]), (finding.title, "fg")])
        blocks: list[Block] = [(found.text, [*rows, []])]
        insight = self.view.outlook
        if insight is None:
            blocks.append(("", [[(" working out KL against reward, and gain against cost …", "dim")], []]))
        else:
            blocks += [self._case(insight, room), self._worth(insight, room), *self._coming(insight, room)]
        blocks.append(("checkpoints", [*self._checkpoints(width), []]))
        if insight is not None:
            blocks += [*_holds(insight, width), *_cases(insight, width)]
        return blocks

    def _case(self, insight: Insight, room: int) -> Block:
        case = insight.case
        rows: list[Row] = [[(" KL AND REWARD", "dim")]]
        row: Row = [(" ", "fg")]
        for name, way in case.courses:
            row += [(f"{name} ", "dim"), (way, "strong"), ("   ", "fg")]
        rows.append(row)
        text = joined((case.reading, case.advice))
        rows += [[(" ", "fg"), (line, "fg")] for line in wrap(text, room)]
        return case.text, [*rows, []]

    def _worth(self, insight: Insight, room: int) -> Block:
        worth = insight.worth
        rows: list[Row] = [[(" GAIN AGAINST COST", "dim")]]
        text = worth.text if worth else self._no_gain()
        rows += [[(" ", "fg"), (line, "fg" if worth else "dim")] for line in wrap(text, room)]
        return text, [*rows, []]

    def _no_gain(self) -> str:
        """Why the gain of more steps is not shown."""
        run = self.view.report.run if self.view.report else None
        if run is not None and run.over:
            return f"the run has {'ended' if run.state == 'finished' else run.state}, so no more steps will come"
        if run is None or run.steps.last is None:
            return "no training step is logged, so the gain of more steps is not known"
        if run.steps.total is None:
            return "no planned end is known, so the gain of more steps is not known"
        if run.steps.last >= run.steps.total:
            return "the planned end is reached"
        return "too few points to estimate the gain of more steps"

    def _coming(self, insight: Insight, room: int) -> list[Block]:
        if not insight.forecasts:
            return []
        blocks: list[Block] = [("", [[(" IF IT GOES ON LIKE THIS", "dim")]])]
        for forecast in insight.forecasts:
            rows: list[Row] = [[(" ", "fg"), (line, "fg")] for line in wrap(forecast.text, room)]
            rows += [[("   ", "fg"), (line, "dim")] for line in wrap(forecast.would_change, room - 2)]
            blocks.append((forecast.text, rows))
        return [*blocks, ("", [[]])]

    def _checkpoints(self, width: int) -> list[Row]:
        view = self.view
        rows: list[Row] = [[(" CHECKPOINTS", "dim")]]
        best = view.report.verdict.best_checkpoint if view.report else None
        if best is not None:
            rows.append([(" ◆ ", "accent"), *verdict.best(view, width - 4)])
            rows += [[("   ", "fg"), (line, "dim")] for line in wrap(verdict.chosen_by(best), width - 6)]
        fault = best.before if best is not None else None
        last = view.at
        known = [c for c in (view.recording.run.checkpoints if view.recording else ()) if c.step <= last]
        for checkpoint in reversed(known):
            if best is not None and checkpoint.step == best.step:
                continue
            late = fault is not None and checkpoint.step >= fault
            note = f"not before step {fault}, where the fault began" if late else ""
            rows.append(
                [
                    (" ◇ ", "dim"),
                    put(str(checkpoint.step), 8, "fg"),
                    (cut(checkpoint.path or "", max(10, width // 2)), "fg"),
                    (f"   {note}" if note else "", "dim"),
                ]
            )
        return rows if len(rows) > 1 else [*rows, [(" none found beside the logs", "dim")]]


def _holds(insight: Insight, width: int) -> list[Block]:
    """What must hold but does not. For the rest: how many hold or are not known, and the key that lists all."""
    count = {status: sum(one.status == status for one in insight.invariants) for status in ("pass", "unknown")}
    told: Row = [(f" {count['pass']}", "strong"), (" hold, ", "fg"), (f"{count['unknown']}", "strong")]
    told += [(" are not known from what is logged, ", "fg"), ("P", "key"), (" lists them", "dim")]
    broken = [one for one in insight.invariants if one.status not in count]
    head, *blocks = must_hold(replace(insight, invariants=tuple(broken)), width)
    return [head, *blocks, ("what must hold", [told, []])]


def _cases(insight: Insight, width: int) -> list[Block]:
    """The whole table of KL, reward and validation, with the case of this run selected."""
    names = (("KL", 14), ("reward", 8), ("validation", 26))
    head: Row = [("   ", "fg"), *[put(name, size, "dim") for name, size in names], ("reads as", "dim")]
    blocks: list[Block] = [("", [[(" ALL CASES OF KL, REWARD AND VALIDATION", "dim")], head])]
    for case in table():
        lit = case.id == insight.case.id
        ways = (case.kl, case.reward, case.validation)
        words = [" or ".join("not known" if way == "none" else way for way in found) for found in ways]
        words = ["any" if len(found) > 3 else text for found, text in zip(ways, words, strict=True)]
        row: Row = [("▌", SELECTED) if lit else (" ", "fg"), ("  ", "fg")]
        row += [put(text, size, "strong" if lit else "dim") for text, (_, size) in zip(words, names, strict=True)]
        row.append((cut(f"{case.reading}: {case.advice}", max(0, width - 52)), "fg" if lit else "dim"))
        blocks.append((" ".join([*words, case.reading, case.advice]), [row]))
    return blocks
