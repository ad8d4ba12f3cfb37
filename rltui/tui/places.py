"""How the app opens screens and goes back, and passes on messages about other runs than the one shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import App

from rltui.tui.messages import Compared, CompareProgress, Differs, RowsRead, RunsFound
from rltui.tui.screens.base import PaneScreen
from rltui.tui.screens.main import MainScreen
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.tui.many import Many
    from rltui.tui.worker import Worker


class Places(App[None]):
    """The part of the app that opens and closes screens."""

    view: View
    worker: Worker

    def __init__(self, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._last: Callable[[], PaneScreen] | None = None

    def redraw(self) -> None:
        """Draws the parts of the top screen that changed."""
        raise NotImplementedError

    def say(self, text: str, role: str = "fg", lasting: bool = False, seconds: float = 0.0) -> None:
        """Shows a message in place of the footer."""
        raise NotImplementedError

    @property
    def top(self) -> PaneScreen | None:
        """The screen on top. None while the palette is open, and while the app closes and messages still come."""
        stack = self.screen_stack
        return stack[-1] if stack and isinstance(stack[-1], PaneScreen) else None

    @property
    def at_top(self) -> bool:
        return len(self.screen_stack) <= 1

    def close_screen(self) -> None:
        """Goes one level back. Never closes the main screen."""
        if not self.at_top:
            self.pop_screen()
            self.redraw()

    def open_place(self, make: Callable[[], PaneScreen]) -> None:
        """Opens a drill-down. If a screen of that name is already open, it and those above are closed first, so that
        the way back stays short."""
        self._last = make
        made = make()
        while any(screen.name == made.name for screen in self.screen_stack):
            self.pop_screen()
        self.push_screen(made)

    def open_finding(self, finding: str, subject: str | None) -> None:
        from rltui.tui.screens.finding import FindingScreen

        self.open_place(lambda: FindingScreen(finding, subject))

    def metric_names(self) -> list[str]:
        """The logged metrics, in the order of the main screen."""
        from rltui.tui.panes.metrics import grouped

        return [name for _, names in grouped(self.view) for name, logged in names if logged]

    def open_metric(self, name: str) -> None:
        from rltui.tui.screens.metric import MetricScreen

        self.open_place(lambda: MetricScreen(name))

    def open_values(self, metric: str) -> None:
        """Opens the values behind a metric's chart."""
        from rltui.tui.screens.metric import ValuesScreen

        self.open_place(lambda: ValuesScreen(metric))

    def open_named(self, name: str) -> None:
        """Opens a drill-down by its name, or goes back if it is already on top."""
        from rltui.tui.screens import named

        if isinstance(self.screen, PaneScreen) and name == self.screen.NAME:
            self.close_screen()
        else:
            self.open_place(named(name))

    def open_comparison(self, picked: tuple[int, ...] = (), tab: str = "good") -> None:
        """Compares the picked runs; if there are none, this run with those around it."""
        from rltui.tui.screens.compare import CompareScreen

        self.open_place(lambda: CompareScreen(picked, tab))

    def open_path(self, path: str) -> None:
        """Opens a run of the comparison, if it was found at the start. If not, says how to open it."""
        number = self.worker.number_of(path)
        if number is None:
            self.say(f"to open it: rltui {path}")
        else:
            self.open_run(number, path)

    def open_rollouts(self, step: int) -> None:
        """Opens the rollouts of a step."""
        from rltui.tui.screens.rollouts import RolloutsScreen

        self.open_place(lambda: RolloutsScreen(step))

    def open_config(self, keys: Sequence[str]) -> None:
        """Opens the config at some keys: the filter holds them, and Esc shows the others too."""
        from rltui.tui.screens.config import ConfigScreen

        def make() -> ConfigScreen:
            screen = ConfigScreen()
            screen.pattern = " | ".join(keys) or None
            return screen

        self.open_place(make)

    def open_log(self, step: int) -> None:
        """Opens the log at the lines of a step."""
        from rltui.tui.screens.log import LogScreen

        self.open_place(lambda: LogScreen(step))

    def open_knowledge(self, word: str) -> None:
        """Opens the page of a rule or metric."""
        from rltui.tui.screens.help import explanation

        self.open_page(word, explanation)

    def open_meaning(self, metric: str) -> None:
        """Opens the page on the meaning of a metric."""
        known = self.view.known(metric)
        self.open_knowledge(known.name if known is not None else metric)

    def open_page(self, word: str, read: Callable[[str], str]) -> None:
        """Opens a page of text that the worker reads."""
        from rltui.tui.screens.help import KnowledgeScreen

        self.open_place(lambda: KnowledgeScreen(word, read))

    def open_help(self, name: str) -> None:
        from rltui.tui.screens.help import HelpScreen

        if name == "help":
            self.close_screen()
        else:
            self.push_screen(HelpScreen(name))

    def last_place(self) -> None:
        """Goes from the main screen to the last drill-down, and back."""
        if not self.at_top:
            self.close_screen()
        elif self._last is not None:
            self.push_screen(self._last())

    def open_run_named(self, name: str) -> None:
        """Opens the run of this name, if it was found at the start."""
        number = self.worker.number_of_name(name)
        if number is not None:
            self.open_run(number, name)

    def open_run(self, index: int, name: str) -> None:
        """Opens a run of the picker in place of the one that is open."""
        while not self.at_top:
            self.pop_screen()
        self._last = None
        self.view.leave(name)
        self.view.several = True
        if isinstance(self.screen, MainScreen):
            self.screen.start_over()
        self.worker.open(index)
        self.redraw()


class SeveralRuns(Places):
    """The part of the app that passes on what was read about other runs than the one shown."""

    many: Many

    def on_runs_found(self, message: RunsFound) -> None:
        from rltui.tui.screens.picker import PickerScreen

        if isinstance(self.screen, PickerScreen):
            self.pop_screen()
        self.push_screen(PickerScreen(message.choices))

    def on_rows_read(self, message: RowsRead) -> None:
        from rltui.tui.screens.picker import PickerScreen

        for screen in self.screen_stack:
            if isinstance(screen, PickerScreen):
                screen.take(message)

    def on_compare_progress(self, message: CompareProgress) -> None:
        self.many.reading = message
        self._tell_comparison(message)

    def on_compared(self, message: Compared) -> None:
        self.many.comparison, self.many.facts, self.many.reading = message.comparison, message.facts, None
        self.many.left_out = message.left_out
        self._tell_comparison(message)

    def on_differs(self, message: Differs) -> None:
        self._tell_comparison(message)

    def _tell_comparison(self, message: Compared | CompareProgress | Differs) -> None:
        from rltui.tui.screens.compare import CompareScreen
        from rltui.tui.screens.metric import MetricScreen

        for screen in self.screen_stack:
            if isinstance(screen, CompareScreen | MetricScreen):
                screen.take(message)
