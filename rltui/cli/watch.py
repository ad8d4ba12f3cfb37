"""`rltui watch`: follows runs without a screen."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from rltui.cli.arguments import (
    ENDS_OF_CHECKS,
    WHERE,
    Stop,
    command_parser,
    fail_option,
    locate_runs,
    parsed_map,
    reading_options,
)

if TYPE_CHECKING:
    from rltui.discovery.found import Found

LOOK_EVERY_S = 2.0
"""With --wait, seconds between two searches for the runs."""

KINDS = (
    *("summary", "resumed", "opened", "worse", "better", "resolved", "stall", "recovery"),
    *("restart", "end", "met", "heartbeat"),
)


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui watch",
        "Follows runs without a screen and prints a line for each event: a finding that opens or is resolved, a stall, "
        "a restart, the end.",
        WHERE,
        ENDS_OF_CHECKS,
    )
    parser.add_argument("run", nargs="+", metavar="RUN", help="where the runs are, see below")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="default: text. json prints one object a line"
    )
    parser.add_argument(
        "--until",
        choices=("continue-watch", "stop", "end"),
        default="end",
        help="when the watch ends. end (the default): each run has finished or crashed. stop: also if a verdict is "
        "stop-use-best, pause-and-fix or abort-now. continue-watch: also if a verdict is one of these or "
        "continue-watch",
    )
    parser.add_argument(
        "--until-rows",
        type=int,
        default=5,
        metavar="N",
        help="the verdict of --until has to last for N rows (default: 5), or the run has to be over. One that only "
        "blames the grader does not count",
    )
    parser.add_argument("--until-minutes", type=float, default=1.0, metavar="M", help="and for M minutes (default: 1)")
    fail_option(parser, "critical")
    parser.add_argument(
        "--exec",
        metavar="CMD",
        help="run CMD, without a shell, at each event except summary, resumed, heartbeat and those of the grader "
        "alone. It gets the event as JSON on its standard input and as RLTUI_* variables",
    )
    parser.add_argument(
        "--exec-on",
        metavar="KIND,...",
        help=f"run CMD at these events only: {', '.join(KINDS)}. met: the verdict that --until waits for",
    )
    parser.add_argument(
        "--notify",
        action="append",
        default=[],
        metavar="osc|webhook[:URL]",
        help="send critical findings, stalls and the end. osc: your terminal shows them. webhook: they are posted as "
        "JSON to URL, or to that of your settings (rltui config example)",
    )
    parser.add_argument(
        "--append", metavar="FILE", help="at each event append a short entry with date and verdict to FILE"
    )
    parser.add_argument(
        "--heartbeat", type=float, metavar="N", help="print a line every N seconds that the watch is alive"
    )
    parser.add_argument("--timeout", type=float, metavar="S", help="end after S seconds")
    parser.add_argument("--wait", type=float, metavar="S", help="wait S seconds for a run that is not there yet")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="tell everything from the start (without it, a watch that is started again goes on where it stopped)",
    )
    reading_options(parser)
    args = parser.parse_args(words)
    for name in ("timeout", "heartbeat", "wait"):
        if (seconds := getattr(args, name)) is not None and not seconds > 0:
            raise Stop(f"--{name} needs a number of seconds above 0")
    for name in ("until_rows", "until_minutes"):
        if not getattr(args, name) >= 0:
            raise Stop(f"--{name.replace('_', '-')} needs a number, 0 or more")
    exec_on = tuple(word for word in (args.exec_on or "").split(",") if word)
    if unknown := [word for word in exec_on if word not in KINDS]:
        raise Stop(f"--exec-on {unknown[0]}: no such kind. Kinds are {', '.join(KINDS)}")
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
    """The runs, as soon as there are any. Raises Stop if none appear in time."""
    ends = time.monotonic() + wait_s
    while True:
        try:
            return locate_runs(targets, format_in, lines)
        except Stop as none:
            left = ends - time.monotonic()
            if left <= 0 and wait_s:
                raise
            if left <= 0:
                raise Stop(f"{none}. --wait SECONDS waits for a run that is not there yet") from None
            time.sleep(min(LOOK_EVERY_S, left))


def _targets(words: list[str]) -> tuple[str, ...]:
    """Where --notify sends events: "osc" and addresses. An address is a secret, so no error shows it."""
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
                raise Stop(
                    f"--notify osc: there is no terminal to notify ({error.strerror}). Use webhook:URL"
                ) from None
            targets.append(word)
        elif kind == "webhook":
            if not url and not own.watch.webhook:
                raise Stop("--notify webhook: name the address, or set watch.webhook in your settings")
            try:
                targets.append(checked_address(url or own.watch.webhook))
            except ValueError as error:
                raise Stop(f"--notify {error}") from None
        else:
            raise Stop(f"--notify {kind}: use osc or webhook:URL")
    return tuple(dict.fromkeys(targets))
