"""The command palette: the verbs of the screen, and `step N`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.app import SystemCommand
from textual.command import Hit, Hits, Provider

from rltui.tui.screens.base import LAST_ROWS
from rltui.tui.screens.help import doctor_page, settings_page
from rltui.tui.theme import theme_names

if TYPE_CHECKING:
    from rltui.tui.shell import Shell


SCREENS = {
    "config": "run and resolved config, with the source of every value",
    "pipeline": "the five pipeline stages",
    "coverage": "what is not logged, and how to log it",
    "decision": "go on or stop: KL and reward, gain against cost, checkpoints",
    "first_movers": "what moved first, around the step cursor or the worst onset",
    "phases": "where the time of a step goes",
    "gpu": "GPUs and host",
    "log": "the raw log",
    "rollouts": "what the policy wrote: groups, best beside worst",
    "digest": "while you were away: what happened since the last look",
}


SHELL = {
    "watch": "without a screen, a line for each thing that happens",
    "export": "the history as CSV, parquet or JSON lines",
    "verify": "numeric invariants of the pipeline's own code",
    "demo": "the sample runs",
    "help": "the pages of the manual",
}
"""Commands of the command line that the screen cannot run."""


def verbs(app: Shell) -> Iterable[SystemCommand]:
    """(name, help, what it does) of every command."""
    for name, what in SCREENS.items():
        yield SystemCommand(name, what, partial(app.open_named, name))
    yield SystemCommand("checkpoints", "which to keep, and why", partial(app.open_named, "decision"))
    yield SystemCommand("runs", "runs found: open another", app.worker.list_runs)
    yield SystemCommand("compare", "with the runs beside this one: good, bad, ugly, settings", app.open_comparison)
    yield SystemCommand("report", "write the report as Markdown", app.exports.snapshot)
    yield SystemCommand("snapshot", "write screen and report as Markdown, and show the path", app.exports.snapshot)
    yield SystemCommand("picture", "write the screen as an SVG picture", app.exports.picture)
    yield SystemCommand(
        "explain", "all rules and pages (explain ID: one of them)", partial(app.open_knowledge, "rules")
    )
    yield SystemCommand("settings", "your settings (rltui config)", partial(app.open_page, "settings", settings_page))
    yield SystemCommand(
        "doctor", "what works here, and why something does not", partial(app.open_page, "doctor", doctor_page)
    )
    for verb, what in SHELL.items():
        yield SystemCommand(verb, f"{what}: copies the command", partial(app.exports.shell_command, verb))
    yield SystemCommand("follow", "follow the run again", app.follow)
    for last in LAST_ROWS:
        told = "numbers and curves of these rows only (`last N`: any other number)"
        yield SystemCommand(f"last {last}", told, partial(app.narrow, last))
    yield SystemCommand("whole run", "numbers and curves of all rows again", partial(app.narrow, None))
    yield SystemCommand("pause", "stop updates of the screen, or go on", app.pause)
    yield SystemCommand("bandwidth", "new values only every 10 s, or at once again", app.spare)
    yield SystemCommand("alerts", "bell, notification and toast off until you leave, or on again", app.alerts.toggle)
    yield SystemCommand("mouse", "mouse on or off", app.toggle_mouse)
    for name in theme_names():
        yield SystemCommand(f"theme {name}", "colours", partial(app.use_theme, name))
    yield SystemCommand("quit", "leave rltui, the run goes on", app.exit)


class GoProvider(Provider):
    """`step 340` moves the step cursor. A metric's name opens it. `last 100` narrows to this many rows. `explain ID`
    opens a rule or page. `append STATUS.md` writes a check-in entry there."""

    async def search(self, query: str) -> Hits:
        app = cast("Shell", self.app)
        found = re.fullmatch(r"(?:step|at)?\s*(\d+)", query.strip())
        if found:
            step = int(found.group(1))
            yield Hit(1.0, f"step {step}", partial(app.set_cursor, step), help="every pane as it was at that step")
        rows = re.fullmatch(r"last\s+([1-9]\d*)", query.strip())
        if rows:
            last = int(rows.group(1))
            told = "numbers and curves of these rows only"
            yield Hit(1.0, f"last {last}", partial(app.narrow, last), help=told)
        words = re.fullmatch(r"append\s+(\S+)", query.strip())
        if words:
            file = words.group(1)
            yield Hit(1.0, f"append {file}", partial(app.exports.append, file), help="a check-in entry at its end")
        explained = re.fullmatch(r"explain\s+(\S+)", query.strip())
        if explained:
            word = explained.group(1)
            yield Hit(1.0, f"explain {word}", partial(app.open_knowledge, word), help="what is known of a rule")
        matcher = self.matcher(query)
        for name, metric in (app.view.report.metrics if app.view.report else {}).items():
            text = f"metric {metric.label or name}  {metric.key}"
            score = matcher.match(text)
            if score > 0:
                yield Hit(score * 0.9, matcher.highlight(text), partial(app.open_metric, name))
