"""`rltui runs`: the runs below directories, here and on other machines."""

from __future__ import annotations

import os
import sys
import time

from rltui.cli.arguments import WHERE, Stop, command_parser, lines_option, locate_runs, use_lines, write
from rltui.cli.crash import CODE
from rltui.text import shown

NOTHING = """No training run found below {}.
Name the log file or the run's directory: rltui PATH. To see how it looks: rltui demo
"""


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui runs",
        "Lists the runs below directories: state, step, age of the last step, primary metric, faults at the ends of "
        "their logs. Those that need attention come first.",
        "\n".join(
            line for line in WHERE.replace("RUN can be", "DIR can be").splitlines() if "standard input" not in line
        ),
    )
    parser.add_argument(
        "dir", nargs="*", default=["."], metavar="DIR", help="where to look, see below (default: this directory)"
    )
    lines_option(parser)
    parser.add_argument(
        "--full", action="store_true", help="read whole logs: the verdict that `report` gives, but slower"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    args = parser.parse_args(words)
    from rltui.cli.arguments import Progress
    from rltui.compare.runs import from_ends, from_whole, numbered, ranked, to_json, to_text
    from rltui.discovery.found import NotARun, NotListed
    from rltui.session.locate import runs_at
    from rltui.sources.local import LocalPlace

    use_lines(args.line)
    found, unread = [], list[str]()
    for target in args.dir:
        if os.path.isdir(target):
            with Progress() as progress:
                try:
                    found += runs_at(target, LocalPlace(), None, progress.looked, unread.append)
                except NotListed as problem:
                    raise Stop(str(problem)) from None
                except NotARun:
                    pass  # no run below this directory
        elif ":" in target:
            found += locate_runs([target], None, args.line)
        else:
            raise Stop(f"{target}: no such directory")
    for text in unread:
        print(f"rltui: {shown(text)}", file=sys.stderr)
    listed = ranked(numbered(list(from_whole(found) if args.full else from_ends(found))))
    if args.format == "json":
        write(to_json(listed), None)
    elif listed:
        write(to_text(listed, time.time()), None)
    else:
        write(NOTHING.format(", ".join(map(os.path.abspath, args.dir))), None)
    for row in listed:
        if row.fault:
            print(f"rltui: {shown(row.name)}: not read, by a fault of rltui: {shown(row.fault)}", file=sys.stderr)
    return CODE if any(row.fault for row in listed) else 0
