"""`rltui [RUN]` and `rltui demo`: the screen; without a terminal, the report or the list of runs."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from rltui import __version__
from rltui.cli import COMMANDS
from rltui.cli.arguments import (
    WHERE,
    Stop,
    command_parser,
    locate_runs,
    named_hosts,
    parsed_map,
    reading_options,
    use_lines,
)
from rltui.tui import SMALLEST

NO_CURSOR = ("", "dumb", "unknown")
"""Values of TERM of terminals that only print lines."""


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui",
        "Is this RL post-training run healthy, what is wrong, since which step, and what to do? Without a command it "
        "opens the screen on RUN. If there are several runs, you pick one.",
        WHERE,
        listed="\n\ncommands (rltui COMMAND --help says more):\n"
        + "\n".join(f"  {name:10}{does}" for name, (_, does) in COMMANDS.items()),
    )
    parser.add_argument("run", nargs="*", metavar="RUN", help="default: whatever is found below this directory")
    parser.add_argument("--version", action="version", version=f"rltui {__version__}")
    parser.add_argument("--theme", metavar="NAME", help="dark, light, ansi-16, mono, or your own file")
    parser.add_argument(
        "--glyphs",
        choices=("block", "braille", "ascii"),
        help="what curves are drawn with (default: by locale and terminal)",
    )
    parser.add_argument("--mouse", action="store_true", default=None, help="use the mouse, also over ssh")
    parser.add_argument(
        "--replay", action="store_true", help="play a run again, with the diagnosis as it stood at each step"
    )
    parser.add_argument("--speed", type=float, metavar="X", help="steps a second of --replay (default: 10)")
    reading_options(parser)
    args = parser.parse_args(words)
    if args.speed is not None and not (args.replay and 0 < args.speed < 1e6):
        raise Stop("--speed needs --replay and a number of steps a second above 0")
    if args.run:
        _no_command(args.run[0])
    if (why := _no_screen()) is None:
        return open_screen(args.run, args)
    if why:
        print(f"rltui: {why}, so this is the report and no screen", file=sys.stderr)
    if args.run:
        from rltui.cli.report import print_reports

        return print_reports(locate_runs(args.run, args.format_in, args.line), args)
    from rltui.cli import runs

    return runs.run([])


def _no_command(word: str) -> None:
    """Raises Stop if a word is not a file but is nearly the name of a command."""
    if os.path.exists(word) or ":" in word or os.sep in word or word == "-":
        return
    from rltui.settings.parse import nearest

    if close := nearest(word, COMMANDS, 0.7):
        raise Stop(f"{word}: no such file or directory, and no command: did you mean rltui {close}?")


def _no_screen() -> str | None:
    """Why the terminal cannot hold a screen. None if it can, empty if there is no terminal."""
    if not sys.stdout.isatty():
        return ""
    if os.environ.get("TERM", "") in NO_CURSOR:
        return f"TERM is {os.environ.get('TERM') or 'not set'}, a terminal that cannot move its cursor"
    width, height = shutil.get_terminal_size()
    if 0 < width < SMALLEST[0] or 0 < height < SMALLEST[1]:
        return f"the terminal has {width}x{height} cells and the screen needs {SMALLEST[0]}x{SMALLEST[1]}"
    return None


def open_screen(targets: list[str], args: argparse.Namespace | None, toured: bool = False) -> int:
    """Opens the screen on these targets; `args` are the options of `rltui`, None if there are none. `toured`: with the
    guided tour."""
    from rltui import settings
    from rltui.tui.start import start

    own = settings.load()
    if own.rules:
        from rltui.rules.catalogue import adjusted

        adjusted(own)  # so that a wrong setting is reported before the screen opens
    if own.aliases:
        from rltui.run.names import own_aliases

        own_aliases(own)
    use_lines(args.line if args else ())
    return start(
        named_hosts(targets),
        key_map=parsed_map(args.map) if args else {},
        format_in=args.format_in if args else None,
        theme=args.theme if args else None,
        glyphs=args.glyphs if args else None,
        mouse=args.mouse if args else None,
        replay=(args.speed or 10.0) if args and args.replay else None,
        toured=toured,
    )


def demo(words: list[str]) -> int:
    """`rltui demo`: the sample runs, on the screen or in a list."""
    parser = command_parser(
        "rltui demo",
        "Opens the sample runs that ship with rltui: healthy and sick ones, in the formats of real trainers.",
    )
    parser.parse_args(words)
    root = sample_runs()
    if _no_screen() is None:
        return open_screen([root], None, toured=True)
    from rltui.cli import runs

    return runs.run([root])


def sample_runs() -> str:
    """Directory of the shipped sample runs: inside the installed package, or beside it in a checkout."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for path in (os.path.join(here, "_sample_runs"), os.path.join(os.path.dirname(here), "sample_runs")):
        if os.path.isdir(path):
            return path
    raise Stop("this installation has no sample runs. Install rltui again")
