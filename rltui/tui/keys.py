"""The only table of keys. Bindings, footer, help and manual are made from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

from msgspec import Struct
from msgspec.structs import replace
from textual.binding import Binding
from textual.keys import format_key

from rltui.settings import Settings, near
from rltui.tui.compat import key_of

RUN = ("main", "metric", "values", "finding", "phases", "gpu", "log", "rollouts", "decision", "knowledge", "config",
       "pipeline", "coverage", "digest", "first_movers")  # fmt: skip
ALL = (*RUN, "compare", "help", "picker")
TEXT = ("gpu", "decision", "knowledge", "config", "pipeline", "coverage", "digest")
CURSOR = ("main", "metric", "finding", "phases", "gpu", "decision", "first_movers")
TIMED = ("main", "metric", "finding", "phases", "gpu", "rollouts", "decision", "first_movers")


class Key(Struct, frozen=True):
    """`keys`: Textual's names, comma-separated. `shown`: as people read them. `footer`: the text in the footer of the
    screens in `footer_on`, in order of `rank`; if it is empty, the key is only in the help. In a pair of keys only the
    first has a footer text, which is for both."""

    id: str
    keys: str
    shown: str
    action: str
    tooltip: str
    group: str
    where: tuple[str, ...] = ALL
    footer: str = ""
    footer_on: tuple[str, ...] = ()
    footer_shown: str = ""
    rank: int = 50


KEYS: tuple[Key, ...] = (
    # move
    Key("move.down", "j,down", "j ↓", "move(1)", "next row", "Move", footer="read on",
        footer_on=("finding", "help", *TEXT), footer_shown="j k", rank=15),
    Key("move.up", "k,up", "k ↑", "move(-1)", "previous row", "Move"),
    Key("cursor.left", "h,left", "h ←", "chart_cursor(-1)", "chart cursor to the left", "Move", ("metric",),
        "cursor", ("metric",), "h l", 10),
    Key("cursor.right", "l,right", "l →", "chart_cursor(1)", "chart cursor to the right", "Move", ("metric",)),
    Key("move.first", "g,home", "g", "edge(-1)", "first row", "Move"),
    Key("move.last", "G,end", "G", "edge(1)", "last row, and follow the run again", "Move"),
    Key("move.page_down", "ctrl+d,pagedown", "^d", "page(1)", "page down", "Move"),
    Key("move.page_up", "ctrl+u,pageup", "^u", "page(-1)", "page up", "Move"),
    # panes
    Key("pane.next", "tab", "Tab", "next_pane(1)", "next pane, next part of the comparison", "Panes",
        ("main", "compare"), "good bad ugly seeds settings", ("compare",), rank=5),
    Key("rollouts.next", "tab", "Tab", "next_list(1)", "groups, all samples, the step's numbers", "Panes",
        ("rollouts",), "samples, numbers", ("rollouts",), rank=37),
    Key("rollouts.previous", "shift+tab", "S-Tab", "next_list(-1)", "the step's numbers, all samples, groups", "Panes",
        ("rollouts",)),
    Key("pane.previous", "shift+tab", "S-Tab", "next_pane(-1)", "previous pane", "Panes", ("main", "compare")),
    Key("pane.findings", "1", "1", "pane('findings')", "Findings (again: zoom)", "Panes", ("main",)),
    Key("pane.metrics", "2", "2", "pane('metrics')", "Metrics (again: zoom, all metrics)", "Panes", ("main",),
        "metrics", ("main",), "2", 45),
    Key("pane.phases", "3", "3", "pane('phases')", "Step time (again, or elsewhere: one step in full)", "Panes", RUN),
    Key("pane.gpu", "4", "4", "pane('gpu')", "GPU and host (again, or elsewhere: all samples)", "Panes", RUN),
    Key("pane.rollouts", "5", "5", "show('rollouts')", "Rollouts: groups by prompt, best beside worst", "Panes", RUN,
        "rollouts", ("main",), rank=63),
    Key("pane.log", "6", "6", "pane('log')", "Log and events (again, or elsewhere: the raw log)", "Panes", RUN),
    Key("pane.zoom", "z", "z", "zoom", "zoom the pane, or a chart around its cursor (again: back)", "Panes",
        ("main", "metric", "phases", "gpu", "log", "rollouts"), "zoom", ("main", "metric", "rollouts"), rank=36),
    Key("open", "enter", "↵", "open", "open what is selected: finding, metric, its values, phase, run", "Panes",
        ("main", "finding", "metric", "first_movers", "phases", "rollouts", "compare", "picker"), "open",
        ("main", "finding", "first_movers", "phases", "rollouts", "compare", "picker"), rank=10),
    Key("last_place", "backspace", "Bksp", "last_place", "back to the last place", "Panes", RUN),
    # find
    Key("finding.next_critical", "e", "e", "finding('critical', 1)", "next critical finding", "Find",
        ("main", "finding"), "next critical", ("main", "finding"), rank=20),
    Key("finding.previous_critical", "E", "E", "finding('critical', -1)", "previous critical finding", "Find",
        ("main", "finding")),
    Key("finding.next_warning", "w", "w", "finding('warning', 1)", "next warning", "Find",
        ("main", "finding"), "next warning", ("main", "finding"), rank=27),
    Key("finding.previous_warning", "W", "W", "finding('warning', -1)", "previous warning", "Find",
        ("main", "finding")),
    Key("step.slow", "s", "s", "slow(1)", "next slow step", "Find", CURSOR, "slow step", ("phases",),
        "s S", 22),
    Key("step.slow_before", "S", "S", "slow(-1)", "previous slow step", "Find", CURSOR),
    Key("finding.acknowledge", "a", "a", "acknowledge", "acknowledge the finding until it gets worse (again: undo)",
        "Find", ("main", "finding"), "acknowledge", ("finding",), rank=46),
    Key("finding.all", "A", "A", "all_findings", "also resolved findings and checks that could not run", "Find",
        ("main",)),
    Key("filter", "slash", "/", "filter", "filter (in the log: search): space is AND, | OR, ! not, /re/", "Find",
        ("main", "log", "rollouts", "picker", *TEXT),
        "filter", ("main", "log", "rollouts", "picker", *TEXT), rank=40),
    Key("filter.next", "n", "n", "match(1)", "next match", "Find", ("main", "log", *TEXT)),
    Key("filter.previous", "N", "N", "match(-1)", "previous match", "Find", ("main", "log", *TEXT)),
    # time
    Key("step.back", "left_square_bracket", "[", "step(-1)", "one step back: every pane shows that step", "Time",
        TIMED, "step", TIMED, "[ ]", 30),
    Key("step.forward", "right_square_bracket", "]", "step(1)", "one step forward", "Time", TIMED),
    Key("step.back_ten", "left_curly_bracket", "{", "step(-10)", "ten steps back", "Time", TIMED),
    Key("step.forward_ten", "right_curly_bracket", "}", "step(10)", "ten steps forward", "Time", TIMED),
    Key("follow", "f", "f", "follow", "follow the run: drop the step cursor, take new rows", "Time", RUN),
    Key("pause", "p", "p", "pause", "pause the updates (again: go on)", "Time", RUN),
    Key("last_rows", "L", "L", "narrow", "numbers and curves of the last 200 rows, the last 50, all", "Time",
        RUN, "last rows", ("main", "metric"), rank=47),
    Key("mark.set", "m", "m", "mark", "mark this step", "Time", TIMED),
    Key("mark.go", "apostrophe", "'", "to_mark", "go to the marked step", "Time", TIMED),
    # look
    Key("sort.next", "greater_than_sign", ">", "sort(1)", "all metrics, rollouts: sort by the next column", "Look",
        ("main", "rollouts"), "sort", ("rollouts",), "> <", 38),
    Key("sort.previous", "less_than_sign", "<", "sort(-1)", "all metrics, rollouts: sort by the column before", "Look",
        ("main", "rollouts")),
    Key("sort.reverse", "backslash", "\\", "reverse", "all metrics, rollouts: reverse the order", "Look",
        ("main", "rollouts")),
    Key("pin", "space", "Space", "pin", "pin the metric to the overview (again: unpin)", "Look", ("main", "metric"),
        "pin", ("metric",), rank=44),
    Key("select", "space", "Space", "select", "select for the comparison, or two in it for their configs", "Look",
        ("compare", "picker"), "select", ("compare", "picker"), rank=12),
    Key("axis", "x", "x", "axis", "x axis: step, time, tokens (on the front: the cost)", "Look", ("metric", "compare"),
        "axis", ("metric", "compare"), rank=33),
    Key("overlay", "o", "o", "overlay", "overlay the next related metric", "Look", ("metric",), "overlay", ("metric",),
        rank=34),
    Key("smooth.more", "plus,equals_sign", "+", "smooth(1)", "more smoothing", "Look", ("metric",),
        "smooth", ("metric",), "+ -", 35),
    Key("smooth.less", "minus", "-", "smooth(-1)", "less smoothing", "Look", ("metric",)),
    Key("smooth.usual", "0", "0", "smooth(0)", "the usual smoothing", "Look", ("metric",)),
    Key("scale", "y", "y", "scale", "scale: linear, logarithmic, robust range", "Look", ("metric",),
        "scale", ("metric",), rank=32),
    Key("theme", "T", "T", "theme", "next theme", "Look"),
    Key("mouse", "f2", "F2", "mouse", "mouse on or off (starts off over ssh)", "Look"),
    Key("sparing", "B", "B", "sparing", "bandwidth mode: new values only every 10 s", "Look"),
    Key("plain", "ctrl+l", "^l", "plain", "the screen as plain text for selecting (Enter: back)", "Look", RUN),
    Key("copy", "Y", "Y", "copy", "copy by OSC 52, and to a file whose path is shown", "Look"),
    # screens
    Key("runs", "r", "r", "runs", "runs found: open another", "Screens", RUN),
    Key("compare", "c", "c", "compare", "compare with the runs beside it (a metric: their band, then each)",
        "Screens", (*RUN, "compare", "picker"), "compare", ("main", "config", "picker", "metric"), rank=37),
    Key("decision", "D", "D", "show('decision')", "go on or stop: KL and reward, gain against cost, checkpoints",
        "Screens", RUN, "decision", ("main",), rank=60),
    Key("digest", "d", "d", "show('digest')", "while you were away: what happened since the last look", "Screens", RUN),
    Key("moves", "M", "M", "show('first_movers')", "what moved first: around the step cursor, else the worst onset",
        "Screens", RUN, "moved first", ("finding",), rank=44),
    Key("knowledge", "K", "K", "knowledge", "what the selected rule or metric means, and why",
        "Screens", ("main", "finding"), "why this rule", ("finding",), rank=45),
    Key("meaning", "K", "K", "knowledge", "what it means, its healthy course, its rules",
        "Screens", ("metric", "values", "first_movers", "phases"), "meaning",
        ("metric", "values", "first_movers"), rank=43),
    Key("config", "i", "i", "show('config')", "run and resolved config", "Screens", RUN,
        "config", ("main", "finding"), rank=50),
    Key("config.difference", "I", "I", "difference", "its config beside that of the best run around it",
        "Screens", RUN, "config difference", ("config",), rank=36),
    Key("pipeline", "P", "P", "show('pipeline')", "the five pipeline stages", "Screens", RUN,
        "pipeline", ("main",), rank=61),
    Key("coverage", "C", "C", "show('coverage')", "what is not logged, and how to log it", "Screens", RUN,
        "coverage", ("main", "pipeline"), rank=62),
    Key("palette", "colon,ctrl+p", ":", "app.command_palette", "commands", "Screens", footer="commands",
        footer_on=RUN, rank=58),
    Key("snapshot", "ctrl+s", "^s", "snapshot", "write screen and report as Markdown, and show the path", "Screens",
        footer="snapshot", footer_on=(*RUN, "compare"), rank=25),
    Key("tour", "t", "t", "tour", "the next stop of the guided tour (in rltui demo)", "Screens"),
    Key("help", "question_mark,f1", "?", "help", "keys of this screen", "Screens", footer="help", footer_on=ALL,
        rank=99),
    # out
    Key("escape", "escape,alt+escape", "Esc", "escape", "clear filter, unzoom, back, to the list of runs", "Out",
        footer="back", footer_on=ALL[1:-1], rank=90),
    Key("back", "q", "q", "back", "back, or quit on the first screen", "Out", footer="quit",
        footer_on=("picker",), rank=90),
    Key("quit", "Q,ctrl+q", "Q", "app.quit", "quit", "Out"),
    Key("interrupt", "ctrl+c", "^c", "interrupt", "press twice to quit", "Out"),
    Key("suspend", "ctrl+z", "^z", "app.suspend_process", "suspend (fg: back)", "Out"),
)  # fmt: skip
GROUPS = ("Move", "Panes", "Find", "Time", "Look", "Screens", "Out")


_in_force = KEYS


def adopt(own: Settings) -> None:
    """Uses the table with the user's own keys from now on. Raises `SettingsError`."""
    global _in_force
    _in_force = remapped(own)


