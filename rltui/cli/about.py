"""The commands about rltui itself: the manual, the rules, the user's settings, and what works on this
machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rltui.cli.arguments import WHERE, Stop, command_parser, locate_runs, report_of, write

if TYPE_CHECKING:
    from rltui.doctor import InstallCheck


def explain(words: list[str]) -> int:
    """`rltui explain`: one rule, page or metric of the catalogue."""
    parser = command_parser(
        "rltui explain", "Says what a finding, a page of knowledge or a metric means. Without ID it lists them."
    )
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="a finding as in entropy-collapse, a page, or a metric as in kl_ref"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    args = parser.parse_args(words)
    from rltui.report.explain import as_json, as_text, nearest

    explained = as_json(args.id) if args.format == "json" else as_text(args.id)
    if explained is None:
        from rltui.rules.catalogue import unread_pages

        near = nearest(args.id)[:3]
        unread = "".join(f". {page}: {why}" for page, why in unread_pages().items())
        hint = f". Did you mean {' or '.join(near)}?" if near else ""
        raise Stop(f"explain {args.id}: no such rule, page or metric{hint}{unread}")
    write(explained, None)
    return 0


def config(words: list[str]) -> int:
    """`rltui config`: the user's settings."""
    parser = command_parser("rltui config", "Shows your settings, checks them, or prints a file to start from.")
    parser.add_argument(
        "what",
        nargs="?",
        choices=("path", "show", "check", "example"),
        default="show",
        help="path tells where they are, show (the default) what they change, check whether they are valid. example "
        "prints a file to start from, with every key and its default",
    )
    args = parser.parse_args(words)
    from rltui.report.settings_text import checked, example, shown
    from rltui.settings import path

    if args.what == "check":
        _check_screen()
    if args.what == "example":
        from rltui.tui.keys import KEYS

        write(example({key.id: (key.keys, key.tooltip) for key in KEYS}), None)
        return 0
    write({"path": path, "show": shown, "check": checked}[args.what](), None)
    return 0


def _check_screen() -> None:
    """Checks the settings that only the screen knows: keys and themes. Raises `SettingsError`."""
    from rltui.settings import load
    from rltui.tui.keys import remapped
    from rltui.tui.theme import load_theme

    own = load()
    remapped(own)
    if own.screen.theme is not None:
        try:
            load_theme(own.screen.theme)
        except ValueError as problem:
            raise own.wrong("screen.theme", str(problem)) from None


def doctor(words: list[str]) -> int:
    """`rltui doctor`: what works on this machine, or on a run."""
    parser = command_parser(
        "rltui doctor",
        "Says what works here: terminal, NVML, optional parts. With RUN: what works on that run.",
        WHERE,
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help="which of its files were read, and which checks failed")
    run = parser.parse_args(words).run
    from rltui.doctor import checks, render

    write(render(checks() if run is None else _of_run(run)), None)
    return 0


def _of_run(run: str) -> list[InstallCheck]:
    """Each file of a run with its reader and what was not read of it, then the checks that failed."""
    from rltui.doctor import DEGRADED, OFF, OK, InstallCheck
    from rltui.prose import joined

    out = []
    for found in locate_runs([run], None):
        report = report_of(found)
        for source in report.run.sources:
            status = OFF if not source.used else DEGRADED if source.skipped else OK
            out.append(InstallCheck(source.path, status, joined([f"{source.format}, {source.rows} rows", source.note])))
        out += [InstallCheck(failed.rule, OFF, f"check failed: {failed.error}") for failed in report.checks_failed]
        checks = f"{report.checks} ran, {len(report.not_evaluable)} could not"
        out.append(InstallCheck("checks", DEGRADED if report.checks_failed else OK, checks))
    return out


def manual(words: list[str]) -> int:
    """`rltui help`: the pages of the manual. Some are written as Markdown, others are made from tables (`MADE`)."""
    parser = command_parser("rltui help", "Prints a page of the manual. Without TOPIC it lists the pages.")
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="the name of a page, or of a command")
    topic = parser.parse_args(words).topic
    if topic is None:
        write(_contents(), None)
        return 0
    from rltui.cli import COMMANDS, main
    from rltui.manual import page, topics

    if topic in MADE:
        write(MADE[topic][1](), None)
    elif topic in topics():
        write(page(topic), None)
    elif topic in COMMANDS:
        main([topic, "--help"])
    else:
        from difflib import get_close_matches

        near = get_close_matches(topic, [*MADE, *topics(), *COMMANDS], 3, 0.7)
        hint = f". Did you mean {' or '.join(near)}?" if near else ""
        raise Stop(f"help {topic}: no such page{hint or '. `rltui help` lists them'}")
    return 0


def _contents() -> str:
    from rltui.cli import COMMANDS
    from rltui.manual import topics

    titles = {**topics(), **{topic: title for topic, (title, _) in MADE.items()}}
    width = max(map(len, titles))
    pages = "\n".join(f"  {topic:<{width}}  {titles[topic]}" for topic in sorted(titles))
    return (
        f"rltui help TOPIC prints a page:\n\n{pages}\n\n"
        f"rltui help COMMAND prints its options: {', '.join(COMMANDS)}.\n"
        "rltui explain prints what a rule looks at, and the pages behind the rules.\n"
    )


def _keys() -> str:
    from rltui.tui.keys import markdown_table

    return f"# Keys of the screen\n\n{markdown_table()}"


def _frameworks() -> str:
    from rltui.frameworks.support import markdown_table

    return f"# Frameworks, and what is read of each\n\n{markdown_table()}"


def _glossary() -> str:
    from rltui.manual.glossary import as_page

    return as_page()


MADE: dict[str, tuple[str, Callable[[], str]]] = {
    "keys": ("Keys of the screen", _keys),
    "frameworks": ("Frameworks, and what is read of each", _frameworks),
    "glossary": ("The words of rltui", _glossary),
}
"""Topic -> title, and how its page is made from its table."""
