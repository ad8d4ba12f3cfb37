"""Finds the runs that the user's arguments name, or gives one clear line about what is wrong and what to do."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from msgspec.structs import replace

from rltui.discovery.file_roles import evaluates
from rltui.discovery.found import Found, NotARun, NothingYet, NotListed, RunCandidate, group
from rltui.discovery.relaunches import LogBegin, LogEnd, Looks, is_of_job
from rltui.discovery.units import RUN_MARK
from rltui.evidence.guard import error_text
from rltui.prose import counted, joined
from rltui.readers import step_files
from rltui.readers.base import ContainedRun
from rltui.readers.formats import MESSAGES, SEVERAL, runs_in_database
from rltui.readers.not_a_log import BLANK, EMPTY, NO_METRICS, is_binary, json_keys, why_not
from rltui.readers.sniff import is_messages, may_begin_late, sniff, sniff_end, sniff_page
from rltui.session.pieces import PiecesBeside, header_above
from rltui.sources import slurm, stdin
from rltui.sources.base import Listing, Place, SourceError
from rltui.sources.local import LocalPlace
from rltui.sources.slurm import SlurmError
from rltui.sources.targets import BadTarget, SlurmTarget, SshTarget, WandbTarget, parse

Looked = Callable[[str], None]
"""A function that is called with the path of each file that is examined."""
RunsAt = Callable[[str, Place, str | None], list[Found]]
"""A function that returns the runs at a path of a place. The last argument is the format that the user forces, if
any."""


def runs_elsewhere(argument: str, format_in: str | None, runs_at: RunsAt) -> list[Found]:
    """The runs that are not files on this machine; empty if the argument names none. Raises `NotARun` as `locate`
    does."""
    try:
        target = parse(argument)
    except BadTarget as problem:
        raise NotARun(str(problem)) from None
    if target is None:
        return []
    from rltui.session.remote import Unreachable, place_of  # imported here, as few arguments need ssh

    try:
        if isinstance(target, SshTarget):
            return runs_at(target.path or ".", place_of(target), format_in)
        if isinstance(target, WandbTarget):
            from rltui.session.online_feed import online_runs

            return online_runs(target)
        return _runs_of_jobs(target, format_in, runs_at)
    except (Unreachable, SlurmError, NotARun) as problem:
        raise NotARun(f"{argument}: {problem}") from None


def _runs_of_jobs(target: SlurmTarget, format_in: str | None, runs_at: RunsAt) -> list[Found]:
    """The runs that each job writes, found in its standard output, else in its working directory."""
    place = LocalPlace()
    found: list[Found] = []
    problems: list[str] = []
    for job in slurm.jobs(target.job):
        for path in (job.stdout, job.work_dir):
            try:
                runs = runs_at(path, place, format_in) if path is not None else []
            except NotARun as problem:
                problems.append(str(problem))
                continue
            found.extend(replace(run, job=job) for run in runs)
            if runs:
                break
    if not found:
        raise NotARun(joined(problems) or "Slurm does not say where any of these jobs writes")
    return found


SNIFF_AHEAD = 64  # files of a remote place whose beginnings are requested together
HEAD = 1 << 16
"""Bytes read to recognise a file's format: the first 16 KiB may hold only a trainer's start-up messages."""

FORCE = "Force a reader with --format-in"
NAMED = 3  # the most unreadable files that are named one by one
MAX_PAGE = 1 << 26

_live_input: stdin.StdinPlace | None = None


def locate(
    arguments: Iterable[str],
    format_in: str | None = None,
    place: Place | None = None,
    looked: Looked = lambda path: None,
) -> list[Found]:
    """All runs that the arguments name, in their order; within one directory the newest first. `looked` is called for
    each file of this machine that is examined. Raises `NotARun` for a path that does not exist, cannot be read or holds
    no log."""
    here = place or LocalPlace()
    found: list[Found] = []
    for argument in arguments:
        if argument == stdin.PATH:
            found.append(_piped(format_in))
            continue
        database, mark, run = argument.rpartition(RUN_MARK)
        if mark and not os.path.exists(argument) and os.path.exists(database):
            found.extend(_one_of(runs_at(database, here, format_in), database, run))
            continue
        found.extend(_elsewhere(argument, format_in) or _here(argument, here, format_in, looked))
    return found


def take_standard_input() -> None:
    """Keeps the pipe for `-`, to follow it live, before descriptor 0 becomes the terminal."""
    global _live_input
    if not os.isatty(0):
        _live_input = stdin.standard_input(live=True)


def _piped(format_in: str | None) -> Found:
    """The run that comes through standard input. Its first bytes show its format. Unknown text is read as a console log
    if the pipe is followed live or the first 64 KiB are full. The function waits for an open pipe."""
    if _live_input is None and os.isatty(0):
        raise NotARun("-: nothing is piped into standard input. Pipe a log into it, as in: train.py | rltui -")
    place = _live_input or stdin.standard_input(live=False)
    listing = place.walk(stdin.PATH)
    head = place.head(stdin.PATH, HEAD)
    bytes_ = b"" if isinstance(head, SourceError) else head
    if not bytes_.strip():
        raise NotARun(
            "-: standard input ended before the first line. Check that the command before the pipe started, "
            "and pipe its messages too: train.py 2>&1 | rltui -"
        )
    found = format_in or sniff(bytes_, "stdin.log")
    if found is None and not place.live and (len(bytes_) < HEAD or is_binary(bytes_)):
        raise NotARun(f"-: no training log recognised: {why_not(bytes_)}. {FORCE}")
    if found in (None, "sqlite", SEVERAL):
        found = "jsonl" if bytes_.lstrip().startswith(b'{"') else "console"
    return Found(RunCandidate("standard input", stdin.PATH, ((stdin.PATH, found),)), place, listing)


def _one_of(found: list[Found], database: str, run: str) -> list[Found]:
    named = [one for one in found if run == one.candidate.id or run in dict(one.candidate.inside).values()]
    if not named:
        names = ", ".join(one.candidate.id for one in found[:20])
        raise NotARun(f"{database}: holds no run {run!r}. Its runs are {names}")
    return named


def discover(root: str, place: Place | None = None, looked: Looked = lambda path: None) -> list[Found]:
    """The runs below a directory; an empty list if there are none. `looked`: see `locate`."""
    try:
        return runs_at(root, place or LocalPlace(), None, looked)
    except NotARun:
        return []


def look_again(found: Found, formats: dict[str, str | None]) -> Found | None:
    """The same run with the files that exist now. None if its directory cannot be listed or no longer holds exactly one
    run that may be the same. `formats` keeps the formats of known files from one look to the next."""
    formats.update(found.candidate.files)
    short = {path for path, file in found.listing.by_path.items() if file.size < HEAD}
    for path in [path for path, format in formats.items() if format is None or path in short]:
        del formats[path]  # it may have been empty, or its first lines may have shown something else
    listing = found.place.walk(_watched(found))
    if listing.error is not None:
        return None
    failed: dict[str, str] = {}
    ask, runs_in = _sniffer(found.place, formats, None, failed), _run_finder(found.place)
    candidates = group(listing, ask, runs_in, _looks(found.place, listing))
    known = {path for path, _ in found.candidate.files}
    same = [c for c in candidates if known & {path for path, _ in c.files} and c.inside == found.candidate.inside]
    if len(same) != 1:
        return None
    return replace(found, candidate=same[0], listing=listing, unreadable=_below(same[0], failed))


def short_ones(found: Found) -> dict[str, int]:
    """The run's files that were still too short to show their format for sure -> their size then."""
    sizes = {
        path: found.listing.by_path[path].size for path, _ in found.candidate.files if path in found.listing.by_path
    }
    return {path: size for path, size in sizes.items() if size < HEAD}