def remapped(own: Settings) -> tuple[Key, ...]:
    """The table with the user's own keys. Raises `SettingsError` for an unknown id, an unknown key, and a key with two
    meanings on one screen."""
    ids = [key.id for key in KEYS]
    changed: dict[str, Key] = {}
    for id, words in own.keys.items():
        if id not in ids:
            raise own.wrong(f"keys.{id}", f"no such key. {near(id, ids, 'rltui config example lists them')}")
        names = [_name(word.strip()) for word in words.split(",") if word.strip()]
        bad = next((word for word, name in zip(words.split(","), names, strict=False) if name is None), None)
        if not names or bad is not None:
            raise own.wrong(
                f"keys.{id}", f"{bad or words!r} is no key. Keys are written as in 'x', 'ctrl+x', 'f5', 'slash'"
            )
        known = [name for name in names if name is not None]
        key = next(key for key in KEYS if key.id == id)
        changed[id] = replace(key, keys=",".join(known), shown=" ".join(_shown(name) for name in known))
    if not changed:
        return KEYS
    table = [changed.get(key.id, key) for key in KEYS]
    for i, key in enumerate(table):  # the footer shows both keys of a pair as they are now
        if " " in key.footer_shown and (key.id in changed or table[i + 1].id in changed):
            both = (key, table[i + 1])
            table[i] = replace(key, footer_shown=" ".join(k.shown.split()[0] for k in both))
    for screen in ALL:
        owner: dict[str, str] = {}
        for key in table:
            for name in key.keys.split(",") if screen in key.where else ():
                if name in owner and {key.id, owner[name]} & changed.keys():
                    mine, other = (key.id, owner[name]) if key.id in changed else (owner[name], key.id)
                    raise own.wrong(f"keys.{mine}", f"{_shown(name)} is the key of {other} on {screen} too")
                owner[name] = key.id
    return tuple(table)


