"""The command palette: the verbs of the screen, and `step N`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from textual.fuzzy import Matcher

from rltui.tui.keys import on
from rltui.tui.screens.base import LAST_ROWS
from rltui.tui.screens.help import doctor_page, settings_page
from rltui.tui.theme import theme_names

if TYPE_CHECKING:
    from rltui.tui.shell import Shell


SCREENS = {  # name: (key, what it shows)
    "config": ("config", "run and resolved config, with the source of every value"),
    "pipeline": ("pipeline", "the five pipeline stages"),
    "coverage": ("coverage", "what is not logged, and how to log it"),
    "decision": ("decision", "go on or stop: KL and reward, gain against cost, checkpoints"),
    "first_movers": ("moves", "what moved first, around the step cursor or the worst onset"),
    "phases": ("pane.phases", "where the time of a step goes"),
    "gpu": ("pane.gpu", "GPUs and host"),
    "log": ("pane.log", "the raw log"),
    "rollouts": ("pane.rollouts", "what the policy wrote: groups, best beside worst"),
    "digest": ("digest", "while you were away: what happened since the last look"),
}


SHELL = {
    "watch": "without a screen, a line for each thing that happens",
    "export": "the history as CSV, parquet or JSON lines",
    "verify": "numeric invariants of the pipeline's own code",
    "demo": "the sample runs",
    "help": "the pages of the manual",
}
"""Commands of the command line that the screen cannot run."""


class Verb(Struct, frozen=True):
    """A command. `key`: the id of the key that does the same (`rltui.tui.keys`), empty if there is none."""

    name: str
    what: str
    do: Callable[[], object]
    key: str = ""


def verbs(app: Shell) -> Iterable[Verb]:
    """The commands, in the order of the table."""
    for name, (key, what) in SCREENS.items():
        yield Verb(name, what, partial(app.open_named, name), key)
    yield Verb("checkpoints", "which to keep, and why", partial(app.open_named, "decision"), "decision")
    yield Verb("runs", "runs found: open another", app.worker.list_runs, "runs")
    yield Verb("compare", "with the runs beside this one: good, bad, ugly, settings", app.open_comparison, "compare")
    difference = partial(app.open_comparison, (), "config")
    yield Verb("config difference", "this config beside that of the best run", difference, "config.difference")
    yield Verb("report", "write the report as Markdown", app.exports.snapshot)
    yield Verb("snapshot", "write screen and report as Markdown, and show the path", app.exports.snapshot, "snapshot")
    yield Verb("picture", "write the screen as an SVG picture", app.exports.picture)
    yield Verb("explain", "all rules and pages (explain ID: one of them)", partial(app.open_knowledge, "rules"))
    yield Verb("settings", "your settings (rltui config)", partial(app.open_page, "settings", settings_page))
    yield Verb("doctor", "what works here, and why something does not", partial(app.open_page, "doctor", doctor_page))
    for verb, what in SHELL.items():
        yield Verb(verb, f"{what}: copies the command", partial(app.exports.shell_command, verb))
    yield Verb("follow", "follow the run again", app.follow, "follow")
    for last in LAST_ROWS:
        told = "numbers and curves of these rows only (`last N`: any other number)"
        yield Verb(f"last {last}", told, partial(app.narrow, last), "last_rows")
    yield Verb("whole run", "numbers and curves of all rows again", partial(app.narrow, None))
    yield Verb("pause", "stop updates of the screen, or go on", app.pause, "pause")
    yield Verb("bandwidth", "new values only every 10 s, or at once again", app.spare, "sparing")
    yield Verb("alerts", "bell, notification and toast off until you leave, or on again", app.alerts.toggle)
    yield Verb("mouse", "mouse on or off", app.toggle_mouse, "mouse")
    for name in theme_names():
        yield Verb(f"theme {name}", "colours", partial(app.use_theme, name), "theme")
    yield Verb("quit", "leave rltui, the run goes on", app.exit, "quit")


def typed(app: Shell, query: str) -> Iterable[Verb]:
    """Commands that take an argument: `step 340` moves the step cursor, `last 100` narrows to this many rows,
    `explain ID` opens a rule or page, `append STATUS.md` writes a check-in entry there."""
    if found := re.fullmatch(r"(?:step|at)?\s*(\d+)", query):
        step = int(found[1])
        yield Verb(f"step {step}", "every pane as it was at that step", partial(app.set_cursor, step))
    if found := re.fullmatch(r"last\s+([1-9]\d*)", query):
        last = int(found[1])
        yield Verb(f"last {last}", "numbers and curves of these rows only", partial(app.narrow, last))
    if found := re.fullmatch(r"append\s+(\S+)", query):
        yield Verb(f"append {found[1]}", "a check-in entry at its end", partial(app.exports.append, found[1]))
    if found := re.fullmatch(r"explain\s+(\S+)", query):
        yield Verb(f"explain {found[1]}", "what is known of a rule", partial(app.open_knowledge, found[1]))


def found(app: Shell, query: str, screen: str, used: Mapping[str, int]) -> list[Verb]:
    """The commands that fit what was typed, best first. Among equally good ones, or all if nothing was typed, those
    that were run most often come first, then those whose key works on this screen."""
    query = query.strip()
    order = {key.id: i for i, key in enumerate(on(screen))}
    known = sorted(verbs(app), key=lambda verb: (-used.get(verb.name, 0), verb.key not in order))
    if not query:
        return known
    metrics = app.view.report.metrics if app.view.report else {}
    known += [Verb(f"metric {m.label or name}", m.key, partial(app.open_metric, name)) for name, m in metrics.items()]
    match = Matcher(query).match
    scored = [(match(verb.name) or 0.5 * match(f"{verb.name} {verb.what}"), verb) for verb in known]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
    exact = [verb for _, verb in best if verb.name == query]
    begun = [verb for _, verb in best if verb.name.startswith(query) and verb.name != query]
    rest = [verb for _, verb in best if not verb.name.startswith(query)]
    asked = list(typed(app, query))
    return [*asked, *(verb for verb in (*exact, *begun, *rest) if verb.name not in {one.name for one in asked})]