def _watched(found: Found) -> str:
    """The directory in which files of the run may appear. A job that is requeued may write into the next job folder
    below the directory that the user named."""
    root, above = found.candidate.root, os.path.dirname(found.candidate.root)
    return above if is_of_job(os.path.basename(root)) and above == found.listing.root else root


def _here(argument: str, place: Place, format_in: str | None, looked: Looked) -> list[Found]:
    """The runs at a path or glob on this machine. Raises `NotARun` if nothing exists there."""
    paths = [argument] if os.path.exists(argument) else sorted(glob.glob(argument)) if glob.has_magic(argument) else []
    if not paths:
        raise NotARun(f"{argument}: no such file or directory")
    return [found for path in paths for found in runs_at(path, place, format_in, looked)]


def _elsewhere(argument: str, format_in: str | None) -> list[Found]:
    """The runs on a remote machine or of a Slurm job; empty if the argument names neither, or names a path that exists
    here."""
    if os.path.exists(argument):
        return []

    return runs_elsewhere(argument, format_in, runs_at)


def runs_at(
    path: str,
    place: Place,
    format_in: str | None,
    looked: Looked = lambda path: None,
    unread: Callable[[str], None] = lambda text: None,
) -> list[Found]:
    """The runs in a file or below a directory of a place. Raises `NotARun` if there are none. `unread` is called with a
    message for each thing that could not be read and is not part of these runs."""
    listing = place.walk(path) if place.is_dir(path) else _one_file(path, place)
    if listing.error is not None:
        raise NotListed(_said(path, listing.error.text))
    formats: dict[str, str | None] = {}
    failed: dict[str, str] = {}
    ask = _sniffer(place, formats, format_in, failed, path, looked)
    if place.link() is not None:
        _sniff_ahead(listing, ask)
    candidates = group(listing, ask, _run_finder(place), _looks(place, listing))
    for text in _not_read(path, listing, candidates, failed):
        unread(text)
    if not candidates:
        raise (NothingYet if _may_come(listing, place) else NotARun)(_nothing(path, listing, place))
    return [Found(one, place, listing, unreadable=_below(one, failed)) for one in candidates]


