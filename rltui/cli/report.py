"""`rltui report`: a run read to its end, as Markdown or JSON."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rltui.cli.arguments import (
    ENDS_OF_CHECKS,
    SEVERITIES,
    WHERE,
    Stop,
    command_parser,
    fail_option,
    locate_runs,
    name_of,
    output_option,
    parsed_map,
    reading_options,
    time_of,
    write,
)
from rltui.prose import capital, counted, joined

if TYPE_CHECKING:
    from rltui.discovery.found import Found
    from rltui.evidence.model import Finding
    from rltui.run.run import Run


def run(words: list[str]) -> int:
    parser = command_parser(
        "rltui report",
        "Reads a run to its end and prints the diagnosis. If a directory holds several runs, add --newest or --all.",
        WHERE,
        ENDS_OF_CHECKS,
    )
    parser.add_argument("run", metavar="RUN", help="where the run is, see below")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown", help="default: markdown")
    parser.add_argument(
        "--at", type=int, metavar="STEP", help="the run as it stood at this step: later rows are not looked at"
    )
    parser.add_argument("--since", type=int, metavar="STEP", help="tables of metrics from this step on")
    parser.add_argument("--last", type=int, metavar="N", help="tables of metrics over the last N rows")
    parser.add_argument("--long", action="store_true", help="also every metric, plot, check and setting (Markdown)")
    parser.add_argument(
        "--window",
        type=int,
        metavar="N",
        help="first, mid and last of a metric are means of N rows (default: a tenth of the run)",
    )
    parser.add_argument(
        "--now",
        metavar="TIME",
        help="take TIME as the present (ISO 8601), so that the report is the same each time",
    )
    parser.add_argument("--append", metavar="FILE", help="also append a short entry with date and verdict to FILE")
    output_option(parser)
    fail_option(parser, "never")
    several = parser.add_mutually_exclusive_group()
    several.add_argument("--all", action="store_true", help="report on all runs that are found (JSON: an array)")
    several.add_argument("--newest", action="store_true", help="if there are several runs, take the one written last")
    reading_options(parser)
    args = parser.parse_args(words)
    for name in ("window", "last"):
        if (rows := getattr(args, name)) is not None and rows < 1:
            raise Stop(f"--{name} needs a number of rows, 1 or more")
    found = locate_runs([args.run], args.format_in, args.line)
    if len(found) > 1 and args.newest:
        found = [max(reversed(found), key=_newest)]  # the runs of one file follow each other
    if len(found) > 1 and not args.all:
        names = "\n".join(f"  {name_of(f, found)}  ({counted(len(f.candidate.files), 'file')})" for f in found[:20])
        more = f"\n  ... and {len(found) - 20} more" if len(found) > 20 else ""
        raise Stop(f"{args.run} holds {len(found)} runs: name one, or use --newest or --all\n{names}{more}")
    return print_reports(found, args)


def print_reports(found: list[Found], args: argparse.Namespace) -> int:
    """Prints a report of each run found. Returns the exit code that --fail-on asks for."""
    from rltui.evidence.guard import error_text
    from rltui.settings import SettingsError

    fmt = getattr(args, "format", "markdown")
    now = time_of(getattr(args, "now", None))
    texts, worst, faults = list[str](), 0, list[Exception]()
    for one in found:
        try:
            text, loud, fault = _report_on(one, args, fmt, now, len(found) == 1)
        except (Stop, SettingsError):
            raise
        except Exception as error:
            if len(found) == 1:
                raise
            print(f"rltui: {one.candidate.id}: left out, by a fault of rltui: {error_text(error)}", file=sys.stderr)
            faults.append(error)
            continue
        texts.append(text)
        worst = max(worst, loud)
        faults += [fault] if fault is not None else []
    if fmt == "json" and getattr(args, "all", False):
        text = "[" + ",\n".join(t.strip() for t in texts) + "]\n"
    else:
        text = "\n".join(texts)
    write(text, getattr(args, "output", None))
    if faults:  # a report without its diagnosis must not exit like a healthy one
        raise faults[0]
    return 1 if worst >= SEVERITIES[getattr(args, "fail_on", "never")] else 0


def _report_on(
    one: Found, args: argparse.Namespace, fmt: str, now: float | None, alone: bool
) -> tuple[str, int, Exception | None]:
    """The report of one run, its worst finding, and why it has no diagnosis. `alone`: no other run was asked for."""
    from rltui.report.build import build
    from rltui.session.run_reader import RunReader
    from rltui.text import shown

    window = getattr(args, "window", None)
    opened = RunReader(one, key_map=parsed_map(args.map), until_step=getattr(args, "at", None), window=window)
    try:
        opened.load()
        if alone:
            _check_readable(opened.run)
            _check_since(opened.run, getattr(args, "since", None))
            if opened.short_of is not None:
                raise Stop(f"--at {args.at}: the run has only reached step {opened.short_of}")
        for text in opened.run.unlogged():
            print(f"rltui: {one.candidate.id}: --map {text}", file=sys.stderr)
        if not opened.run.history.table.n:
            for feed in opened.feeds:
                if feed.hint:
                    print(f"rltui: {feed.path}: no row was read. {capital(shown(feed.hint))}", file=sys.stderr)
        frame = opened.with_insight(opened.frame(now)).narrowed(
            getattr(args, "since", None), getattr(args, "last", None)
        )
        report = build(frame, window=window)
    finally:
        opened.close()
    if fmt == "json":
        from rltui.report.to_json import to_json

        text = to_json(report)
    else:
        from rltui.report.markdown import render

        text = render(report, long=getattr(args, "long", False))
    if getattr(args, "append", None):
        from rltui.report.checkin import append_checkin

        append_checkin(args.append, report)
    halted = SEVERITIES["warning"] if report.run.state == "stalled" else 0  # `watch` warns about it, too
    return text, max([halted, *map(_rank, report.findings)]), opened.fault


def _check_readable(run: Run) -> None:
    """Raises Stop if everything in a run's files was skipped. A run that has not logged a row yet is readable."""
    sources = run.sources
    if any(source.rows or not source.skipped for source in sources) or run.config or run.notes or run.exit:
        return
    whys = joined(
        f"{source.path}: nothing in it reads as {source.format}: {source.note or source.skipped_text()}"
        for source in sources[:3]
    )
    if whys:
        raise Stop(whys)


def _check_since(run: Run, since: int | None) -> None:
    """Raises Stop if the run has no row from step `since` on."""
    newest = run.history.table.head_step
    if since is not None and newest is not None and newest < since:
        raise Stop(f"--since {since}: the run has only reached step {newest}")


def _newest(found: Found) -> float:
    return max((f.mtime for f in found.files), default=0.0)


def _rank(finding: Finding) -> int:
    from rltui.evidence.model import SEVERITY_RANK

    return SEVERITY_RANK[finding.severity] if finding.status == "active" else 0
