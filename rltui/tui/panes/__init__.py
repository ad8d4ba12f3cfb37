"""What each pane draws: pure functions from the view and a size to rows.

`panes.metrics` and the like are imported at their first use: the first paint, before any run is read, needs few.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from rltui import cooperate

if TYPE_CHECKING:
    from rltui.tui.panes import findings as findings
    from rltui.tui.panes import gpu as gpu
    from rltui.tui.panes import header as header
    from rltui.tui.panes import log as log
    from rltui.tui.panes import metrics as metrics
    from rltui.tui.panes import opening as opening
    from rltui.tui.panes import phases as phases
    from rltui.tui.panes import statistics as statistics
    from rltui.tui.panes import verdict as verdict

FULL = ("findings", "gpu", "header", "log", "metrics", "phases", "statistics", "verdict")


def __getattr__(name: str) -> ModuleType:
    if name in FULL or name == "opening":
        return import_module(f"{__name__}.{name}")
    raise AttributeError(name)


DRILL_DOWNS = ("rltui.plots.chart", "plotext", "rltui.tui.screens.finding", "rltui.tui.screens.metric",
               "rltui.tui.screens.values", "rltui.tui.screens.knowledge", "rltui.tui.screens.help")  # fmt: skip


def load_drill_downs() -> None:
    """Imports what the first key into a drill-down needs; the worker does it once the first values are on screen."""
    from rltui.tui.screens import named

    for name in DRILL_DOWNS:
        cooperate.give_way()
        import_module(name)
    named("log")


def load() -> None:
    """Imports all panes; the worker does it while the first paint is on its way."""
    for name in FULL:
        import_module(f"{__name__}.{name}")
