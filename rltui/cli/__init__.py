"""The command line. A command is a function of a module; everything heavy is imported by the command that needs it."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from importlib import import_module

from rltui import environment
from rltui.cli.arguments import Stop
from rltui.settings import SettingsError

COMMANDS = {
    "demo": ("screen.demo", "open the sample runs that ship with rltui"),
    "runs": ("runs.run", "list the runs below a directory, those that need attention first"),
    "report": ("report.run", "read a run to its end and print the diagnosis (Markdown or JSON)"),
    "watch": ("watch.run", "follow runs without a screen: a line, a hook or a message for each event"),
    "compare": ("compare.run", "set runs side by side: which are good, and with which settings"),
    "rollouts": ("rollouts.run", "show what the policy wrote at a step"),
    "export": ("export.run", "write the metrics as CSV, Parquet or JSONL"),
    "verify": ("verify.run", "check the arithmetic of a training pipeline"),
    "explain": ("about.explain", "say what a finding means, what it looks at and how often it is right"),
    "config": ("about.config", "show, check or start your settings"),
    "doctor": ("about.doctor", "say what works on this machine"),
    "help": ("about.manual", "print a page of the manual, or list the pages"),
}
"""The module and function of each command, and what it does. If the first word names no command, the screen opens."""
COLLECT_AFTER = 20_000
"""Objects made and not yet freed before the garbage collector runs. Start-up makes thousands that stay (classes,
compiled patterns). At Python's 700 it would run a hundred times before the screen shows, and free nothing."""

OVERFLOW = r"(overflow|invalid value) encountered"
"""numpy's warning about a sum that overflows, as in a log with huge values. It is not shown: the code checks whether
the sum is finite, and the report says what is not known."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit code: 0 done, 1 a finding as severe as --fail-on is open (verify: something is
    wrong), 2 wrong usage, 3 a crash of rltui, 130 Ctrl+C."""
    environment.use_one_thread()
    gc.set_threshold(COLLECT_AFTER)
    warnings.filterwarnings("ignore", OVERFLOW, RuntimeWarning)
    words = list(sys.argv[1:] if argv is None else argv)
    words = ["--version"] if words == ["version"] else words
    place, rest = (COMMANDS[words[0]][0], words[1:]) if words and words[0] in COMMANDS else ("screen.run", words)
    module, function = place.split(".")
    threading.excepthook = _died
    try:
        code: int = getattr(import_module(f"rltui.cli.{module}"), function)(rest)
        return code
    except (Stop, SettingsError) as stop:
        from rltui.text import shown

        print(f"rltui: {shown(str(stop))}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        from rltui.cli import crash

        return crash.tell(error)


def _died(args: threading.ExceptHookArgs) -> None:
    """Reports a thread of rltui that failed, like any other crash. The other threads go on."""
    from rltui.cli import crash

    if args.exc_value is not None:
        crash.tell(args.exc_value)
