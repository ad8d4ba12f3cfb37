"""Step time in full: one step as a waterfall, the phases over the steps, the slowest steps, and a stall, if any."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region, Size

from rltui.plots.axis import labels, ticks
from rltui.plots.numbers import duration, number
from rltui.tui.panes import header, phases
from rltui.tui.rows import SELECTED, Row, clip, put, title, wrap
from rltui.tui.screens.base import PaneScreen, Places

if TYPE_CHECKING:
    from rltui.diagnosis.insight import Insight
    from rltui.evidence.step_time import OwnShare
    from rltui.report.model import PhaseItem

NAME = 19
TAIL, SHORT_TAIL = 32, 19
WITH_USUAL = 70
"""A narrower screen leaves out the usual values."""
MOST_SLOW = 24
TELLING = 0.005
"""A change smaller than this share of the step is not shown, because it is not worth a fix."""
FINEST = 0.01


def _seconds(by: float, whole: float) -> str:
    """Signed seconds, no finer than a thousandth of the step."""
    size = 1 if whole >= 100 else 2 if whole >= 10 else 3
    return number(by, sign=True, decimals=size - (abs(by) >= 10))


def _took(seconds: float | None, whole: float) -> str:
    """Seconds of a phase. If they are next to nothing in a step, `<0.01` instead of microseconds."""
    if seconds and whole >= 1 and abs(seconds) < FINEST:
        return f"<{FINEST}"
    return "0" if seconds == 0 else number(seconds, missing="–")


def _in_this_run(share: OwnShare | None) -> str:
    """`31 (30–44) %`: its share of the step now, and the middle 80 % of this run's earlier steps."""
    if share is None:
        return ""
    now, low, high = (number(100 * part, decimals=0) for part in (share.share, share.low, share.high))
    return f"{now} ({low}–{high}) %" if low != high else f"{now} ({low}) %"


