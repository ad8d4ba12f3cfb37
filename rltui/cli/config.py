"""`rltui config`: the user's settings."""

from __future__ import annotations

from rltui.cli.arguments import command_parser, write


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui config", "The user's settings: where they are, what they change, whether they are valid."
    )
    parser.add_argument("what", nargs="?", choices=("path", "show", "check"), default="show")
    args = parser.parse_args(words)
    from rltui.report.settings_text import checked, shown
    from rltui.settings import path

    write({"path": path, "show": shown, "check": checked}[args.what](), None)
    return 0
