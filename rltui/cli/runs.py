"""`rltui runs`: what lies below a directory."""

from __future__ import annotations

import os

from rltui.cli.arguments import Stop, command_parser, locate_runs, write


def run(words: list[str]) -> int:
    parser = command_parser("rltui runs", "Lists the runs below a directory with state, step and verdict.")
    parser.add_argument("dir", nargs="?", default=".", metavar="DIR")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    args = parser.parse_args(words)
    from rltui.report.runs_table import rows, to_json, to_text
    from rltui.session.locate import discover

    if os.path.isdir(args.dir):
        found = discover(args.dir)
    elif ":" in args.dir:
        found = locate_runs([args.dir], None)
    else:
        raise Stop(f"{args.dir}: no such directory")
    listed = rows(found)
    write(to_json(listed) if args.format == "json" else to_text(listed, args.dir), None)
    return 0
