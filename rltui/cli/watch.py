"""`rltui watch`: follows runs without a screen."""

from __future__ import annotations

from rltui.cli.arguments import SEVERITIES, Stop, command_parser, locate_runs, parsed_map, reading_options


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui watch", "Follows runs without a screen and prints a line for each thing that happens."
    )
    parser.add_argument("run", nargs="+", metavar="RUN")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json: one object a line")
    parser.add_argument(
        "--until",
        choices=("continue-watch", "stop", "end"),
        default="end",
        help="end when a run's verdict is continue-watch or worse; stop-use-best, pause-and-fix or abort-now; "
        "or (default) when every run has finished or crashed, which always ends it",
    )
    parser.add_argument("--fail-on", choices=tuple(SEVERITIES), default="critical")
    parser.add_argument(
        "--exec", metavar="CMD", help="run on each event (no shell): JSON on its standard input, RLTUI_* set"
    )
    parser.add_argument("--append", metavar="FILE", help="append a check-in entry to this file at each event")
    parser.add_argument("--timeout", type=float, metavar="S", help="end after so many seconds")
    reading_options(parser)
    args = parser.parse_args(words)
    if args.timeout is not None and not args.timeout > 0:
        raise Stop("--timeout wants seconds, more than 0")
    found = locate_runs(args.run, args.format_in)
    from rltui.watch.command import Command
    from rltui.watch.loop import Options, watch

    try:
        command = Command.words(args.exec) if args.exec is not None else []
    except ValueError as error:
        raise Stop(f"--exec {error}") from None
    if args.append is not None:
        try:
            open(args.append, "ab").close()
        except OSError as error:
            raise Stop(f"--append {args.append}: cannot be written ({error.strerror})") from None
    options = Options(args.format == "json", args.until, args.fail_on, tuple(command), args.append, args.timeout)
    return watch(found, options, parsed_map(args.map))
