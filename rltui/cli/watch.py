"""`rltui watch`: follows runs without a screen."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from rltui.cli.arguments import SEVERITIES, Stop, command_parser, locate_runs, parsed_map, reading_options

if TYPE_CHECKING:
    from rltui.discovery.found import Found

LOOK_EVERY_S = 2.0
"""With --wait the runs are looked for this often."""

KINDS = (
    *("summary", "resumed", "opened", "worse", "better", "resolved", "stall", "recovery"),
    *("restart", "end", "met", "heartbeat"),
)


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
        help="when to end: at continue-watch or any worse verdict, at one to stop (stop-use-best, pause-and-fix, "
        "abort-now), or when every run has finished or crashed (the default, which always ends it)",
    )
    parser.add_argument(
        "--until-rows",
        type=int,
        default=5,
        metavar="N",
        help="the verdict of --until must last N rows (default 5), or the run must be over. A verdict for a fault of "
        "the grader alone never counts",
    )
    parser.add_argument(
        "--until-minutes", type=float, default=1.0, metavar="M", help="and M minutes (default 1), whatever the rows are"
    )
    parser.add_argument("--fail-on", choices=tuple(SEVERITIES), default="critical")
    parser.add_argument(
        "--exec",
        metavar="CMD",
        help="run on events, but for faults of the grader (no shell): JSON on its standard input, RLTUI_* set",
    )
    parser.add_argument(
        "--exec-on",
        metavar="KIND,...",
        help=f"run CMD on these only: {', '.join(KINDS)} (met: the verdict is what --until waits for)",
    )
    parser.add_argument(
        "--notify",
        action="append",
        default=[],
        metavar="osc|webhook[:URL]",
        help="tell of critical findings, stalls and the end: by the terminal, or posted as JSON, without URL to that "
        "of your settings (rltui config example)",
    )
    parser.add_argument("--append", metavar="FILE", help="append a check-in entry to this file at each event")
    parser.add_argument("--heartbeat", type=float, metavar="N", help="every N seconds a line that the watch is alive")
    parser.add_argument("--timeout", type=float, metavar="S", help="end after so many seconds")
    parser.add_argument("--wait", type=float, metavar="S", help="wait so long for a run that is not there yet")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="tell everything again (otherwise a watch that is restarted goes on where it was)",
    )
    reading_options(parser)
    args = parser.parse_args(words)
    for name in ("timeout", "heartbeat", "wait"):
        if (seconds := getattr(args, name)) is not None and not seconds > 0:
            raise Stop(f"--{name} wants seconds, more than 0")
    for name in ("until_rows", "until_minutes"):
        if not getattr(args, name) >= 0:
            raise Stop(f"--{name.replace('_', '-')} wants a number, 0 or more")
    exec_on = tuple(word for word in (args.exec_on or "").split(",") if word)
    if unknown := [word for word in exec_on if word not in KINDS]:
        raise Stop(f"--exec-on {unknown[0]}: no such kind. There are {', '.join(KINDS)}")
    found = _wait_for(args.run, args.format_in, args.line, args.wait or 0.0)
    from rltui.settings import load
    from rltui.watch.hooks import Command
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
    told = args.append is not None or bool(command) or bool(args.notify) or not sys.stdout.isatty()
    options = Options(
        as_json=args.format == "json",
        until=args.until,
        until_rows=args.until_rows,
        until_s=60.0 * args.until_minutes,
        fail_on=args.fail_on,
        command=tuple(command),
        exec_on=exec_on,
        append=args.append,
        timeout_s=args.timeout,
        heartbeat_s=args.heartbeat,
        notify=_targets(args.notify),
        keep=told and load().watch.resume,
        fresh=args.fresh,
    )
    return watch(found, options, parsed_map(args.map))


def _wait_for(targets: list[str], format_in: str | None, lines: list[str], wait_s: float) -> list[Found]:
    """The runs, as soon as there are any. Stop where there are none in time."""
    ends = time.monotonic() + wait_s
    while True:
        try:
            return locate_runs(targets, format_in, lines)
        except Stop:
            left = ends - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(LOOK_EVERY_S, left))


def _targets(words: list[str]) -> tuple[str, ...]:
    """Where --notify tells: "osc" and addresses. An address is a secret: no error shows it."""
    from rltui.settings import load
    from rltui.watch.hooks import checked_address

    own = load()
    if words and not own.alerts.enabled:
        print("rltui: --notify: alerts are switched off in your settings (alerts.enabled)", file=sys.stderr)
    targets = []
    for word in words:
        kind, _, url = word.partition(":")
        if word == "osc":
            try:
                os.close(os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY))
            except OSError as error:
                raise Stop(f"--notify osc: no terminal to notify ({error.strerror}). Use webhook:URL") from None
            targets.append(word)
        elif kind == "webhook":
            if not url and not own.watch.webhook:
                raise Stop("--notify webhook: name the address, or set watch.webhook in your settings")
            try:
                targets.append(checked_address(url or own.watch.webhook))
            except ValueError as error:
                raise Stop(f"--notify {error}") from None
        else:
            raise Stop(f"--notify {kind}: wants osc or webhook:URL")
    return tuple(dict.fromkeys(targets))
