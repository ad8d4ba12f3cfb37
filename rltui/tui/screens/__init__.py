"""Screens: which panes, where, and what their keys do."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rltui import cooperate

if TYPE_CHECKING:
    from rltui.tui.screens.base import PaneScreen


def named(name: str) -> type[PaneScreen]:
    """A drill-down by its name, if it needs only the run. Imported late, because the first screen needs none."""
    from rltui.tui.screens.changes import DigestScreen, FirstMoversScreen
    from rltui.tui.screens.checks import CoverageScreen, PipelineScreen
    from rltui.tui.screens.config import ConfigScreen
    from rltui.tui.screens.decision import DecisionScreen
    from rltui.tui.screens.gpu import GpuScreen
    from rltui.tui.screens.log import LogScreen
    from rltui.tui.screens.phases import PhasesScreen
    from rltui.tui.screens.rollouts import RolloutsScreen

    made: tuple[type[PaneScreen], ...] = (
        PhasesScreen,
        GpuScreen,
        LogScreen,
        RolloutsScreen,
        DecisionScreen,
        FirstMoversScreen,
        DigestScreen,
        ConfigScreen,
        PipelineScreen,
        CoverageScreen,
    )
    return next(screen for screen in made if name == screen.NAME)


DRILL_DOWNS = ("rltui.plots.chart", "rltui.tui.screens.finding", "rltui.tui.screens.metric",
               "rltui.tui.screens.help")  # fmt: skip


def load_drill_downs() -> None:
    """Imports what the first drill-down needs. The worker does it when the first values are on the screen."""
    for name in DRILL_DOWNS:
        cooperate.give_way()
        import_module(name)
    named("log")
