"""What all screens share: panes that are painted from rows, in places that depend on the size; keys from the table; and
the line editor of the filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from textual import events
from textual.geometry import Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.layouts.vertical import VerticalLayout
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from rltui.tui import SMALLEST, compat, keys
from rltui.tui.panes import footer
from rltui.tui.panes.phases import slow_steps
from rltui.tui.rows import SELECTED, Row, fitted
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.tui.shell import Painter, Shell


LEAST = Size(*SMALLEST)
LAST_ROWS = (200, 50)
Places = dict[str, Region]


class PaneLayout(Layout):
    """Puts each pane where its screen wants it."""

    name = "panes"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        if not all(isinstance(child, Pane) for child in children):  # the tooltip, which is on another layer
            return VerticalLayout().arrange(parent, children, size, greedy)
        places = parent.arranged(size) if isinstance(parent, PaneScreen) else {}
        gone = Region(0, 0, 0, 0)
        if isinstance(parent, PaneScreen):
            parent.fill(places)
        return [
            WidgetPlacement(places.get(child.id or "", gone), gone.offset, child.styles.margin, child)
            for child in children
        ]


def typed(text: str, event: events.Key) -> str:
    """The line of text after a key: a printable one, Backspace, or Ctrl+u, which empties the line."""
    if event.key == "backspace":
        return text[:-1]
    if event.key == "ctrl+u":
        return ""
    return text + event.character if event.is_printable and event.character else text


class PaneScreen(Screen[None]):
    """A screen of panes. Subclasses define which panes (`PANES`), where (`places`) and with what (`draw`)."""

    NAME: ClassVar[str] = ""
    PANES: ClassVar[tuple[str, ...]] = ()
    AUTO_FOCUS = ""
    DEFAULT_CSS = "PaneScreen { background: $background; overflow: hidden; }"
    BINDING_GROUP_TITLE = "rltui"

    def __init__(self) -> None:
        super().__init__(name=self.NAME)  # no id, because a closing screen may still have it
        compat.bind(self, keys.bindings(self.NAME))
        self._layout = PaneLayout()
        self._places: Places = {}
        self.pattern: str | None = None
        self.typing = False

    # -- what subclasses give ------------------------------------------------------------------------------------

    def places(self, size: Size) -> Places:
        """The place of each pane. A pane without one is hidden. By default: one pane between first and last line."""
        return {
            "header": Region(0, 0, size.width, 1),
            "text": Region(1, 2, size.width - 2, size.height - 4),
            "footer": Region(0, size.height - 1, size.width, 1),
        }

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        """The rows of a pane."""
        raise NotImplementedError

    def leave(self) -> bool:
        """Ends a filter, zoom or cursor. False if there is none, so that only the screen itself can be left."""
        return self.end_filter()

    # -- drawing -------------------------------------------------------------------------------------------------

    @property
    def rltui(self) -> Shell:
        return cast("Shell", self.app)

    @property
    def view(self) -> View:
        return self.rltui.view

    @property
    def layout(self) -> Layout:
        return self._layout

    def compose(self) -> list[Pane]:
        return [Pane(name) for name in (*self.PANES, "footer")]

    def arranged(self, size: Size) -> Places:
        """The places of all panes. Below the smallest size: only one pane, which says so."""
        if size.width < LEAST.width or size.height < LEAST.height:
            self._places = {"footer": Region(0, 0, size.width, size.height)}
        else:
            self._places = self.places(size)
        return self._places

    def redraw(self) -> None:
        """Draws every visible pane again. Panes repaint only what changed."""
        size = self.size
        if not size or not self.is_mounted:
            return
        before = dict(self._places)
        if self.arranged(size) != before:
            compat.arrange_again(self)
        for pane in self.query(Pane):
            place = self._places.get(pane.id or "")
            if place and place.size == pane.size:  # the other panes get their rows with their new size
                pane.show(self._content(pane.id or "", place))

    def fill(self, places: Places) -> None:
        """Gives rows to panes whose size changes now, so that they are not blank at first."""
        for pane in self.query(Pane):
            place = places.get(pane.id or "")
            if place and place.size != pane.size:
                pane.rows = self._content(pane.id or "", place)

    def _content(self, name: str, place: Region) -> list[Row]:
        if self.size.width < LEAST.width or self.size.height < LEAST.height:
            return [
                [(f" {self.size.width}x{self.size.height} is too small", "strong")],
                [(f" rltui needs {LEAST.width}x{LEAST.height}", "fg")],
            ]
        pane = f"pane {name} of the screen {self.NAME}"
        try:
            if name == "footer":
                rows = footer.draw(self.view, place.width, place.height, self.NAME)
            else:
                rows = [fitted(row, place.width) for row in self.draw(name, place.width, place.height)]
            self.view.undrawn.pop(pane, None)
            return rows
        except Exception as error:  # the other panes are still drawn
            told = self.view.pane_failed(pane, error)
            said = (f" {name} cannot be drawn, by a fault of rltui:", f" {told}")
            return [fitted([(text, "crit" if not y else "dim")], place.width) for y, text in enumerate(said)]

    def clocks(self) -> tuple[str, ...]:
        """The panes that show a clock now, besides the first one."""
        return ()

    def redraw_edges(self) -> None:
        """Redraws what changes while nothing arrives: the first pane, the panes with a clock and the footer."""
        for pane in self.query(Pane):  # a screen that is just being opened has none yet
            place = self._places.get(pane.id or "")
            if place and pane.id in (self.PANES[0], "footer", *self.clocks()):
                pane.show(self._content(pane.id, place))

    def on_mount(self) -> None:
        self.redraw()

    def on_unmount(self) -> None:
        compat.forget_lines(self)

    def on_screen_resume(self) -> None:
        self.redraw()

    # -- filter --------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        self.pattern, self.typing = self.pattern or "", True
        self.redraw()

    def end_filter(self) -> bool:
        """Clears the filter. False if there was none."""
        had = self.pattern is not None
        self.pattern, self.typing = None, False
        return had

    def on_key(self, event: events.Key) -> None:
        if not self.typing or self.pattern is None:
            return
        if event.key in ("escape", "alt+escape"):
            self.end_filter()
        elif event.key == "enter":
            self.typing = False
            self.pattern = self.pattern or None
        elif event.key == "backspace":
            if not self.pattern:
                self.end_filter()
            else:
                self.pattern = typed(self.pattern, event)
        elif event.key in ("ctrl+c", "ctrl+z"):
            return
        else:
            self.pattern = typed(self.pattern, event)
        event.stop()
        event.prevent_default()
        self.redraw()

    # -- keys that work the same everywhere ----------------------------------------------------------------------

    def action_escape(self) -> None:
        if self.leave():
            self.redraw()
        elif self.rltui.at_top and self.view.several:
            self.rltui.worker.list_runs()
        else:
            self.rltui.close_screen()

    def action_back(self) -> None:
        if not self.rltui.at_top:
            self.rltui.close_screen()
        elif self.leave():
            self.redraw()
        else:
            self.app.exit()

    def action_help(self) -> None:
        self.rltui.open_help(self.NAME)

    def action_interrupt(self) -> None:
        self.rltui.interrupt()

    def action_show(self, screen: str) -> None:
        self.rltui.open_named(screen)

    def action_pane(self, name: str) -> None:
        self.rltui.open_named(name)

    def action_zoom(self) -> None:
        """Closes the screen of a zoomed pane."""
        self.rltui.close_screen()

    def action_snapshot(self) -> None:
        self.rltui.exports.snapshot()

    def action_copy(self) -> None:
        self.rltui.exports.copy(self.copied())

    def copied(self) -> str:
        """What `Y` copies: by default the whole screen."""
        return self.rltui.exports.screen_text()

    def action_plain(self) -> None:
        self.rltui.plain_text()

    def action_sparing(self) -> None:
        self.rltui.spare()

    def action_runs(self) -> None:
        self.rltui.worker.list_runs()

    def action_compare(self) -> None:
        """Compares this run with those around it. From the config screen: their configs."""
        self.rltui.open_comparison(tab="config" if self.NAME == "config" else "good")

    def action_difference(self) -> None:
        """The config of this run beside that of the best one around it."""
        self.rltui.open_comparison(tab="config")

    def action_mark(self) -> None:
        self.view.mark = self.view.at
        self.rltui.say(f"step {self.view.mark} is marked (' goes there)")

    def action_to_mark(self) -> None:
        if self.view.mark is None:
            self.rltui.say("no step is marked (m marks one)")
        else:
            self.rltui.set_cursor(self.view.mark)

    def action_slow(self, by: int) -> None:
        """Moves the step cursor to the next or previous slow step."""
        found = slow_steps(self.view)
        at = self.view.at
        after = [step for step in found if step > at] if by > 0 else [step for step in found if step < at]
        if not found:
            self.rltui.say("no step took much longer than usual")
        else:
            self.rltui.set_cursor((after or found)[0 if by > 0 else -1])

    def action_tour(self) -> None:
        self.rltui.next_stop()

    def action_theme(self) -> None:
        self.rltui.next_theme()

    def action_mouse(self) -> None:
        self.rltui.toggle_mouse()

    def action_last_place(self) -> None:
        self.rltui.last_place()

    def action_follow(self) -> None:
        self.rltui.follow()

    def action_pause(self) -> None:
        self.rltui.pause()

    def action_narrow(self) -> None:
        """Shows the last 200 rows, the last 50, or the whole run again. Skips a number that is above the run's rows."""
        rows = self.view.newest.run.steps.rows if self.view.newest else 0
        fewer = next((last for last in LAST_ROWS if last < min(rows, self.view.last_rows or rows)), None)
        if fewer is None and self.view.last_rows is None:
            self.rltui.say(f"the run has only {rows} rows")
        else:
            self.rltui.narrow(fewer)

    def action_step(self, by: int) -> None:
        self.rltui.move_cursor(by)

    def action_move(self, by: int) -> None:
        """Goes to the next or previous row, if the screen has rows."""

    def action_edge(self, end: int) -> None:
        """Goes to the first or the last row. At the last row the screen follows the run again."""

    def action_page(self, by: int) -> None:
        """Moves by half a page of rows."""
        self.action_move(by * max(1, self.size.height // 2))


def stacked(size: Size, rows: list[tuple[str, int]], left: int = 0, width: int | None = None, top: int = 0) -> Places:
    """The places of panes below one another. Those with a height of 0 or less are left out."""
    places: Places = {}
    y = top
    for name, height in rows:
        height = min(height, size.height - y)
        if height > 0 and name:
            places[name] = Region(left, y, size.width if width is None else width, height)
        y += max(0, height)
    return places


class Pane(Widget, can_focus=False):
    """Shows rows, and repaints only those that changed."""

    DEFAULT_CSS = "Pane { width: 1fr; height: 1fr; }"

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.rows: list[Row] = []

    def on_unmount(self) -> None:
        compat.forget_lines(self)
        self.rows = []

    def show(self, rows: list[Row]) -> None:
        """Replaces the rows."""
        old, self.rows = self.rows, rows
        width, height = self.size
        regions = [
            Region(0, y, width, 1)
            for y in range(height)
            if (old[y] if y < len(old) else []) != (rows[y] if y < len(rows) else [])
        ]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        app = cast("Painter", self.app)
        theme, width = app.palette, self.size.width
        row = self.rows[y] if y < len(self.rows) else []
        selected = bool(row) and row[0][1] == SELECTED
        segments = []
        for text, role in row:
            style = theme.styles[role]
            if selected and not role.startswith("badge"):
                style += theme.selection
            if not text.isprintable():  # a file's path may hold any character
                from rltui.text import shown

                text = shown(text).replace("\n", " ")
            segments.append(Segment(app.glyphs.translate(text), style))
        fill = theme.styles["fill"] + theme.selection if selected else theme.styles["fill"]
        return Strip(segments).adjust_cell_length(width, fill).simplify()