@cache
def _names() -> frozenset[str]:
    """The names of keys that are not single characters, without ctrl+, alt+ and shift+ in front."""
    from textual.keys import Keys

    return frozenset(key.value.rsplit("+", 1)[-1] for key in Keys) | {key_of(chr(code)) for code in range(33, 127)}


def _name(word: str) -> str | None:
    """Textual's name of a key that is written as a character or as that name. None if there is no such key."""
    if len(word) == 1:
        return key_of(word)
    *modifiers, last = word.split("+")
    known = last in _names() or (len(last) == 1 and last.isprintable())
    return word if known and all(m in ("ctrl", "alt", "shift") for m in modifiers) else None


def _shown(name: str) -> str:
    """A key as people read it: `^g`, `,`, `F7`."""
    return format_key(name).replace("ctrl+", "^")


def on(screen: str) -> list[Key]:
    """The keys that work on a screen, in the order of the table."""
    return [key for key in _in_force if screen in key.where]


def bindings(screen: str) -> list[Binding]:
    """Textual's bindings of a screen."""
    return [
        Binding(key.keys, key.action, key.footer or key.tooltip, show=False, tooltip=key.tooltip, id=key.id)
        for key in on(screen)
    ]


def shown(id: str) -> str:
    """The key with this id as people read it, according to the user's settings."""
    return next(key.shown for key in _in_force if key.id == id)


def footer(screen: str, idle: Collection[str] = ()) -> list[tuple[str, str]]:
    """(key, what it does) for the footer of a screen, most useful first. `idle`: ids of keys without effect now."""
    there = (key for key in _in_force if screen in key.footer_on and key.id not in idle)
    shown = sorted(there, key=lambda key: key.rank)
    return [(key.footer_shown or key.shown, key.footer) for key in shown]


def help_table(screen: str) -> list[tuple[str, list[Key]]]:
    """(group, its keys) for a screen."""
    keys = on(screen)
    grouped = [(group, [key for key in keys if key.group == group]) for group in GROUPS]
    return [(group, members) for group, members in grouped if members]


def markdown_table(keys: Iterable[Key] = KEYS) -> str:
    """The table of all keys for the manual."""
    lines = ["| key | does | where |", "|---|---|---|"]
    for key in keys:
        where = "everywhere" if key.where == ALL else ", ".join(key.where)
        shown = " ".join(f"`{part}`" for part in key.shown.split()).replace("|", "\\|")
        lines.append(f"| {shown} | {key.tooltip} | {where} |".replace("| OR", "\\| OR"))
    return "\n".join(lines) + "\n"
