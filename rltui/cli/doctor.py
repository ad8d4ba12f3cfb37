"""`rltui doctor`: what works on this machine."""

from __future__ import annotations

from rltui.cli.arguments import command_parser, write


def run(words: list[str]) -> int:
    parser = command_parser("rltui doctor", "Says what works here: terminal, NVML, optional parts.")
    parser.parse_args(words)
    from rltui.doctor import checks, render

    write(render(checks()), None)
    return 0
