"""The Textual app: one view, one worker, a stack of screens. It only draws; it computes and reads nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SuspendNotSupported
from textual.screen import Screen

from rltui import settings
from rltui.plots.glyphs import BLOCK, GlyphSet
from rltui.tui import compat
from rltui.tui.away import Attention
from rltui.tui.exports import AlertSender, Exports
from rltui.tui.keys import shown
from rltui.tui.many import Many
from rltui.tui.messages import (
    DigestMade,
    FirstValuesRead,
    Happened,
    InsightArrived,
    MarksRead,
    PageRead,
    PastArrived,
    ReportArrived,
    RunAwaited,
    RunsFound,
    SourceFailed,
    Written,
)
from rltui.tui.places import SeveralRuns
from rltui.tui.screens import load_drill_downs
from rltui.tui.screens.base import Pane
from rltui.tui.screens.main import MainScreen
from rltui.tui.theme import load_theme, textual_theme, theme_names
from rltui.tui.tour import Tour, stops
from rltui.tui.view import View
from rltui.tui.worker import Opener, Worker

if TYPE_CHECKING:
    from rich.segment import Segment

    from rltui.events.digest import Digest

CLOCK_S = 1.0
WIRE_EVERY = 5
"""Seconds between two updates of the bytes per second."""
SPARING_S = 10.0
"""In bandwidth mode the screen changes by itself only after this many seconds."""
MESSAGE_S = 8.0
READ_S = 30.0
"""Seconds for a message about what happened while the user was away, because it takes longer to read."""
FIRST_HINT = "↵ opens what is selected, Esc goes back, ? lists the keys, : all commands, ^s writes the report"
INTERRUPT_S = 3.0
"""A second Ctrl+c within this many seconds quits."""


class RltuiApp(SeveralRuns):
    """`opener` finds and opens runs; `clock` gives seconds since the epoch. `toured`: offers the guided tour."""

    TITLE = "rltui"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = []

    def __init__(
        self,
        opener: Opener,
        *,
        target: str = "",
        theme: str = "dark",
        glyphs: GlyphSet = BLOCK,
        mouse: bool = True,
        clock: Callable[[], float] = time.time,
        replaying: bool = False,
        toured: bool = False,
    ) -> None:
        self.palette = load_theme(theme)
        # With NO_COLOR Textual chooses its filter here, and text stays readable only in the terminal's own colours.
        super().__init__(ansi_color=True if self.palette.ansi else None)
        self.set_reactive(App.theme, self._textual_theme())
        self.stylesheet.set_variables(self.get_css_variables())
        self.glyphs = glyphs
        self.clock = clock
        self.mouse_on = mouse
        self.view = View(target, glyphs)
        self.view.replaying = replaying
        self.exports = Exports(self)
        self._drawn = 0.0  # when the last frame was drawn
        self.worker = Worker(self, opener)
        self.many = Many(self, opener)
        self.alerts = AlertSender(self)
        self.attention = Attention(lambda: settings.load().away.minutes)
        self.worker.there = lambda: self.attention.there
        self.worker.first_shown = load_drill_downs
        self.digest: Digest | None = None
        self.shown = compat.send_changed_cells_only()
        compat.forget_closed_screens()
        self.wire = compat.WireMeter()
        self.failure = ""
        self.tour = Tour() if toured else None
        self._theme = theme_names().index(theme) if theme in theme_names() else 0
        self._seconds = 0
        self._message_until = 0.0
        self._interrupted = -INTERRUPT_S

    # -- start and end -------------------------------------------------------------------------------------------

    def _textual_theme(self) -> str:
        made = textual_theme(self.palette)
        if made is None:
            return "ansi-dark"
        self.register_theme(made)
        return made.name

    def get_default_screen(self) -> Screen[None]:
        return MainScreen()

    def on_mount(self) -> None:
        compat.on_signals(self)
        self.wire.attach(self)
        self.app_resume_signal.subscribe(self, lambda _: self.shown.forget())
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self.view.now = self.clock()
        self.worker.find()
        self.set_interval(CLOCK_S, self._tick)

    def on_resize(self) -> None:
        self.shown.forget()  # terminals move or cut what they showed

    def on_unmount(self) -> None:
        self.worker.stop()

    # -- what arrives --------------------------------------------------------------------------------------------

    def on_first_values_read(self, message: FirstValuesRead) -> None:
        if self.view.newest is None:
            self.view.first = message.values
            self.redraw()

    def on_report_arrived(self, message: ReportArrived) -> None:
        report, before = message.report, self.view.recording
        new = report.recording
        if self.view.paused and new.loading.done:
            return
        self.view.now = self.clock()
        other = self.view.newest is None or self.view.newest.run.path != report.run.path
        reads_on = before is not None and new.series is before.series and not new.loading.done
        self.view.take(report)
        if other:
            self.digest = None
            self.exports.read_marks()
        if self.view.sparing and not other and time.monotonic() - self._drawn < SPARING_S:
            return
        if reads_on and self.top is not None:  # only the reading progress has changed
            self.top.redraw_edges()
        else:
            self.redraw()

    def on_past_arrived(self, message: PastArrived) -> None:
        if self.view.cursor == message.step:  # else a newer request is under way
            self.view.past = message.step, message.report
            self.view.settle()
            self.redraw()

    def on_insight_arrived(self, message: InsightArrived) -> None:
        self.view.learn(message.around, message.at, message.insight)
        self.redraw()

    def on_marks_read(self, message: MarksRead) -> None:
        self.view.marks = message.marks
        if message.first_time and self.tour is None:
            self.say(FIRST_HINT.replace("↵", self.glyphs.enter), "accent", seconds=2 * MESSAGE_S)
        self.redraw()

    def on_page_read(self, message: PageRead) -> None:
        self.view.pages[message.word] = message.text
        self.redraw()

    def on_happened(self, message: Happened) -> None:
        self.alerts.tell(message.events)

    def on_digest_made(self, message: DigestMade) -> None:
        if message.digest is not None:
            self.digest = message.digest
            self.say(f"{message.digest.headline}   {shown('digest')}: all of it", "accent", seconds=READ_S)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent) and not event.is_forwarded:
            if self.attention.seen():
                self.worker.digest()
            if isinstance(event, events.Key) and self.tour is not None and event.key != "t":
                self.view.message = ""  # whoever does something else sees the keys again
        await super().on_event(event)

    def on_app_focus(self) -> None:
        if self.attention.seen():
            self.worker.digest()

    def on_app_blur(self) -> None:
        self.attention.left()

    def on_run_awaited(self, message: RunAwaited) -> None:
        if self.view.awaited != message.text:
            self.view.awaited = message.text
            self.redraw()

    def on_source_failed(self, message: SourceFailed) -> None:
        if message.opened:
            self.say(message.text, "crit", lasting=True)
        else:
            self.failure = message.text
            self.exit(return_code=2)

    def on_written(self, message: Written) -> None:
        if message.error:
            self.say(message.error, "crit")
        elif message.what:
            self.say(f"{message.what} written to {message.path}", "ok")

    # -- drawing -------------------------------------------------------------------------------------------------

    def redraw(self) -> None:
        """Draws the parts of the top screen that changed."""
        self._drawn = time.monotonic()
        top = self.top
        if top is not None:
            top.redraw()

    def _tick(self) -> None:
        """Once a second: updates the age of the last step and the bytes per second, and removes old messages."""
        self.view.now = self.clock()
        self._seconds += 1
        edges = self.view.wire, self.view.message
        if self._seconds % WIRE_EVERY == 0:
            rate = self.wire.rate(time.monotonic())
            self.view.wire = f"{'sparing, ' if self.view.sparing else ''}{rate / 1000:.1f} KB/s"
        if self.view.message and time.monotonic() > self._message_until:
            self.view.message = ""
        if self.view.sparing and time.monotonic() - self._drawn < SPARING_S:
            return
        if self.view.sparing:
            self.redraw()
        elif self.top is not None and (self.view.ages or edges != (self.view.wire, self.view.message)):
            self.top.redraw_edges()

    def say(self, text: str, role: str = "fg", lasting: bool = False, seconds: float = MESSAGE_S) -> None:
        """Shows a message in place of the footer."""
        self.view.message, self.view.message_role = text, role
        self._message_until = time.monotonic() + (1e9 if lasting else seconds)
        self.redraw()

    def painted(self) -> list[list[Segment]]:
        """What the terminal shows, line by line."""
        return compat.painted(self)

    def send(self, sequence: str) -> None:
        """Sends the terminal a sequence that draws nothing: bell, notification."""
        compat.send(self, sequence)

    def toast(self, text: str, severity: str, seconds: float) -> None:
        """Shows a box on the screen for a few seconds."""
        compat.toast(self, text, severity, seconds)

    # -- verbs ---------------------------------------------------------------------------------------------------

    def move_cursor(self, by: int) -> None:
        """Moves the step cursor by this many steps. At the last step the screen follows the run again."""
        first, last = self.view.span
        if self.view.report is None or last <= first:
            return
        self.set_cursor(self.view.at + by)

    def set_cursor(self, step: int) -> None:
        """Makes all panes show the run as it stood at this step: values at once, the diagnosis when it is ready."""
        first, last = self.view.span
        if step >= last:
            self.follow()
            return
        self.view.cursor = max(first, step)
        if self.view.past is None or self.view.past[0] != self.view.cursor:
            self.worker.past(self.view.cursor)
        self.redraw()

    def follow(self) -> None:
        self.view.cursor, self.view.past = None, None
        self.view.settle()
        if self.view.paused:
            self.pause()
        self.redraw()

    def narrow(self, last_rows: int | None) -> None:
        """Shows numbers and curves of only the last rows (None: of the whole run). The diagnosis is not narrowed."""
        self.follow()
        self.view.last_rows = last_rows
        self.worker.narrow(last_rows)
        of = (
            "the whole run" if last_rows is None else f"the last {last_rows} rows (findings are those of the whole run)"
        )
        self.say(f"numbers and curves of {of}")

    def pause(self) -> None:
        self.view.paused = not self.view.paused
        self.worker.pause(self.view.paused)
        self.redraw()

    def ask_insight(self, around: int) -> None:
        """Asks the worker what moved around a step, once for each state of the run. Until the answer comes, the one for
        an older state is shown."""
        asked = around, self.view.cursor
        if asked not in self.view.asked:
            self.view.asked.add(asked)
            older = self.view.replaying or self.view.paused  # there are newer rows that are not shown
            self.worker.insight(*asked, self.view.at if older else self.view.cursor)

    def ask_outlook(self) -> None:
        """Asks for the insight at the shown step, unless one around any step was already asked for."""
        if all(at != self.view.cursor for _, at in self.view.asked):
            self.ask_insight(self.view.at)

    def spare(self) -> None:
        """Switches bandwidth mode on or off."""
        self.view.sparing = not self.view.sparing
        every = f"new values every {SPARING_S:.0f} s" if self.view.sparing else "new values at once"
        self.say(f"bandwidth mode {'on' if self.view.sparing else 'off'}: {every}")

    def plain_text(self) -> None:
        """Leaves the alternate screen and prints the same text, so that the terminal can select and scroll it."""
        text = self.exports.screen_text()
        try:
            with self.suspend():
                input(f"{text}\n\n[Enter: back to rltui] ")
        except (SuspendNotSupported, EOFError):
            self.say("plain text is not possible here: this terminal cannot leave the screen")

    def on_runs_found(self, message: RunsFound) -> None:
        super().on_runs_found(message)
        if self.tour is not None and not self.tour.at:
            self.say(stops().begin, "accent", lasting=True)

    def next_stop(self) -> None:
        """Goes to the next stop of the guided tour."""
        if self.tour is None:
            self.say("the guided tour is one of the sample runs: rltui demo")
        else:
            self.tour.next(self)

    def next_theme(self) -> None:
        names = theme_names()
        self._theme = (self._theme + 1) % len(names)
        self.use_theme(names[self._theme])

    def use_theme(self, name: str) -> None:
        if self.no_color:
            self.say("NO_COLOR is set: no other theme")
            return
        try:
            self.palette = load_theme(name)
        except ValueError as problem:
            self.say(f"{problem}", "crit")
            return
        self.theme = self._textual_theme()
        self.say(f"theme {name}")
        for pane in self.screen.query(Pane):
            pane.refresh()

    def toggle_mouse(self) -> None:
        self.mouse_on = not self.mouse_on
        compat.set_mouse(self, self.mouse_on)
        self.say("mouse on" if self.mouse_on else "mouse off: the terminal selects text")

    def action_command_palette(self) -> None:
        from rltui.tui.screens.palette import PaletteScreen

        on = self.screen.name or ""
        if on != PaletteScreen.NAME:
            self.push_screen(PaletteScreen(on))

    def interrupt(self) -> None:
        now = time.monotonic()
        if now - self._interrupted < INTERRUPT_S:
            self.exit()
        self._interrupted = now
        self.say("press Ctrl+c again to quit", "warn")
