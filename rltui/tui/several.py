"""What arrives of several runs: those to choose from, their rows, a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.tui.messages import Compared, CompareProgress, Differs, RowsRead, RunsFound
from rltui.tui.places import Places

if TYPE_CHECKING:
    from rltui.tui.many import Many


class SeveralRuns(Places):
    """The part of the app that hands on what is read of other runs than the one shown."""

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
        self._tell_comparison(message)

    def on_differs(self, message: Differs) -> None:
        self._tell_comparison(message)

    def _tell_comparison(self, message: Compared | CompareProgress | Differs) -> None:
        from rltui.tui.screens.compare import CompareScreen
        from rltui.tui.screens.metric import MetricScreen

        for screen in self.screen_stack:
            if isinstance(screen, CompareScreen | MetricScreen):
                screen.take(message)
