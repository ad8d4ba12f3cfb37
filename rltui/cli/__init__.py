"""The command line. Each command is a module; everything heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from rltui.cli.arguments import Stop
from rltui.settings import SettingsError

COMMANDS = ("report", "watch", "compare", "runs", "rollouts", "verify", "explain", "config", "doctor", "demo")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    name, rest = (words[0], words[1:]) if words and words[0] in COMMANDS else ("screen", words)
    try:
        code: int = import_module(f"rltui.cli.{name}").run(rest)
        return code
    except (Stop, SettingsError) as stop:
        print(f"rltui: {stop}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
