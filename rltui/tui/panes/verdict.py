"""The verdict: badge, reason, checkpoint to keep, what would change it. Also the line of the five pipeline stages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rltui.plots.numbers import number
from rltui.report.answer import answer, leading_finding
from rltui.report.causes import likely
from rltui.report.markdown import TONES
from rltui.tui.panes.opening import NEEDED
from rltui.tui.rows import Row, cut, length, put, spread, wrap, wrapped
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.evidence.model import BestCheckpoint, Verdict

STAGES = {"pass": ("✓", "fg"), "warn": ("!", "warn"), "fail": ("✗", "crit"), "unknown": ("?", "dim")}


def badge_of(verdict: Verdict) -> tuple[str, str]:
    """The text of the badge with its glyph, and its role."""
    return f"{TONES[verdict.tone]} {verdict.badge}", f"badge.{verdict.tone}"


def checks(view: View) -> str:
    """`41 checks, 3 could not run`"""
    report = view.report
    if report is None:
        return ""
    skipped = len(report.not_evaluable)
    return f"{report.checks} checks" + (f", {skipped} could not run" if skipped else "")


ACT = len("To do: ")
SHORTEST = 8
"""A metric's name is left out if it would have fewer cells than this."""


def best(view: View, width: int) -> Row:
    """`Keep global_step_600, math500 accuracy 0.412 ± 0.011, on disk.` The metric's name is cut to fit `width`."""
    report = view.report
    found = report.verdict.best_checkpoint if report else None
    if report is None or found is None:
        return []
    if found.path:
        ended = report.run.over
        stop = ended or report.verdict.decision in ("stop-use-best", "pause-and-fix", "abort-now")
        keep = "Keep " if stop and found.worth_keeping else "Best " if ended else "Best so far "
        name = found.path.rstrip("/").rsplit("/", 1)[-1]
    else:
        keep, name = "Best at ", f"step {found.step}"
    of = view.name_of(found.metric) or found.metric  # the checkpoint names it by its key
    value = view.value(of, found.value)
    unit = " %" if view.unit(of) == "%" else ""
    spread_ = ""
    if found.se is not None:
        spread_ = f" ± {view.value(of, found.se)}"
    disk = {True: ", on disk", False: ", not on disk", None: ""}[found.on_disk]
    rest = f"{value}{spread_}{unit}{disk}."
    room = width - len(f"{keep}{name},  {rest}")
    metric = f"{cut(view.label(of), room)} " if room >= SHORTEST else ""
    return [(keep, "fg"), (name, "strong"), (f", {metric}{rest}", "fg")]


def chosen_by(best: BestCheckpoint) -> str:
    """How the best checkpoint was chosen; "" if the diagnosis does not say."""
    return f"chosen by {best.basis}" if best.basis else ""


def sentences(text: str, width: int, whole: bool = False) -> tuple[str, str]:
    """(whole sentences that fit, the rest). If not even the first fits, it is cut, unless `whole`."""
    parts = re.split(r"(?<=[.!?]) +", text)
    taken = 0
    while taken < len(parts) and len(" ".join(parts[: taken + 1])) <= width:
        taken += 1
    if taken or whole or not text:
        return " ".join(parts[:taken]), " ".join(parts[taken:])
    return cut(parts[0], width), " ".join(parts[1:])


def clause(text: str, width: int) -> str:
    """The whole text if it fits, else its first clause, else as much of it as fits."""
    if len(text) <= width:
        return text
    heads = (text.split(mark, 1)[0] for mark in (". ", ", "))
    return next((f"{head.rstrip('.')}." for head in heads if len(head) < width), cut(text, width))


HEAD_ROWS = NEEDED["verdict"]
"""Rows for the badge, what to keep, and how sure that is: as many as before a run is read, so that nothing jumps."""


def needed(view: View, tall: bool) -> int:
    """Rows that the verdict would like to have; only a tall screen says why and what to do."""
    return HEAD_ROWS + (len(acts(view)) if tall else 0)


def acts(view: View) -> list[tuple[str, str]]:
    """Why, if a cause is confirmed, and what to do about the leading finding, in the words of the report."""
    leading = None if view.report is None else leading_finding(view.report)
    if view.report is None or leading is None:
        return []
    told, causes = answer(view.report), likely(leading)
    why = told.why if causes and causes[0].status == "supported" else ""
    return [(word, text) for word, text in (("Why", why), ("To do", told.do if leading.fixes else "")) if text]


def draw(view: View, width: int, height: int) -> list[Row]:
    report = view.report
    if report is None:
        return []
    verdict = report.verdict
    word, role = badge_of(verdict)
    badge: Row = [(" ", "fg"), (f" {word} ", role), ("  ", "fg")]
    indent = len(word) + 5
    if width < 120:
        lines = wrap(verdict.text, width - indent - 1) or [""]
        second = best(view, width - 2)
        first = clause(verdict.text, width - indent - 1) if second else lines[0]
        rows = [[*badge, (first, "strong")]]
        if second:
            room = width - 1 - length(second) - 3
            told = next((text for text in (checks(view), f"{report.checks} checks") if len(text) <= room), "")
            return [*rows, [(" ", "fg"), *second, (f"  {told}", "dim")]]
        rest = report.lost or " ".join(lines[1:]) or f"{checks(view)}. {verdict.would_change}"
        return [*rows, [put(f" {rest}", width - 1, "dim")]]
    pad = (" " * indent, "fg")
    room = width - indent - 1
    first, rest = sentences(verdict.text, room)
    rows = [[*badge, (first, "strong")]]
    second = best(view, room)
    if second:
        more, rest = sentences(rest, room - length(second) - 2, whole=True)
        rows.append([pad, *second, (f"  {more}", "fg")])
    sure = f"Confidence {number(verdict.confidence, decimals=2)}." if verdict.judged else ""
    tail = " ".join(part for part in (report.lost, rest, sure, verdict.would_change) if part)
    rows += [[pad, (line, "dim")] for line in wrapped(tail, room, HEAD_ROWS - len(rows))]
    said = acts(view) if height > HEAD_ROWS else []
    rows += [[pad, put(f"{word}: ", ACT, "dim"), (cut(text, room - ACT), "fg")] for word, text in said]
    return rows[:height]


def pipeline(view: View, width: int, height: int) -> list[Row]:
    """`pipeline  reward ✓  ›  advantages ✓  ›  …`, and how many checks and metrics there were."""
    report = view.report
    if report is None or not report.pipeline:
        return []
    left: Row = [(" pipeline  ", "dim")]
    for i, stage in enumerate(report.pipeline):
        glyph, role = STAGES[stage.status]
        left += [("  ›  ", "dim")] if i else []
        left.append((f"{stage.stage} {glyph}", role))
    cover = report.coverage
    done, _, skipped = checks(view).partition(",")
    right: Row = [(done, "fg"), (f",{skipped}" if skipped else "", "dim")]
    right.append((f" · {cover.present} of {cover.expected} metrics" if cover.expected else "", "dim"))
    while right and length(left) + length(right) + 2 > width:
        right.pop()  # drops the coverage first, then what could not run
    return [spread(width - 1, left, right)]
