"""What each pane draws: pure functions from the view and a size to rows.

They are imported at their first use, because the screen needs few of them before a run is read.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

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


def load() -> None:
    """Imports all panes. The worker does it while the screen is drawn for the first time."""
    for name in FULL:
        import_module(f"{__name__}.{name}")
