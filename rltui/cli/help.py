"""`rltui help`: the pages of the manual; those that are tables elsewhere are made from them."""

from __future__ import annotations

from collections.abc import Callable

from rltui.cli.arguments import Stop, command_parser, write
from rltui.manual import page, topics


def run(words: list[str]) -> int:
    parser = command_parser("rltui help", "Prints a page of the manual. Without a topic: the list of pages.")
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="the name of a page, or of a command")
    topic = parser.parse_args(words).topic
    if topic is None:
        write(_contents(), None)
        return 0
    from rltui.cli import COMMANDS, main

    if topic in MADE:
        write(MADE[topic][1](), None)
    elif topic in topics():
        write(page(topic), None)
    elif topic in COMMANDS:
        main([topic, "--help"])
    else:
        from difflib import get_close_matches

        near = get_close_matches(topic, [*MADE, *topics(), *COMMANDS], 3)
        hint = f" (near: {', '.join(near)})" if near else ""
        raise Stop(f"help {topic}: no such page{hint} (`rltui help` lists them)")
    return 0


def _contents() -> str:
    from rltui.cli import COMMANDS

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
