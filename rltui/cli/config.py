"""`rltui config`: the user's settings."""

from __future__ import annotations

from rltui.cli.arguments import command_parser, write


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui config", "The user's settings: where they are, what they change, whether they are valid."
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("path", "show", "check", "example"),
        default="show",
        help="example: a commented file with every key and its default",
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
    """What only the screen knows: its keys and themes. Raises `SettingsError`."""
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
