"""Several runs were found: which one to open, which ones to compare? The list shows at once, its cells fill later."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region, Size

from rltui.manual.glossary import called
from rltui.plots.numbers import number
from rltui.plots.numbers import size as size_text
from rltui.prose import joined
from rltui.tui.lists import matches
from rltui.tui.messages import Choice, RowsRead
from rltui.tui.panes.header import STATES, age_text
from rltui.tui.rows import SELECTED, Row, Segment, put, scrolled, spread, title, wrap
from rltui.tui.screens.base import PaneScreen, Places

if TYPE_CHECKING:
    from rltui.compare.runs import RunRow

WITH_VALUE = 100  # with this many columns there is room for the primary metric
HEALTH = {
    "critical": ("✗ ", "crit"),
    "warning": ("! ", "warn"),
    "ok": ("✓ ", "ok"),
    "unknown": ("? ", "dim"),
    "not looked": ("· ", "dim"),
}


class PickerScreen(PaneScreen):
    """A table of runs. Enter opens one, Space selects, `/` filters, `c` compares the selected or else the filtered."""

    NAME = "picker"
    PANES: ClassVar[tuple[str, ...]] = ("header", "runs")

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        super().__init__()
        self.choices = choices
        self.order = list(range(len(choices)))  # indices of the choices, in the order that is shown
        self.rows: dict[int, RunRow] = {}
        self.basis = ""
        self.primary: str | None = None
        self.picked: set[int] = set()
        self.selected = 0  # index among those shown
        self.top = 0
        self.moved = False
        self.wanted: list[int] = []  # those in sight that had no verdict when the list was last drawn

    def on_mount(self) -> None:
        super().on_mount()
        self.rltui.many.look_over()

    def places(self, size: Size) -> Places:
        return {
            "header": Region(0, 0, size.width, 1),
            "runs": Region(1, 2, size.width - 2, size.height - 4),
            "footer": Region(0, size.height - 1, size.width, 1),
        }

    @property
    def shown(self) -> list[int]:
        """The runs that pass the filter, in the order that is shown."""
        if not self.pattern:
            return self.order
        return [number for number in self.order if matches(self.pattern, self._words(number))]

    def _words(self, number_: int) -> str:
        """The words of a run that the filter searches."""
        choice, read = self.choices[number_], self.rows.get(number_)
        told = (read.framework, read.algorithm, read.state, read.health, *read.signs) if read is not None else ()
        return " ".join(word for word in (choice.name, choice.path, choice.format, *told) if word)

    def take(self, message: RowsRead) -> None:
        """Takes rows of runs that were read. After the last of them, and with each verdict after that, the runs that
        need attention go first, unless the user has begun to choose."""
        from rltui.compare.runs import limits, primary, ranked

        self.rows |= {n: row for n, row in message.rows.items() if n not in self.rows or row.decision is not None}
        if message.done or self.basis:
            rows = list(self.rows.values())
            self.primary, self.basis = primary(rows), limits(rows) if rows else ""
            if not self.moved:
                numbers = {id(row): n for n, row in self.rows.items()}
                known = [numbers[id(row)] for row in ranked(rows)]
                self.order = [*known, *(n for n in self.order if n not in self.rows)]
        self.redraw()

    def _judge_shown(self, numbers: list[int]) -> None:
        """Starts to read the whole logs of the runs in sight, once the log ends of all runs were read."""
        wanted = [n for n in numbers if n in self.rows and self.rows[n].decision is None]
        if self.basis and wanted != self.wanted:
            self.wanted = wanted
            self.rltui.many.judge(wanted)

    def _leave_them(self) -> None:
        """Stops this reading while another screen is open. It goes on when the list is drawn again."""
        self.wanted = []
        self.rltui.many.judge_no_more()

    def on_unmount(self) -> None:
        self._leave_them()

    # -- drawing -------------------------------------------------------------------------------------------------

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            ask = "which run?"
            if self.picked or self.pattern:
                ask = f"{len(self.picked)} selected: c compares them" if self.picked else "c compares those shown"
            left: Row = [(" ", "fg"), ("rltui", "strong"), (f"   {ask}", "dim")]
            return [spread(width - 1, left, [(self.view.target, "dim")])]
        name_w = min(44, width // 4, max(16, max((len(c.name) for c in self.choices), default=0) + 1))
        passing = self.shown
        self.selected = max(0, min(self.selected, len(passing) - 1))
        rows = [self._line(number, place, width, name_w) for place, number in enumerate(passing)]
        count = f"{len(self.rows)} of {len(self.choices)} looked at" if not self.basis else "attention first"
        head = self._head(width, name_w)
        more = ". Open one to read all of it" if any(row.decision is None for row in self.rows.values()) else ""
        basis = wrap(f"{self.basis}{more}", width - 2) if self.basis else []
        room = height - 2 - (len(basis) + 1 if basis else 0)
        shown, self.top = scrolled(rows, room, self.selected, self.top)
        self._judge_shown(passing[self.top : self.top + room])
        found = f"{len(self.choices)} found, {count}"
        typed = "▏" if self.typing else ""
        note = "" if self.pattern is None else f"/{self.pattern}{typed}  {len(passing)} of {len(self.choices)} runs"
        out = [title(width, "", "Runs", [(found, "dim")], True, note), head, *shown]
        out += [[]] * (height - len(basis) - len(out))
        return [*out, *[[(f" {text}", "dim")] for text in basis]]

    def _head(self, width: int, name_w: int) -> Row:
        metric = self.primary or "metric"
        row = [put("   run", name_w + 4, "dim"), put("step", 13, "dim", ">"), put("age", 7, "dim", ">")]
        row += [put("  state", 13, "dim"), put(metric, 13, "dim", ">"), put("  verdict", 26, "dim")]
        if width < WITH_VALUE:
            del row[-2]
        if width >= 120:
            row.insert(1, put("framework", 18, "dim"))
        return row

    def _line(self, number_: int, place: int, width: int, name_w: int) -> Row:
        choice, read = self.choices[number_], self.rows.get(number_)
        here = place == self.selected
        start: Row = [("▌", SELECTED) if here else (" ", "fg")]
        start += [
            ("• " if number_ in self.picked else "  ", "accent"),
            put(choice.name, name_w, "strong" if here else "fg"),
        ]
        start.append((" ", "fg"))
        if read is None:
            size = size_text(choice.bytes / 1e9)
            return [*start, put(choice.format, 20, "dim"), put(size, 10, "dim", ">"), (f"  {choice.path}", "dim")]
        if width >= 120:
            start.append(put(" ".join(x for x in (read.framework, read.algorithm) if x) or "–", 18, "dim"))
        steps = "–" if read.last_step is None else f"{read.last_step}"
        if read.total_steps:
            steps += f"/{read.total_steps}"
        age = "" if read.updated is None or not self.view.now else age_text(self.view.now - read.updated)
        mark = "~" if read.is_file_time else ""
        value = read.values.get(self.primary) if self.primary else next(iter(read.values.values()), None)
        row = [*start, put(steps, 13, "fg", ">"), put(f"{mark}{age}", 7, "dim", ">"), ("  ", "fg"), *self._state(read)]
        if width >= WITH_VALUE:
            row.append(put(number(value, missing="–"), 13, "fg", ">"))
        glyph, role = HEALTH["critical" if read.state == "crashed" else read.health]
        signs = [*read.signs, read.note]
        words = ": ".join(word for word in (read.badge or called(read.health), joined(signs)) if word)
        return [*row, ("  ", "fg"), (glyph, role), (words, "fg" if read.signs else "dim")]

    @staticmethod
    def _state(read: RunRow) -> list[Segment]:
        state = read.state or "unknown"
        glyph, word, role = STATES.get(state, ("● ", "running", "ok"))
        return [(glyph, role), put("unknown" if state == "unknown" else word, 9, "fg" if role == "ok" else role)]

    # -- keys ----------------------------------------------------------------------------------------------------

    def _select(self, index: int) -> None:
        self.moved = True
        self.selected = max(0, min(index, len(self.shown) - 1))
        self.redraw()

    def action_move(self, by: int) -> None:
        self._select(self.selected + by)

    def action_edge(self, end: int) -> None:
        self._select(end * 1_000_000)

    def action_select(self) -> None:
        """Selects the run for a comparison, or unselects it."""
        if self.selected < len(self.shown):
            self.picked ^= {self.shown[self.selected]}
            self._select(self.selected + 1)

    def action_compare(self) -> None:
        """Compares the selected runs. If none is selected: those that pass the filter. Without a filter: those that
        `ManyOpener.facts` takes by itself."""
        picked = [n for n in self.order if n in self.picked]
        self._leave_them()
        self.rltui.open_comparison(tuple(picked or (self.shown if self.pattern else ())))

    def action_open(self) -> None:
        if self.selected < len(self.shown):
            number_ = self.shown[self.selected]
            self._leave_them()
            self.rltui.open_run(number_, self.choices[number_].name)

    def action_escape(self) -> None:
        if self.leave():
            self.redraw()
        elif self.picked:
            self.picked.clear()
            self.redraw()
        elif self.view.newest is not None:
            self.rltui.close_screen()
        else:
            self.rltui.say("q quits, Enter opens a run, Space selects, c compares")

    def action_back(self) -> None:
        if self.view.newest is not None:
            self.rltui.close_screen()
        else:
            self.app.exit()
