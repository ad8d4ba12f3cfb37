"""`rltui demo`: the sample runs."""

from __future__ import annotations

import os
import sys

from rltui.cli.arguments import Stop, command_parser


def run(words: list[str]) -> int:
    parser = command_parser("rltui demo", "Opens the sample runs that ship with rltui.")
    parser.parse_args(words)
    root = sample_runs()
    if sys.stdout.isatty():
        from rltui.cli.screen import open_screen

        return open_screen([root], None)
    from rltui.cli import runs

    return runs.run([root])


def sample_runs() -> str:
    """Directory of the shipped sample runs: inside the installed package, beside it in a checkout."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for path in (os.path.join(here, "_sample_runs"), os.path.join(os.path.dirname(here), "sample_runs")):
        if os.path.isdir(path):
            return path
    raise Stop("the sample runs are not part of this installation. Install rltui anew")
