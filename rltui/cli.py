"""The command line. Parses, calls, prints; everything heavy is imported by the command that needs it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rltui import __version__
from rltui.settings import SettingsError

if TYPE_CHECKING:
    from rltui.diagnosis.model import Finding
    from rltui.session.locate import Found

EPILOG = """\
RUN is a file, a directory, a glob, DATABASE#RUN, or - for standard input (train.py | rltui -);
on another machine host:path or ssh://[user@]host[:port]/path; slurm:[JOBID] for your jobs.
A directory that holds several runs opens the picker; `report` then wants --newest or --all.
Exit codes: 0 done, 1 a finding at or above --fail-on, 2 wrong usage or nothing readable at the path."""

SEVERITIES = {"never": 3, "critical": 2, "warning": 1}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    commands = {
        "report": _report,
        "watch": _watch,
        "compare": _compare,
        "runs": _runs,
        "rollouts": _rollouts,
        "verify": _verify,
        "explain": _explain,
        "config": _config,
        "doctor": _doctor,
        "demo": _demo,
    }
    try:
        if words and words[0] in commands:
            return commands[words[0]](words[1:])
        return _screen(words)
    except (_Stop, SettingsError) as stop:
        print(f"rltui: {stop}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


class _Stop(Exception):  # noqa: N818
    """Ends the command with one line on stderr and exit code 2."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise _Stop(f"{message} (see {self.prog} --help)")