def _not_read(path: str, listing: Listing, candidates: Iterable[RunCandidate], failed: dict[str, str]) -> Iterator[str]:
    of_runs = {file for one in candidates for file, _ in _below(one, failed)}
    lost = [_said(file, why) for file, why in sorted(failed.items()) if file not in of_runs]
    yield from lost[:NAMED]
    if len(lost) > NAMED:
        yield f"{path}: {counted(len(lost) - NAMED, 'more file')} below it cannot be read"
    closed = listing.skipped.get("permission", 0)
    if closed:
        yield f"{path}: {counted(closed, 'folder')} below it cannot be read: permission denied"


def _below(candidate: RunCandidate, failed: dict[str, str]) -> tuple[tuple[str, str], ...]:
    root = os.path.join(candidate.root, "")
    return tuple((path, why) for path, why in sorted(failed.items()) if path.startswith(root))


def _one_file(path: str, place: Place) -> Listing:
    stat = place.stat(path)
    if isinstance(stat, SourceError):
        return Listing(path, (), (), True, error=stat)
    return Listing(os.path.dirname(path) or ".", (stat,), (), True)


def _sniffer(
    place: Place,
    seen: dict[str, str | None],
    format_in: str | None,
    failed: dict[str, str],
    named: str = "",
    looked: Looked = lambda path: None,
) -> Callable[[str], str | None]:
    """A function that returns the format of a file and examines each file once. A file that cannot be read is added to
    `failed`, with the reason. `named`: the path that the user named."""
    beside = PiecesBeside(place)

    def ask(path: str) -> str | None:
        if path not in seen:
            looked(path)
            head = place.head(path, HEAD)
            if isinstance(head, SourceError):
                failed[path] = head.text
            try:
                seen[path] = None if isinstance(head, SourceError) else format_in or told(path, head)
            except Exception as error:
                seen[path], failed[path] = None, f"not looked at, by a fault of rltui: {error_text(error)}"
        return seen[path]

    def told(path: str, head: bytes) -> str | None:
        name = os.path.basename(path)
        found = sniff(head, name)
        if found is None and len(head) < HEAD and step_files.is_row(head, path, evaluates(path)):
            return step_files.FORMAT
        if found is None and path == named:
            found = sniff_page(head, name, lambda: head if len(head) < HEAD else _whole(place, path))
        if found is None and len(head) == HEAD and may_begin_late(head, name):
            with closing(place.follow(path)) as follower:
                end = follower.tail(HEAD).data
            found = sniff_end(end, name) or (MESSAGES if is_messages(end, name) else None)
        if found is None and header_above(beside, path, head):
            return "csv"
        return MESSAGES if found is None and is_messages(head, name) else found

    return ask


