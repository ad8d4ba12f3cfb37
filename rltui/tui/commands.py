"""The command palette: the verbs of the screen, and `step N`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.app import SystemCommand
from textual.command import Hit, Hits, Provider

from rltui.tui.theme import theme_names

if TYPE_CHECKING:
    from rltui.tui.app import RltuiApp


def verbs(app: RltuiApp) -> Iterable[SystemCommand]:
    """(name, help, what it does) of every command."""
    yield SystemCommand(
        "config", "run and resolved config, with the source of every value", partial(app.open_named, "config")
    )
    yield SystemCommand("pipeline", "the five pipeline stages", partial(app.open_named, "pipeline"))
    yield SystemCommand("coverage", "what is not logged, and how to log it", partial(app.open_named, "coverage"))
    yield SystemCommand("snapshot", "write the report as Markdown", app.snapshot)
    yield SystemCommand("follow", "follow the run again", app.follow)
    yield SystemCommand("pause", "keep what is shown, and back", app.pause)
    yield SystemCommand("mouse", "mouse on or off", app.toggle_mouse)
    for name in theme_names():
        yield SystemCommand(f"theme {name}", "colours", partial(app.use_theme, name))
    yield SystemCommand("quit", "leave rltui; the run goes on", app.exit)


class GoProvider(Provider):
    """`step 340` moves the step cursor; a metric's name opens it."""

    async def search(self, query: str) -> Hits:
        app = cast("RltuiApp", self.app)
        found = re.fullmatch(r"(?:step|at)?\s*(\d+)", query.strip())
        if found:
            step = int(found.group(1))
            yield Hit(1.0, f"step {step}", partial(app.set_cursor, step), help="every pane as it was at that step")
        matcher = self.matcher(query)
        for name, metric in (app.view.report.metrics if app.view.report else {}).items():
            text = f"metric {metric.label or name}  {metric.key}"
            score = matcher.match(text)
            if score > 0:
                yield Hit(score * 0.9, matcher.highlight(text), partial(app.open_metric, name))