def _parser(prog: str, description: str) -> _Parser:
    return _Parser(
        prog=prog, description=description, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def _reading_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--map", action="append", default=[], metavar="CANONICAL=KEY", help="read KEY as this metric")
    parser.add_argument("--format-in", metavar="NAME", help="force a reader (jsonl, csv, wandb, tensorboard, ...)")


def _screen(words: list[str]) -> int:
    parser = _parser(
        "rltui",
        "Terminal monitor and diagnostician for RL post-training. Commands: report, watch, compare, runs, rollouts, "
        "verify, explain, config, demo, doctor.",
    )
    parser.add_argument("run", nargs="*", metavar="RUN", help="default: what is found below the current directory")
    parser.add_argument("--version", action="version", version=f"rltui {__version__}")
    parser.add_argument("--theme", metavar="NAME", help="dark, light, ansi-16, mono, ...")
    parser.add_argument("--glyphs", choices=("block", "braille", "ascii"), help="default: by locale and terminal")
    parser.add_argument("--mouse", action="store_true", default=None, help="mouse on, also over ssh")
    parser.add_argument("--replay", action="store_true", help="play a run again, with the diagnosis as it stood then")
    parser.add_argument("--speed", type=float, metavar="X", help="of --replay: steps a second (default 10)")
    _reading_options(parser)
    args = parser.parse_args(words)
    if args.speed is not None and not (args.replay and 0 < args.speed < 1e6):
        raise _Stop("--speed wants steps a second, more than 0, and --replay")
    if not sys.stdout.isatty():
        if args.run:
            return _print_reports(_locate(args.run, args.format_in), args)
        return _runs([])
    return _open_screen(args.run, args)


def _open_screen(targets: list[str], args: argparse.Namespace | None) -> int:
    from rltui import settings
    from rltui.tui.start import start

    if settings.load().rules:
        from rltui.diagnosis.catalogue import adjusted

        adjusted(settings.load())  # a wrong setting is told before the screen opens
    return start(
        targets,
        key_map=_key_map(args.map) if args else {},
        format_in=args.format_in if args else None,
        theme=args.theme if args else None,
        glyphs=args.glyphs if args else None,
        mouse=args.mouse if args else None,
        replay=(args.speed or 10.0) if args and args.replay else None,
    )


def _demo(words: list[str]) -> int:
    parser = _parser("rltui demo", "Opens the sample runs that ship with rltui.")
    parser.parse_args(words)
    root = sample_runs()
    return _open_screen([root], None) if sys.stdout.isatty() else _runs([root])


def sample_runs() -> str:
    """Directory of the shipped sample runs: inside the installed package, beside it in a checkout."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.path.join(here, "_sample_runs"), os.path.join(os.path.dirname(here), "sample_runs")):
        if os.path.isdir(path):
            return path
    raise _Stop("the sample runs are not part of this installation; install rltui anew")


def _report(words: list[str]) -> int:
    parser = _parser("rltui report", "Reads a run to its end and prints the diagnosis.")
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    parser.add_argument(
        "--at", type=int, metavar="STEP", help="as it stood at this step (later rows are not looked at)"
    )
    parser.add_argument("--since", type=int, metavar="STEP", help="numbers of the metrics from this step on")
    parser.add_argument("--last", type=int, metavar="N", help="numbers of the metrics over the last N rows")
    parser.add_argument("--window", type=int, metavar="N", help="rows of the first, mid and last window")
    parser.add_argument("--now", metavar="TIME", help="ISO 8601: makes a report reproducible")
    parser.add_argument("--append", metavar="FILE", help="append a check-in entry to this file")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    parser.add_argument("--fail-on", choices=tuple(SEVERITIES), default="never")
    several = parser.add_mutually_exclusive_group()
    several.add_argument("--all", action="store_true", help="all runs found (JSON: an array)")
    several.add_argument("--newest", action="store_true", help="of several runs the one written last")
    _reading_options(parser)
    args = parser.parse_args(words)
    for name in ("window", "last"):
        if (rows := getattr(args, name)) is not None and rows < 1:
            raise _Stop(f"--{name} wants a number of rows, at least 1")
    found = _locate([args.run], args.format_in)
    if len(found) > 1 and args.newest:
        found = [max(found, key=_newest)]
    if len(found) > 1 and not args.all:
        names = "\n".join(f"  {f.candidate.root}  ({len(f.candidate.files)} files)" for f in found[:20])
        more = f"\n  ... and {len(found) - 20} more" if len(found) > 20 else ""
        raise _Stop(f"{args.run} holds {len(found)} runs: name one, or use --newest or --all\n{names}{more}")
    return _print_reports(found, args)


def _print_reports(found: list[Found], args: argparse.Namespace) -> int:
    from rltui.report.build import build
    from rltui.session.opened import OpenedRun

    fmt = getattr(args, "format", "markdown")
    now = _time(getattr(args, "now", None))
    texts, worst = [], 0
    for one in found:
        opened = OpenedRun(one, key_map=_key_map(args.map), until_step=getattr(args, "at", None))
        opened.load()
        frame = opened.frame(now).narrowed(getattr(args, "since", None), getattr(args, "last", None))
        report = build(frame, window=getattr(args, "window", None), now=now)
        opened.close()
        worst = max([worst, *map(_rank, report.findings)])
        if fmt == "json":
            from rltui.report.to_json import to_json

            texts.append(to_json(report))
        else:
            from rltui.report.markdown import render

            texts.append(render(report, frame))
        if getattr(args, "append", None):
            from rltui.report.checkin import append_checkin

            append_checkin(args.append, report)
    if fmt == "json" and getattr(args, "all", False):
        text = "[" + ",\n".join(t.strip() for t in texts) + "]\n"
    else:
        text = "\n".join(texts)
    _write(text, getattr(args, "output", None))
    return 1 if worst >= SEVERITIES[getattr(args, "fail_on", "never")] else 0


def _watch(words: list[str]) -> int:
    parser = _parser("rltui watch", "Follows runs without a screen and prints a line for each thing that happens.")
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
    _reading_options(parser)
    args = parser.parse_args(words)
    if args.timeout is not None and not args.timeout > 0:
        raise _Stop("--timeout wants seconds, more than 0")
    found = _locate(args.run, args.format_in)
    from rltui.watch.command import Command
    from rltui.watch.loop import Options, watch

    try:
        command = Command.words(args.exec) if args.exec is not None else []
    except ValueError as error:
        raise _Stop(f"--exec {error}") from None
    if args.append is not None:
        try:
            open(args.append, "ab").close()
        except OSError as error:
            raise _Stop(f"--append {args.append}: cannot be written ({error.strerror})") from None
    options = Options(args.format == "json", args.until, args.fail_on, tuple(command), args.append, args.timeout)
    return watch(found, options, _key_map(args.map))


def _compare(words: list[str]) -> int:
    parser = _parser("rltui compare", "Sets runs side by side: Good, Bad, Ugly, cost, settings, what to run next.")
    parser.add_argument("run", nargs="+", metavar="RUN")
    parser.add_argument("--primary", metavar="KEY", help="rank by this metric; default: guessed, and said")
    parser.add_argument("--lower-is-better", action="store_true")
    parser.add_argument("--cost", choices=("tokens", "gpu_hours", "hours", "steps"), help="of the Pareto front")
    parser.add_argument("--diff", nargs=2, metavar=("A", "B"), help="ids of two runs: every config key that differs")
    parser.add_argument("--latest", type=int, metavar="N", help="the newest N of those that the other filters leave")
    parser.add_argument("--state", choices=("any", "running", "stalled", "finished", "crashed", "unknown"))
    parser.add_argument("--id", action="append", default=[], metavar="GLOB", help="runs of this id or path")
    parser.add_argument("--tag", action="append", default=[], metavar="GLOB", help="runs of this tag, name or project")
    parser.add_argument("--where", action="append", default=[], metavar="EXPR", help="config: lr>=1e-6, model~*7b*")
    parser.add_argument("--top", type=int, default=12, metavar="N", help="rows of a Markdown table")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    _reading_options(parser)
    args = parser.parse_args(words)
    for name in ("latest", "top"):
        if (count := getattr(args, name)) is not None and count < 1:
            raise _Stop(f"--{name} wants a number of runs, at least 1")
    found = _locate(args.run, args.format_in)
    from rltui.compare.build import compare
    from rltui.compare.filters import BadFilter, Filters, chosen
    from rltui.compare.read import read

    filters = Filters(args.latest, args.state, tuple(args.id), tuple(args.tag), tuple(args.where))
    try:
        read_runs = read(found, _key_map(args.map), args.primary)
        runs = chosen(read_runs, filters)
    except BadFilter as problem:
        raise _Stop(f"--where {problem}") from None
    if not runs:
        raise _Stop(f"compare: none of the {len(read_runs)} runs found passes the filters")
    if args.primary and not any(k == args.primary or k.startswith(f"{args.primary}:") for r in runs for k in r.curves):
        raise _Stop(f"--primary {args.primary}: none of the {len(runs)} runs logs it")
    unknown = [name for name in args.diff or () if name not in {run.id for run in runs}]
    if unknown:
        raise _Stop(f"--diff {unknown[0]}: no such run; there are {', '.join(run.id for run in runs[:12])}")
    comparison = compare(
        runs,
        primary=args.primary,
        lower_is_better=args.lower_is_better,
        cost=args.cost,
        pair=tuple(args.diff) if args.diff else None,
    )
    if args.format == "json":
        from rltui.compare.to_json import to_json

        _write(to_json(comparison), args.output)
    else:
        from rltui.compare.markdown import render

        _write(render(comparison, args.top), args.output)
    return 0


def _runs(words: list[str]) -> int:
    parser = _parser("rltui runs", "Lists the runs below a directory with state, step and verdict.")
    parser.add_argument("dir", nargs="?", default=".", metavar="DIR")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    args = parser.parse_args(words)
    from rltui.report.runs_table import rows, to_json, to_text
    from rltui.session.locate import discover

    if os.path.isdir(args.dir):
        found = discover(args.dir)
    elif ":" in args.dir:
        found = _locate([args.dir], None)
    else:
        raise _Stop(f"{args.dir}: no such directory")
    listed = rows(found)
    _write(to_json(listed) if args.format == "json" else to_text(listed, args.dir), None)
    return 0


def _rollouts(words: list[str]) -> int:
    parser = _parser("rltui rollouts", "What the policy wrote: a table of steps, and one step with its best and worst.")
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--step", type=int, metavar="N", help="this step in full; default: the newest")
    parser.add_argument("--validation", action="store_true", help="the rollouts of validation")
    parser.add_argument("--same-prompt", action="store_true", help="one prompt across the steps")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    _reading_options(parser)
    args = parser.parse_args(words)
    found = _locate([args.run], args.format_in)
    if len(found) > 1:
        names = "\n".join(f"  {f.candidate.root}" for f in found[:20])
        raise _Stop(f"{args.run} holds {len(found)} runs: name one\n{names}")
    from rltui.report.rollouts import collect, to_json
    from rltui.report.rollouts_text import render
    from rltui.session.opened import OpenedRun
    from rltui.session.rollouts import open_rollouts

    opened = OpenedRun(found[0], key_map=_key_map(args.map))
    opened.load()
    run = opened.run
    index = open_rollouts(found[0], run)
    opened.close()
    entry = None
    if index.entries and (args.step is not None or args.validation):
        entry = index.nearest(args.step, "validation" if args.validation else None)
        if entry is None or (args.step is not None and entry.step != args.step):
            asked = f"step {args.step}" if args.step is not None else "validation"
            near = f"; the nearest is step {entry.step}" if entry is not None and entry.step is not None else ""
            raise _Stop(f"{args.run}: no rollouts of {asked}{near}")
    report = collect(index, run.id, run.path, run.framework, entry, args.same_prompt)
    _write(to_json(report) if args.format == "json" else render(report), None)
    return 0


def _verify(words: list[str]) -> int:
    parser = _parser("rltui verify", "Checks the arithmetic of a training pipeline, and the invariants of its log.")
    parser.add_argument("--adapters", metavar="FILE", help="Python file of yours that names the functions; it is run")
    parser.add_argument("--metrics", metavar="FILE", help="the log of a run: invariants that its numbers must keep")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--example", action="store_true", help="print an adapters file to start from")
    _reading_options(parser)
    args = parser.parse_args(words)
    from rltui.verify.adapters import BadAdapters, example, load
    from rltui.verify.probes import verify
    from rltui.verify.show import as_json, as_text

    if args.example:
        _write(example(), None)
        return 0
    if args.adapters is None and args.metrics is None:
        raise _Stop("verify wants --adapters FILE, --metrics FILE or both; --example prints a file to start from")
    checks = []
    try:
        if args.adapters is not None:
            checks += verify(load(args.adapters))
    except BadAdapters as problem:
        raise _Stop(f"--adapters {args.adapters}: {problem}") from None
    if args.metrics is not None:
        from rltui.verify.log import verify_log

        found = _locate([args.metrics], args.format_in)
        if len(found) > 1:
            raise _Stop(f"--metrics {args.metrics}: holds {len(found)} runs; name one")
        checks += verify_log(found[0], _key_map(args.map))
    _write(as_json(checks) if args.format == "json" else as_text(checks), None)
    return 1 if any(check.mark == "!!" for check in checks) else 0


def _explain(words: list[str]) -> int:
    parser = _parser("rltui explain", "Prints a rule or a knowledge page; without an id the list of both.")
    parser.add_argument("id", nargs="?", metavar="ID", help="a finding's id, or the name of a page")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    args = parser.parse_args(words)
    from rltui.report.explain import as_json, as_text, nearest

    explained = as_json(args.id) if args.format == "json" else as_text(args.id)
    if explained is None:
        near = nearest(args.id)
        raise _Stop(f"explain {args.id}: no such rule or page" + (f"; near: {', '.join(near)}" if near else ""))
    _write(explained, None)
    return 0


def _config(words: list[str]) -> int:
    parser = _parser("rltui config", "The user's settings: where they are, what they change, whether they are valid.")
    parser.add_argument("what", nargs="?", choices=("path", "show", "check"), default="show")
    args = parser.parse_args(words)
    from rltui.report.settings_text import checked, shown
    from rltui.settings import path

    _write({"path": path, "show": shown, "check": checked}[args.what](), None)
    return 0


def _doctor(words: list[str]) -> int:
    parser = _parser("rltui doctor", "Says what works here: terminal, NVML, optional parts.")
    parser.parse_args(words)
    from rltui.doctor import checks, render

    _write(render(checks()), None)
    return 0


def _locate(targets: list[str], format_in: str | None) -> list[Found]:
    from rltui.readers.registry import FORMATS
    from rltui.session.locate import NotARun, locate
    from rltui.session.remote import Unreachable, connect

    if format_in is not None and format_in not in FORMATS:
        raise _Stop(f"--format-in {format_in}: no such reader; there are {', '.join(sorted(FORMATS))}")
    try:
        connect(targets)
        return locate(targets, format_in)
    except (NotARun, Unreachable) as problem:
        raise _Stop(str(problem)) from None


def _newest(found: Found) -> float:
    return max((f.mtime for f in found.files), default=0.0)


def _key_map(words: Sequence[str]) -> dict[str, str]:
    out = {}
    for word in words:
        canonical, equals, key = word.partition("=")
        if not equals or not canonical or not key:
            raise _Stop(f"--map {word}: wants CANONICAL=KEY, as in --map score_mean=my/reward")
        out[canonical] = key
    return out


def _time(text: str | None) -> float | None:
    if text is None:
        return None
    from datetime import UTC, datetime

    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise _Stop(f"--now {text}: wants ISO 8601, as in 2026-11-21T09:30:00Z") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _rank(finding: Finding) -> int:
    from rltui.diagnosis.model import SEVERITY_RANK

    return SEVERITY_RANK[finding.severity] if finding.status == "active" else 0


def _write(text: str, path: str | None) -> None:
    if path is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    try:
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise _Stop(f"{path}: cannot be written ({error.strerror})") from None