def _whole(place: Place, path: str) -> bytes:
    data = place.read(path, MAX_PAGE)
    return b"" if isinstance(data, SourceError) else data


def _sniff_ahead(listing: Listing, ask: Callable[[str], str | None]) -> None:
    """Finds the formats of the newest files in parallel: one after another, each would wait for the network."""
    from concurrent.futures import ThreadPoolExecutor  # imported here, as only remote places need it

    newest = sorted(listing.files, key=lambda file: file.mtime, reverse=True)[:SNIFF_AHEAD]
    with ThreadPoolExecutor(SNIFF_AHEAD // 4) as threads:
        list(threads.map(ask, [file.path for file in newest]))


def _looks(place: Place, listing: Listing) -> Looks:
    """Functions that read how logs begin and end. A log that rltui fails to read is a run of its own."""

    def begin(path: str, format: str) -> LogBegin | None:
        from rltui.session.held import begun  # imported here, as few folders hold logs that differ only in a number

        try:
            return begun(place, listing.by_path[path], format)
        except Exception:
            return None

    def end(path: str, format: str) -> LogEnd | None:
        from rltui.session.held import ended

        try:
            return ended(place, listing.by_path[path], format)
        except Exception:
            return None

    return Looks(begin, end)


def _run_finder(place: Place) -> Callable[[str, str], list[ContainedRun]]:
    def ask(path: str, format: str) -> list[ContainedRun]:
        if format == "mlflow-files":
            from rltui.readers.trackers.mlflow import runs_in_store

            meta = place.read(path, 1 << 16)
            return [] if isinstance(meta, SourceError) else runs_in_store(meta)
        if format == SEVERAL:
            from rltui.readers.several import MAX_BYTES, runs_in_file

            data = place.read(path, MAX_BYTES)
            return [] if isinstance(data, SourceError) else runs_in_file(data, os.path.basename(path))
        from rltui.session.container_feeds import read_database

        found = read_database(place, path)
        return [] if isinstance(found, SourceError) else runs_in_database(*found)

    return ask


WRITTEN_S = 600.0
"""A file that was written in the last ten minutes counts as still being written: a model may take that long to load."""
LOGS = (".log", ".out", ".err", ".jsonl")


def _may_come(listing: Listing, place: Place) -> bool:
    """Whether one of these files may yet become a log: it was written recently, and it is empty, or is named like a log
    and has no metrics so far."""
    now = time.time()
    for file in listing.files:
        if file.size >= HEAD or now - file.mtime >= WRITTEN_S:
            continue
        head = place.head(file.path, HEAD)
        why = why_not(head) if isinstance(head, bytes) else ""
        if why in (EMPTY, BLANK) or (why.startswith(NO_METRICS) and file.path.endswith(LOGS)):
            return True
    return False


def _nothing(path: str, listing: Listing, place: Place) -> str:
    heads = (place.head(file.path, 1) for file in listing.files)
    unreadable = next((head for head in heads if isinstance(head, SourceError)), None)
    if unreadable is not None:
        return _said(unreadable.path, unreadable.text)
    left_out = ", ".join(f"{n} {why}" for why, n in sorted(listing.skipped.items()))
    left_out = f"Left out: {left_out}" if left_out else ""
    if len(listing.files) == 1:
        only = listing.files[0].path
        from rltui.readers.console.untaken import hint, suggested

        head = place.head(only, HEAD)
        data = head if isinstance(head, bytes) else b""
        if not data:
            return f"{only}: no training log recognised: {joined((EMPTY, left_out))}"
        lines = () if is_binary(data) else data.decode("utf-8", "replace").splitlines()
        way = "" if json_keys(data) else hint(suggested(enumerate(lines, 1))) or FORCE  # its rows already have names
        return f"{only}: no training log recognised: {joined((why_not(data), left_out, way))}"
    left_out = f" {left_out}." if left_out else ""
    if not listing.files:
        where = "Name the directory or the file that training writes"
        return f"{path}: no training log recognised, no file in it has a name that logs have.{left_out} {where}"
    what = counted(len(listing.files), "file")
    return f"{path}: no training log recognised in {what}.{left_out} Name the log file itself, or {FORCE.lower()}"


def _said(path: str, text: str) -> str:
    return text if text.startswith(path) else f"{path}: {text}"
