"""What the commands share: parsing words, finding runs, writing results, and progress while they work."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import fill
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltui.discovery.found import Found
    from rltui.report.model import Report


WHERE = """\
RUN can be
  a file, a directory, a glob, or DATABASE#RUN for one run of a database
  -                             standard input: train.py 2>&1 | rltui -
  host:path                     another machine by ssh, or ssh://[user@]host[:port]/path
  slurm:[JOBID]                 the logs of your Slurm jobs
  wandb:ENTITY/PROJECT[/RUN]    the W&B service"""
ENDS = "Exit code: 0 done, 2 wrong usage or nothing readable there, 3 an error of rltui itself."
ENDS_OF_VERIFY = """\
Exit code: 0 done, 1 something is wrong, 2 wrong usage or nothing readable there, 3 an error of rltui itself."""
ENDS_OF_CHECKS = """\
Exit code: 0 done, 1 a finding as severe as --fail-on, or worse, is open,
2 wrong usage or nothing readable there, 3 an error of rltui itself."""
WIDTH = 100

SEVERITIES = {"never": 3, "critical": 2, "warning": 1}


class Stop(Exception):  # noqa: N818
    """Ends the command with one line on stderr and exit code 2."""


class Parser(argparse.ArgumentParser):
    """argparse, but errors are one line, and options may be anywhere between the runs."""

    def parse_args(self, words: Sequence[str]) -> argparse.Namespace:  # type: ignore[override]
        return self.parse_intermixed_args(words)

    def error(self, message: str) -> None:  # type: ignore[override]
        raise Stop(f"{message} (see {self.prog} --help)")


def command_parser(prog: str, description: str, *notes: str, listed: str = "") -> Parser:
    """A parser that answers wrong usage with one line and exit code 2, not with argparse's usage. `listed` comes before
    the options. `notes` come below them, before the exit codes."""
    own = notes and notes[-1] in (ENDS_OF_CHECKS, ENDS_OF_VERIFY)
    epilog = "\n\n".join(notes if own else (*notes, ENDS))
    return Parser(prog=prog, description=fill(description, WIDTH) + listed, epilog=epilog, formatter_class=_Formatter)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=34, width=min(WIDTH, get_terminal_size().columns))


def reading_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that reads runs."""
    group = lines_option(parser)
    group.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="METRIC=KEY",
        help="read this metric from KEY of the log, as in score_mean=my/reward",
    )
    group.add_argument(
        "--format-in", metavar="NAME", help="read the files as jsonl, csv, wandb, tensorboard, ... without guessing"
    )


