"""The command palette: a line to type in, and the commands that fit, best first. Enter runs the command that fits all
that was typed before it, even if text and Enter arrive in one write."""

from __future__ import annotations

import os
from typing import ClassVar

from textual import events
from textual.geometry import Region, Size

from rltui.tui import keys
from rltui.tui.rows import SELECTED, Row, length, put, scrolled, title
from rltui.tui.screens import commands
from rltui.tui.screens.base import PaneScreen, Places, typed

NAME_WIDTH, KEY_WIDTH = 20, 7
HINTS: Row = [("↵", "key"), (" run   ", "dim"), ("↑ ↓", "key"), (" choose   ", "dim"), ("Esc", "key"), (" back", "dim")]


class PaletteScreen(PaneScreen):
    """Lists the commands for the screen that it was opened on."""

    NAME = "palette"
    PANES: ClassVar[tuple[str, ...]] = ("line", "list")

    def __init__(self, opened_on: str) -> None:
        from rltui.report.user_marks import load_used
        from rltui.settings import state_dir

        super().__init__()
        self.opened_on = opened_on
        self.state_dir = state_dir(os.environ)
        self.used = load_used(self.state_dir)
        self.pattern, self.typing = "", True
        self.selected = self.top = 0
        self._found: tuple[str | None, list[commands.Verb]] = None, []

    @property
    def listed(self) -> list[commands.Verb]:
        """The commands that fit the pattern. They are looked up again only if the pattern changes."""
        if self._found[0] != self.pattern:
            found = commands.found(self.rltui, self.pattern or "", self.opened_on, self.used)
            self._found = self.pattern, found
        return self._found[1]

    def places(self, size: Size) -> Places:
        return {
            "line": Region(1, 0, size.width - 2, 2),
            "list": Region(1, 2, size.width - 2, size.height - 4),
            "footer": Region(0, size.height - 1, size.width, 1),
        }

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "line":
            return [title(width, ":", "Commands", HINTS), [(f" {self.pattern}▏", "strong")]]
        rows: list[Row] = []
        for i, verb in enumerate(self.listed):
            start = ("▌", SELECTED) if i == self.selected else (" ", "fg")
            row: Row = [start, put(verb.name, max(NAME_WIDTH, len(verb.name) + 1), "strong"),
                        put(keys.shown(verb.key) if verb.key else "", KEY_WIDTH, "key")]  # fmt: skip
            rows.append([*row, put(verb.what, max(0, width - length(row)), "dim")])
        if not rows:
            return [[(f" no command fits {self.pattern!r} (Esc leaves, ^u clears)", "dim")]]
        shown, self.top = scrolled(rows, height, self.selected, self.top)
        return shown

    def on_key(self, event: events.Key) -> None:
        if event.key in ("ctrl+c", "ctrl+z", "ctrl+q"):
            return
        event.stop()
        event.prevent_default()
        if event.key in ("escape", "alt+escape"):
            self.rltui.close_screen()
            return
        if event.key == "enter":
            self.run(self.selected)
            return
        step = {"down": 1, "ctrl+n": 1, "tab": 1, "up": -1, "ctrl+p": -1, "shift+tab": -1,
                "pagedown": self.size.height // 2, "pageup": -self.size.height // 2}.get(event.key)  # fmt: skip
        if step is not None:
            self.selected = max(0, min(self.selected + step, len(self.listed) - 1))
        else:
            self.pattern, self.selected, self.top = typed(self.pattern or "", event), 0, 0
        self.redraw()

    def on_paste(self, event: events.Paste) -> None:
        """Takes the first line of what was pasted."""
        self.pattern = (self.pattern or "") + "".join(c for c in event.text.split("\n", 1)[0][:200] if c.isprintable())
        self.selected = 0
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Runs the command that was clicked."""
        row = event.screen_y - self._places["list"].y
        if 0 <= row < len(self.listed) - self.top:
            self.run(self.top + row)

    def run(self, number: int) -> None:
        """Closes the palette and runs a command of the list."""
        from rltui.report.user_marks import save_used

        if not 0 <= number < len(listed := self.listed):
            return
        verb = listed[number]
        if verb.name in {one.name for one in commands.verbs(self.rltui)}:  # no jump to a metric or a step
            used = {**self.used, verb.name: self.used.get(verb.name, 0) + 1}
            self.rltui.worker.write("", lambda: save_used(used, self.state_dir))
        self.rltui.close_screen()
        verb.do()