class PhasesScreen(PaneScreen):
    """`j k` select a phase, Enter opens its metric."""

    NAME = "phases"
    PANES: ClassVar[tuple[str, ...]] = ("header", "top", "step", "history", "slow")

    def __init__(self) -> None:
        super().__init__()
        self.row = 0

    @property
    def items(self) -> tuple[PhaseItem, ...]:
        return self.view.report.phases.items if self.view.report else ()

    @property
    def insight(self) -> Insight | None:
        """The insight at the shown step. Until it is computed: the newest one that was asked for at the same cursor."""
        return self.view.insights.get((self.view.at, self.view.cursor)) or self.view.outlook

    def redraw(self) -> None:
        if self.view.report is not None:
            self.rltui.ask_insight(self.view.at)
        super().redraw()

    def places(self, size: Size) -> Places:
        width, height = size
        air = 1 if height >= 30 else 0
        count = len(self.items)
        over = len(self._over_steps())
        places = {"header": Region(0, 0, width, 1)}
        y = 1 + air
        most, least = (5, 3) if height >= 30 else (3, 2)
        top = max(least, min(most, len(self._top(width - 2))))
        want = [("top", top), *([("step", count + 2), ("history", over + 2)] if count else [])]
        slow = [("slow", MOST_SLOW + 2)] if self.view.metric("time_per_step_s") is not None else []
        for name, rows in [*want, *slow]:
            room = height - 1 - air - y
            if room >= min(rows, 3):
                places[name] = Region(1, y, width - 2, min(rows, room))
                y += min(rows, room) + air
        return places | {"footer": Region(0, height - 1, width, 1)}

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            return header.crumbs(self.view, width, ("Step time",))
        rows = {"top": self._top, "step": self._step, "history": self._history, "slow": self._slow}[pane](width)
        return rows[:height]

    # -- pieces --------------------------------------------------------------------------------------------------

    def _top(self, width: int) -> list[Row]:
        view = self.view
        card = view.recording.stall if view.recording else None
        if card is not None and card.verdict in ("slow", "hung"):
            glyph, word, role = header.stall_words(card)
            head: Row = [(f"{glyph} {word}  ", f"{role}.b")]
            phase = card.phase or "the step"
            head.append((f"{phase} has gone on for ", "strong"))
            head.append((duration(view.now - card.since) if card.since and view.now else "a while", "strong"))
            if card.usual_s is not None:
                usual = f"   usually {duration(card.usual_s)}"
                head.append((usual + (f", at most {duration(card.high_s)}" if card.high_s else ""), "dim"))
            why = [[(" " * 8, "fg"), (line, "fg")] for line in wrap(" · ".join(card.because), width - 10)]
            return [clip(head, width), *why]
        metric = view.metric("time_per_step_s")
        now = phases.whole_step(view)
        if not now:
            return [[(line, "dim")] for line in wrap(phases.remarks(view) or "no phase times logged", width - 2)]
        row: Row = [("A step takes ", "fg"), (f"{number(now)} s", "strong")]
        if metric is not None and metric.first is not None and metric.last is not None:
            more = metric.last - metric.first
            against = f"{_seconds(more, now)} s against" if abs(more) > TELLING * now else "as in"
            row.append((f", {against} the first window", "fg"))
        moved = []
        for item in self.items:
            timed = self.view.metric(self.view.name_of(item.key) or "")
            if timed is not None and timed.first is not None and timed.last is not None:
                by = timed.last - timed.first
                moved += [(by, item.name)] if abs(by) > TELLING * now else []
        moved.sort(key=lambda pair: -abs(pair[0]))
        text = "   ".join(f"{_seconds(by, now)} s {name}" for by, name in moved[:4])
        told = [clip([(text, "fg")], width)] if text else []
        insight = self.insight
        waits = wrap(insight.waits.text, width - 2) if insight is not None and insight.waits is not None else []
        remarks = wrap(phases.remarks(view), width - 2)
        slow = [] if "slow" in self._places else self._why_slow(width)  # the list of slow steps, if it fits, shows it
        return [row, *slow, *told, *[[(line, "fg")] for line in waits], *[[(line, "dim")] for line in remarks]]

    def _step(self, width: int) -> list[Row]:
        view = self.view
        where = f"step {view.cursor}" if view.cursor is not None else "median of the last steps"
        rows = [title(width, "3", "One step", [(where, "dim")], True)]
        whole = phases.whole_step(view)
        if not whole:
            return [*rows, [(" no phase times logged", "dim")]]
        usual_too = width >= WITH_USUAL
        bar_w = max(10, width - NAME - (TAIL if usual_too else SHORT_TAIL))
        head = [" "] * bar_w
        for tick in ticks(0.0, whole, 6):
            x = round(tick / whole * bar_w)
            text = number(tick, decimals=0) if whole >= 10 else f"{tick:g}"
            if x + len(text) <= bar_w and not "".join(head[max(0, x - 1) : x + len(text)]).strip():
                head[x : x + len(text)] = text
        rows.append([(" " * NAME, "fg"), ("".join(head), "dim")])
        rows[-1].append((f"{'s':>8}{'share':>9}  {'usual' if usual_too else '':<9}", "dim"))
        at = 0.0
        full = "#" if view.glyphs.name == "ascii" else "█"
        overlapped = view.report is not None and view.report.phases.overlapped
        for i, item in enumerate(self.items):
            took = phases.seconds(view, item)
            if took is None and not item.key:
                took = max(0.0, whole - sum(phases.seconds(view, other) or 0.0 for other in self.items if other.key))
            if took is None:
                rows.append([("   ", "fg"), put(item.name, NAME - 3), ("not logged at this step", "dim")])
                continue
            share = took / whole if view.cursor is not None or item.share is None else item.share
            start = min(bar_w - 1, round(at / whole * bar_w))
            size = max(1, min(bar_w - start, round(took / whole * bar_w)))
            role = phases.colour(view, item)
            usual = f"{item.expected[0] * 100:.0f}–{item.expected[1] * 100:.0f} %" if item.expected else ""
            mark: Row = [("▌", SELECTED)] if i == self.row else [(" ", "fg")]
            rows.append(
                [
                    *mark,
                    ("! " if role else "  ", role or "fg"),
                    put(item.name, NAME - 4),
                    (" " * (start + 1), "fg"),
                    (full * size, role or "ink"),
                    (" " * (bar_w - start - size), "fg"),
                    put(_took(took, whole), 8, "fg", ">"),
                    put(number(100 * share, decimals=0 if share >= 0.0095 else 1), 7, role or "fg", ">"),
                    (" %  ", "dim"),
                    put(usual if usual_too else "", 9, "dim"),
                ]
            )
            at += 0.0 if overlapped else took
        return rows

    def _history(self, width: int) -> list[Row]:
        from rltui.plots.spark import sparkline

        view = self.view
        bar_w = max(10, width - NAME - (TAIL if width >= WITH_USUAL else SHORT_TAIL))
        first, last = view.axis()
        whole = phases.whole_step(view)
        shares = self._own_shares() if width >= WITH_USUAL else {}
        columns: Row = [("now     first", "dim")]
        columns += [(f"{'share (usual)' if shares else '':>14}", "dim")] if width >= WITH_USUAL else []
        rows = [title(width, "", "Seconds over the steps", columns)]
        for item, name in self._over_steps():
            series = view.series(name)
            if series is None:
                continue
            metric = view.metric(name)
            text = sparkline(series.steps, series.values, bar_w, first, last, view.glyphs)
            share = shares.get(item.name)
            rows.append(
                [
                    ("   ", "fg"),
                    put(item.name, NAME - 3),
                    (text, phases.colour(view, item) or "ink"),
                    put(_took(view.now_value(name), whole), 8, "fg", ">"),
                    put(_took(metric.first if metric else None, whole), 10, "dim", ">"),
                    put(_in_this_run(share), 14, "dim" if share is None or share.status == "usual" else "warn", ">"),
                ]
            )
        return [*rows, [(" " * NAME, "fg"), (labels(first, last, bar_w), "dim")]]

    def _over_steps(self) -> list[tuple[PhaseItem, str]]:
        """The phases that are logged over the steps, each with its metric."""
        named = [(item, self.view.name_of(item.key)) for item in self.items]
        return [(item, name) for item, name in named if name is not None and self.view.series(name)]

    def _why_slow(self, width: int) -> list[Row]:
        """Why the step that is shown was slow; empty if it was not."""
        why = self.insight.slow if self.insight is not None else None
        if why is None or why.step != self.view.at:
            return []
        return [[(" ", "fg"), (line, "warn")] for line in wrap(f"step {why.step}: {why.text}", width - 3)]

    def _own_shares(self) -> dict[str, OwnShare]:
        """For each phase, by its name on the screen: its share, compared with this run's own earlier steps."""
        from rltui.frameworks.load import phases as known

        insight = self.insight
        return {known()[share.phase].label: share for share in insight.shares} if insight is not None else {}

    def _slow(self, width: int) -> list[Row]:
        view = self.view
        rows = [
            title(width, "", "Slowest steps", [("s", "key"), (" next   ", "dim"), ("S", "key"), (" previous", "dim")])
        ]
        series = view.series("time_per_step_s")
        if series is None or not len(series):
            return [*rows, [(" the time of a step is not logged", "dim")]]
        rows += self._why_slow(width)
        seconds = series.finite()
        whole = phases.whole_step(view)
        order = seconds.values.argsort()[::-1][:MOST_SLOW].tolist()
        named = [(item.name, name) for item in self.items if (name := view.name_of(item.key))][:6]
        if width < 120:
            named = named[:3]
        rows.append([(f"{'step':>8}{'s':>10}", "dim"), *[put(f"  {name}", 14, "dim", ">") for name, _ in named]])
        for i in order:
            step = int(seconds.steps[i])
            at = view.cursor == step
            rows.append(
                [
                    ("▌", SELECTED) if at else (" ", "fg"),
                    (f"{step:>7}", "fg"),
                    put(number(float(seconds.values[i])), 10, "strong", ">"),
                    *[put(_took(view.value_at(name, step), whole), 14, "fg", ">") for _, name in named],
                ]
            )
        return rows

    # -- keys ----------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        self.row = max(0, min(self.row + by, len(self.items) - 1))
        self.redraw()

    def action_open(self) -> None:
        name = self.view.name_of(self.items[self.row].key) if self.row < len(self.items) else None
        if name is not None:
            self.rltui.open_metric(name)
        else:
            self.rltui.say("this part is not logged: it is the rest of the step")

    def action_knowledge(self) -> None:
        from rltui.frameworks.load import phases as known

        label = self.items[self.row].name if self.row < len(self.items) else ""
        name = next((phase.name for phase in known().values() if phase.label == label), None)
        self.rltui.open_knowledge(f"phase:{name}" if name is not None else "time_per_step_s")