def lines_option(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Adds `--line`, the option of every command that opens runs. Returns the group that it is in."""
    group = parser.add_argument_group("if a log is not read as you expect")
    group.add_argument(
        "--line",
        action="append",
        default=[],
        metavar="PATTERN",
        help="what a step line looks like, as in 'round {step}/{total} -> {reward} ({})'. {} stands for a number that "
        "is not read, ... for any text",
    )
    return group


def output_option(parser: argparse.ArgumentParser) -> None:
    """Adds `-o`, the option of every command that can write to a file."""
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE and not to standard output")


def fail_option(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds `--fail-on`, the option of every command whose exit code depends on findings."""
    parser.add_argument(
        "--fail-on",
        choices=tuple(SEVERITIES),
        default=default,
        help=f"exit with 1 if a finding of this severity, or a worse one, is open (default: {default})",
    )


def use_lines(patterns: Sequence[str]) -> None:
    """Sets the user's patterns for log lines. Raises Stop if one of them is invalid."""
    from rltui.readers.console import line_pattern

    for text in patterns:
        try:
            line_pattern.use([text])
        except ValueError as problem:
            raise Stop(f"--line {text}: {problem}") from None
    line_pattern.use(patterns)


def locate_runs(targets: list[str], format_in: str | None, lines: Sequence[str] = ()) -> list[Found]:
    """The runs of these targets. Raises Stop if there are none. `lines`: see `use_lines`."""
    from rltui.discovery.found import NotARun
    from rltui.readers.formats import formats_held
    from rltui.session.locate import locate
    from rltui.session.remote import Unreachable, connect

    if format_in is not None and format_in not in (known := formats_held("in a file")):
        raise Stop(f"--format-in {format_in}: no such reader. Readers are {', '.join(sorted(known))}")
    use_lines(lines)
    targets = named_hosts(targets)
    try:
        connect(targets)
        with Progress() as progress:
            return locate(targets, format_in, looked=progress.looked)
    except (NotARun, Unreachable) as problem:
        raise Stop(str(problem)) from None


def report_of(found: Found, key_map: dict[str, str] | None = None) -> Report:
    """The report of a run that is read to its end."""
    from rltui.report.build import build
    from rltui.session.run_reader import RunReader

    opened = RunReader(found, key_map=key_map)
    opened.load()
    report = build(opened.frame())
    opened.close()
    return report


def name_of(one: Found, found: Sequence[Found]) -> str:
    """What to type to name this run among several."""
    from rltui.discovery.units import RUN_MARK

    candidate = one.candidate
    if sum(other.candidate.root == candidate.root for other in found) == 1 and not candidate.attempts:
        return candidate.root
    if candidate.inside:
        file, key = candidate.inside[0]
        return f"{file}{RUN_MARK}{key}"
    paths = [path for path, _ in candidate.files]
    above = os.path.commonpath(paths)
    beside = (path for other in found if other is not one for path, _ in other.candidate.files)
    if len(paths) > 1 and any(os.path.commonpath([above, path]) == above for path in beside):
        return f"{above}{RUN_MARK}{candidate.id.rpartition('/')[2]}"
    return above


def named_hosts(targets: Sequence[str]) -> list[str]:
    """The targets, with the hosts of the user's settings resolved: `node17` means all paths of this host, `node17:run5`
    that one. A local path of that name wins. Raises Stop if a target is empty, SettingsError if a host has no path."""
    from rltui.settings import load

    settings = load()
    out: list[str] = []
    for target in targets:
        if not target.strip():
            raise Stop("RUN is empty: is the variable that should name it set?")
        name, colon, path = target.partition(":")
        host = settings.hosts.get(name)
        if host is None or os.path.exists(target):
            out.append(target)
            continue
        paths = (path,) if colon else host.paths
        if not paths:
            raise settings.wrong(f"hosts.{name}", f"names no paths: say {name}:PATH, or add paths = [...]")
        out += [f"ssh://{host.ssh}{p if p.startswith('/') else '/~/' + p.removeprefix('~/')}" for p in paths]
    return out


def parsed_map(words: Sequence[str]) -> dict[str, str]:
    """`--map METRIC=KEY` words as a dict. Raises Stop for an unknown metric."""
    out: dict[str, str] = {}
    if not words:
        return out
    from rltui.run.names import unknown_metric

    for word in words:
        canonical, equals, key = word.partition("=")
        if not equals or not canonical or not key:
            raise Stop(f"--map {word}: use METRIC=KEY, as in --map score_mean=my/reward")
        if problem := unknown_metric(canonical):
            raise Stop(f"--map {word}: {problem}")
        out[canonical] = key
    return out


def time_of(text: str | None) -> float | None:
    """ISO 8601 as seconds since 1970; a time without zone is UTC. Raises Stop if it is not a time."""
    if text is None:
        return None
    from datetime import UTC, datetime

    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise Stop(f"--now {text}: use ISO 8601, as in 2026-11-21T09:30:00Z") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def write(text: str, path: str | None) -> None:
    """Writes text to a file, or to standard output. Raises Stop if the file cannot be written."""
    from rltui.text import shown

    text = shown(text)
    if path is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    try:
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise Stop(f"{path}: cannot be written ({error.strerror})") from None


PATIENCE_S = 1.0
"""Seconds without output after which progress is shown."""
BETWEEN_S = 0.1


class Progress:
    """Shows progress on stderr, if that is a terminal."""

    def __init__(self) -> None:
        self._is_seen = sys.stderr.isatty()
        self._next = time.monotonic() + PATIENCE_S
        self._files = 0
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown:
            self._print("")

    def say(self, text: str) -> None:
        """Replaces the line shown before."""
        if self._is_seen:
            self._shown = True
            self._print(text)

    def looked(self, path: str) -> None:
        """Counts one more file that was looked at."""
        self._files += 1
        now = time.monotonic()
        if self._is_seen and now >= self._next:
            from rltui.prose import counted
            from rltui.text import clean

            self._next = now + BETWEEN_S
            self.say(f"looking for runs, {counted(self._files, 'file')} so far: {clean(os.path.basename(path), 50)}")

    def _print(self, text: str) -> None:
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
