"""Many runs side by side: Good, Bad, Ugly, the Pareto front, settings, what to run next, and what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region, Size

from rltui.plots.numbers import number
from rltui.plots.spark import sparkline
from rltui.tui.messages import Compared, CompareProgress, Differs
from rltui.tui.panes import comparison
from rltui.tui.rows import SELECTED, Row, clip, cut, put, scrolled, spread, title, wrap
from rltui.tui.screens.base import PaneScreen, Places

if TYPE_CHECKING:
    from rltui.compare.model import Comparison, ConfigDiff, RunLine

GROUPS = ("good", "bad", "ugly")
TABS = (*GROUPS, "seeds", "settings", "next", "budget", "config", "notes")
NAMES = {"budget": "Equal budget", "next": "Run next"}
ABOUT = {
    "good": "nothing broke, and within two standard errors of the best at their cost",
    "bad": "nothing broke, but they fall short",
    "ugly": "unstable, broken, or rewarded for something else",
    "seeds": "runs with the same settings as one: what is chance, and what one setting alone does",
    "settings": "which settings go with the metric: a hint, not a proof",
    "next": "experiments that change one setting each, with what would refute them",
    "budget": "every run at the cost that all have reached, and against the 10-90 % band of the others",
    "config": "two configs side by side: Space on two runs chooses which",
    "notes": "what limits these numbers",
}
SPARK = 24
LEAST_FRONT = 11  # rows of the front's plot with its legend
FRONT, CURVES, LEAST_CURVES = 13, 22, 9
"""Rows of the front if curves are below it, and the most and the fewest rows of the curves."""
AXES = ("tokens", "gpu_hours", "hours", "steps")


class CompareScreen(PaneScreen):
    """The comparison. Tab goes to the next part, `j k` through the runs, Enter opens a run, Space marks two runs for
    their configs."""

    NAME = "compare"
    PANES: ClassVar[tuple[str, ...]] = ("header", "top", "body", "front", "aside", "curves")

    def __init__(self, picked: tuple[int, ...] = (), tab: str = "good") -> None:
        super().__init__()
        self.picked = picked
        self.tab = tab
        self.selected = 0
        self.top = 0
        self.axis = 0
        self.marked: list[str] = []
        self.diff: ConfigDiff | None = None
        self.problem = ""

    @property
    def comparison(self) -> Comparison | None:
        return self.rltui.many.comparison

    def on_mount(self) -> None:
        super().on_mount()
        if self.picked or self.comparison is None:
            self.rltui.many.compare(self.picked, self._own_path())
        else:
            self._settle()

    def _own_path(self) -> str:
        return self.view.newest.run.path if self.view.newest else ""

    def _own(self) -> str | None:
        """The id of the run that is open, if it is one of those compared."""
        path = self._own_path()
        return next((run.id for run in self.comparison.runs if run.path == path), None) if self.comparison else None

    # -- what arrives --------------------------------------------------------------------------------------------

    def take(self, message: Compared | CompareProgress | Differs) -> None:
        if isinstance(message, Compared):
            self.problem = message.problem
            self._settle()
        elif isinstance(message, Differs):
            self.diff = message.diff
        self.redraw()

    def _settle(self) -> None:
        """Goes to a part that is not empty, and sets two configs side by side to begin with."""
        if self.comparison is None:
            return
        if self.tab in GROUPS and not self._runs():
            self.tab = next((g for g in GROUPS if any(r.group == g for r in self.comparison.runs)), "good")
        own = self._own()
        best = self.comparison.runs[0].id
        if own is not None and own == best and len(self.comparison.runs) > 1:
            best = self.comparison.runs[1].id
        self.rltui.many.differ(best, own if own is not None else self.comparison.runs[-1].id)

    def _runs(self) -> list[RunLine]:
        return [run for run in self.comparison.runs if run.group == self.tab] if self.comparison else []

    # -- drawing -------------------------------------------------------------------------------------------------

    def places(self, size: Size) -> Places:
        width, height = size
        places = {"header": Region(0, 0, width, 1), "top": Region(1, 2, width - 2, 4)}
        body = height - 8
        if self.tab in GROUPS and width >= 120 and height >= 36 and self.comparison is not None:
            table = min(len(self._runs()) + 3, body // 2)
            places["body"] = Region(1, 7, width - 2, table)
            rest = body - table - 1
            half = min(78, width // 2)
            front = rest
            if rest >= FRONT + LEAST_CURVES:
                front = max(FRONT, rest - CURVES)
                places["curves"] = Region(1, 9 + table + front, width - 2, rest - front - 2)
            places["front"] = Region(1, 8 + table, half, front)
            places["aside"] = Region(half + 4, 8 + table, width - half - 5, front)
        elif self.tab in GROUPS and body - len(self._runs()) - 3 >= LEAST_FRONT and self.comparison is not None:
            table = len(self._runs()) + 3
            places["body"] = Region(1, 7, width - 2, table)
            places["front"] = Region(1, 7 + table, width - 2, body - table)
        else:
            places["body"] = Region(1, 7, width - 2, body)
        return places | {"footer": Region(0, height - 1, width, 1)}

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            return self._header(width)
        if pane == "top":
            return self._top(width)
        if self.comparison is None:
            return self._waiting(width)
        if pane == "front":
            return self._front(width, height)
        if pane == "aside":
            return self._aside(width, height)
        if pane == "curves":
            here = self._runs()[self.selected].id if self.selected < len(self._runs()) else None
            return comparison.curves(self.comparison, self._own(), here, width, height, self.view.glyphs)
        if self.tab in GROUPS:
            return self._table(width, height)
        return self._scrolled(self._text(width), height)

    def _header(self, width: int) -> list[Row]:
        name = self.view.report.run.id if self.view.report else self.view.target
        left: Row = [(" ", "fg"), (cut(name, max(8, width // 3)), "dim"), ("  ›  ", "dim"), ("Compare", "strong")]
        count = f"{len(self.comparison.runs)} runs" if self.comparison else ""
        return [spread(width - 1, left, [(count, "dim")])]

    def _top(self, width: int) -> list[Row]:
        c = self.comparison
        if c is None:
            return []
        way = "higher is better" if c.primary.higher_is_better else "lower is better"
        head: Row = [(f"{len(c.runs)} runs", "strong"), ("   by ", "dim"), (c.primary.label, "fg"), (f", {way}", "dim")]
        head.append((f"   {c.primary.name}: {c.primary.how}", "dim"))
        tabs: Row = []
        for tab in TABS:
            count = f" {sum(r.group == tab for r in c.runs)}" if tab in GROUPS else ""
            text = f"{NAMES.get(tab, tab.capitalize())}{count}"
            tabs += [(text, "accent.b" if tab == self.tab else "dim"), ("   " if width >= 100 else "  ", "fg")]
        if left_out := self.rltui.many.left_out:
            caution: Row = [(cut(f"left out, by a fault of rltui: {', '.join(left_out)}", width), "crit")]
        else:
            caution = [(cut(f"the order may not hold: {c.cautions[0]}", width), "warn")] if c.cautions else []
        return [clip(head, width), caution, clip(tabs, width), [put(f"{ABOUT[self.tab]} ", width, "dim")]]

    def _waiting(self, width: int) -> list[Row]:
        if self.problem:
            return [[(line, "warn")] for line in wrap(self.problem, width - 2)]
        seen = self.rltui.many.reading
        if seen is None:
            return [[("looking for the other runs …", "dim")]]
        share = seen.done / max(1, seen.total)
        bar = "█" * round(30 * share) + "░" * (30 - round(30 * share))
        return [
            [(f"reading {seen.done + 1} of {seen.total}   ", "fg"), (bar, "accent"), (f"   {seen.name}", "dim")],
            [],
            [("Each is read to its end and diagnosed. ", "dim"), ("Esc", "key"), (" stops", "dim")],
        ]

    def _table(self, width: int, height: int) -> list[Row]:
        c = self.comparison
        assert c is not None
        runs, wide = self._runs(), width >= 110
        name_w = min(34, max(12, max((len(run.id) for run in c.runs), default=0)) + 1)
        cost = AXES[self.axis] if self.axis else (c.cost or "steps")
        head = [put("   run", name_w + 4, "dim")]
        if wide:
            head.append(put(f"{c.primary.label} over steps", SPARK + 2, "dim"))
        head += [put(n, 9, "dim", ">") for n in ("best", "±", "last", comparison.cost_word(cost))]
        head.append(("   why" if self.tab != "ugly" else "   what broke", "dim"))
        rows = [self._run_row(run, name_w, cost, wide, i == self.selected) for i, run in enumerate(runs)]
        if not rows:
            return [head, [("   none", "dim")]]
        self.selected = min(self.selected, len(rows) - 1)
        own = next((run for run in c.runs if run.path == self._own_path() and run.group != self.tab), None)
        shown, self.top = scrolled(rows, height - (1 if own is None else 2), self.selected, self.top)
        below = [] if own is None else [self._run_row(own, name_w, cost, wide, False)]
        return [head, *shown, *below]

    def _run_row(self, run: RunLine, name_w: int, cost: str, wide: bool, here: bool) -> Row:
        c = self.comparison
        assert c is not None
        own = run.path == self._own_path()
        row: Row = [("▌", SELECTED) if here else (" ", "fg"), ("• " if run.id in self.marked else "  ", "accent")]
        row.append(put(run.id, name_w, "strong" if here or own else "fg"))
        row.append(("◆" if run.on_front else " ", "accent"))
        if wide:
            row.append((put(self._spark(run), SPARK, "dim")[0] + "  ", "dim"))
        row.append(put(number(run.best, missing="–"), 9, "strong", ">"))
        row.append(put(number(run.se, missing="–"), 9, "dim", ">"))
        row.append(put(number(run.last, missing="–"), 9, "fg", ">"))
        row.append(put(number(run.cost[cost], missing="–"), 9, "fg", ">"))
        behind = f"behind since {run.band.behind_since}, " if run.band and run.band.behind_since is not None else ""
        why = ", ".join(flag.word for flag in run.flags) if run.flags else run.because
        row += [(f"   this run, {run.group}: " if own else "   ", "accent"), (behind, "warn")]
        row.append((why, "crit" if run.group == "ugly" else "dim"))
        return row

    def _spark(self, run: RunLine) -> str:
        c = self.comparison
        assert c is not None
        points = c.curves.get(run.id)
        if not points:
            return ""
        drawn = [p for p in c.curves.values() if p]
        values = [value for line in drawn for _, value in line]
        first, last = min(line[0][0] for line in drawn), max(line[-1][0] for line in drawn)
        steps, heights = zip(*points, strict=True)
        return sparkline(steps, heights, SPARK, first, last, bounds=(min(values), max(values)))

    def _front(self, width: int, height: int) -> list[Row]:
        from msgspec.structs import replace

        from rltui.compare.plot import COST_WORDS, pareto

        c = self.comparison
        assert c is not None
        name = AXES[self.axis] if self.axis else c.cost
        if name is not None:
            on = set(c.fronts[name])
            c = replace(c, cost=name, runs=tuple(replace(run, on_front=run.id in on) for run in c.runs))
        lines = pareto(c, width - 4, max(6, min(14, height - 6)))
        about = [("CAPITALS", "accent"), (" on the front, * several runs   ", "dim"), ("x", "key"), (" axis", "dim")]
        rows = [title(width, "", f"{c.primary.label} for {COST_WORDS.get(name or '', 'cost')}", about)]
        if not lines:
            return [*rows, [("   too few runs have both values", "dim")]]
        plot, legend = lines[1 : lines.index("")], lines[lines.index("") + 1 :]
        own = next((text[0] for text in legend if text[2:] == self._own()), "")
        for line in plot:
            start, edge, inside = line.partition("┤") if "┤" in line else line.partition("│")
            if not inside:
                rows.append([(line, "dim")])
                continue
            roles = {own: "warn", "│": "dim"}
            points = [(x, roles.get(x) or ("accent.b" if x.isupper() else "fg")) for x in inside]
            rows.append([(start + edge, "dim"), *points])
        column = max(map(len, legend)) + 3
        each = max(1, width // column)
        for at in range(0, len(legend), each):
            rows.append([put(text, column, "warn" if text[0] == own else "dim") for text in legend[at : at + each]])
        return rows[:height]

    def _aside(self, width: int, height: int) -> list[Row]:
        c = self.comparison
        assert c is not None
        rows: list[Row] = []
        if self.tab == "good":
            rows += [title(width, "", "What the good runs share")]
            rows += comparison.bullets(list(c.shared) or ["nothing that sets them apart"], width)[: height // 3]
        else:
            rows += [title(width, "", "What limits them")]
            rows += comparison.bullets([*c.limits, *c.readings] or ["no open finding"], width)[: height // 3]
        rows += [[], title(width, "", "What goes with a good run", [(f"{len(c.runs)} runs: hints, no proof", "dim")])]
        for item in c.signals.items[:5]:
            strength = f"rho {number(item.rho, decimals=2, sign=True)}" if item.rho is not None else "words"
            sure = f"q {number(item.q)}" if item.q is not None else ""
            rows.append(
                [put(f" {item.setting}", width - 32), put(strength, 12), put(f"n {item.n}", 6, "dim"), (sure, "dim")]
            )
        if not c.signals.items:
            rows += comparison.bullets([c.signals.note], width)
        rows += [[], title(width, "", "Run next")]
        for n, e in enumerate(c.experiments, 1):
            rows += [
                [(f" {n} ", "accent"), (cut(e.title, width - 4), "fg")],
                [("   ", "fg"), (cut(e.why, width - 4), "dim")],
            ]
        return [clip(row, width) for row in rows[:height]]

    def _text(self, width: int) -> list[Row]:
        c = self.comparison
        assert c is not None
        if self.tab == "config":
            return comparison.difference(self.diff, width)
        if self.tab == "budget":
            return comparison.budget(c, width, self._own_path())
        parts = {"seeds": comparison.seeds, "settings": comparison.settings, "next": comparison.run_next}
        return parts.get(self.tab, comparison.notes)(c, width)

    def _scrolled(self, rows: list[Row], height: int) -> list[Row]:
        self.top = max(0, min(self.top, len(rows) - height))
        return rows[self.top : self.top + height]

    # -- keys ----------------------------------------------------------------------------------------------------

    def action_next_pane(self, by: int) -> None:
        self.tab = TABS[(TABS.index(self.tab) + by) % len(TABS)]
        self.selected = self.top = 0
        self.redraw()

    def action_move(self, by: int) -> None:
        if self.tab in GROUPS:
            self.selected = max(0, min(self.selected + by, len(self._runs()) - 1))
        else:
            self.top = max(0, self.top + by)
        self.redraw()

    def action_edge(self, end: int) -> None:
        self.action_move(end * 1_000_000)

    def action_axis(self) -> None:
        """Switches the table and the front to the next cost."""
        self.axis = (self.axis + 1) % len(AXES)
        self.redraw()

    def action_select(self) -> None:
        """Marks the run. The configs of two marked runs are set side by side."""
        runs = self._runs()
        if not runs:
            return
        name = runs[self.selected].id
        self.marked = [m for m in self.marked if m != name] if name in self.marked else [*self.marked, name][-2:]
        if len(self.marked) == 2:
            self.rltui.many.differ(self.marked[0], self.marked[1])
            self.rltui.say("two runs are marked: Config shows their configs")
        self.action_move(1)

    def action_compare(self) -> None:
        """Reads the runs again."""
        self.rltui.many.compare(self.picked, self._own_path())
        self.redraw()

    def action_open(self) -> None:
        runs = self._runs()
        if runs:
            self.rltui.open_path(runs[self.selected].path)

    def action_snapshot(self) -> None:
        self.rltui.exports.comparison()

    def leave(self) -> bool:
        if self.comparison is None:
            self.rltui.many.cancel()
        return super().leave()
