"""Many runs at a glance: how each stands, from the ends of its logs or from the whole of them; what needs attention
first."""

from __future__ import annotations

import sys
import time as clock
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import orjson

from rltui.diagnosis import tail
from rltui.discovery.found import Found
from rltui.run.table import Series
from rltui.session.ends import Ends, read_ends
from rltui.sources.base import FileStat

FRESH_S = 600.0
PACES = 3.0
"""A log that ends without an end mark is taken for running while its silence is shorter than ten minutes or three of
its usual steps."""
ZONE_S, ZONES = 3600.0, 14
"""Times of rows may be those of another zone: whole hours off, no more than this many."""
COPIED_S = 10.0
"""Files that were all written within so short a time were copied or checked out, not trained."""
AT_ONCE = 16
"""Runs of remote machines read side by side: one after the other each would wait for the link."""
QUOTED = 100  # characters of the line with which a log ended
MANY = 128
"""From so many runs on a second process shares the work."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run in the list.

    `health`: critical, warning, ok, or unknown where no metric that could tell is at its end. `signs`: what it rests
    on. `decision`: the verdict of the whole log, None where only its ends were read. `updated`: seconds since the
    epoch of the newest row, or of the last write where rows bear no time (`is_file_time`). `first_rows` and
    `newest_rows`: how many were looked at, `whole`: these are all. `values`: newest value of each metric that may rank
    the runs.
    """

    id: str
    host: str
    path: str
    framework: str | None
    algorithm: str | None
    state: str
    last_step: int | None
    total_steps: int | None
    health: str
    signs: tuple[str, ...]
    decision: str | None
    critical: int
    warnings: int
    updated: float | None
    is_file_time: bool
    first_rows: int
    newest_rows: int
    whole: bool
    values: dict[str, float]
    note: str = ""

    @property
    def attention(self) -> int:
        """How much it needs someone: trouble first, most where the run still costs, then what stopped on its way."""
        trouble = {"critical": 4, "warning": 2}.get(self.health, 0)
        return trouble + {"crashed": 3, "stalled": 1, "running": 1 if trouble else 0}.get(self.state, 0)


def ranked(rows: Iterable[RunRow]) -> list[RunRow]:
    """Those that need attention first, the newest first among equals."""
    return sorted(rows, key=lambda r: (-r.attention, -(r.updated or 0.0), r.id))


@cache
def _order() -> tuple[tuple[str, ...], ...]:
    data = orjson.loads((files("rltui.compare") / "primary.json").read_bytes())
    return tuple(tuple(line["names"]) for line in data["order"] if "names" in line)


@cache
def _wanted() -> frozenset[str]:
    return tail.needed() | {name for names in _order() for name in names}


def primary(rows: Sequence[RunRow]) -> str | None:
    """The metric shown of every run: the first of the order that more than half of them log, else the one that most
    do."""
    counts = Counter(name for row in rows for name in row.values)
    best: tuple[int, str] | None = None
    for names in _order():
        held = [(counts[name], name) for name in names if counts[name]]
        if held:
            most = max(held, key=lambda item: item[0])
            if most[0] * 2 > len(rows):
                return most[1]
            best = max(best or most, most, key=lambda item: item[0])
    return best[1] if best else None


def from_ends(found: Sequence[Found], now: float | None = None) -> Iterator[RunRow]:
    """Each run by the ends of its logs, in no order. Many are shared with a forked process: not for a process that
    runs threads."""
    now = clock.time() if now is None else now
    local = [one for one in found if one.place.link() is None]
    if len(local) >= MANY and sys.platform == "linux":
        yield from _in_two(local, now)
        found = [one for one in found if one.place.link() is not None]
    yield from in_order(found, now)


def in_order(found: Sequence[Found], now: float | None = None) -> Iterator[RunRow]:
    """The same in the order of `found`, in this process; runs of other machines side by side."""
    now = clock.time() if now is None else now
    tables = _Tables()
    if all(one.place.link() is None for one in found):
        yield from (_row(one, tables.of(one), now) for one in found)
    else:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            yield from threads.map(lambda one: _row(one, tables.of(one), now), found)


def from_whole(found: Iterable[Found]) -> Iterator[RunRow]:
    """Each run by its whole diagnosis."""
    from rltui.evidence.model import SEVERITY_RANK
    from rltui.report.build import build
    from rltui.session.run_reader import OpenedRun

    for one in found:
        opened = OpenedRun(one)
        try:
            opened.load()
            report = build(opened.frame())
        finally:
            opened.close()
        run = opened.run
        loud = [f for f in report.findings if f.status == "active" and f.severity != "info"]
        roots = sorted((f for f in loud if f.root is None), key=lambda f: -SEVERITY_RANK[f.severity])
        counts = Counter(f.severity for f in loud)
        written = max((f.mtime for f in opened.feeds), default=None)
        yield RunRow(
            id=report.run.id,
            host=one.place.name,
            path=report.run.path,
            framework=report.run.framework,
            algorithm=report.run.algorithm,
            state=report.run.state,
            last_step=report.run.steps.last,
            total_steps=report.run.steps.total,
            health=next((w for w in ("critical", "warning") if counts[w]), "ok" if report.checks else "unknown"),
            signs=tuple(f.title for f in roots),
            decision=report.verdict.decision,
            critical=counts["critical"],
            warnings=counts["warning"],
            updated=run.as_of if run.as_of is not None else written,
            is_file_time=run.as_of is None,
            first_rows=0,
            newest_rows=report.run.steps.rows or 0,
            whole=True,
            values=_values(run.series),
        )


@dataclass(frozen=True, slots=True)
class _Listed:
    """The files of a listing by path, and whether they were written at different times: `None` of a single file."""

    found: Found
    files: dict[str, FileStat]
    grew: bool | None


class _Tables:
    """What is asked of each listing, made once: a listing may hold thousands of files and of runs."""

    def __init__(self) -> None:
        self._made: dict[int, _Listed] = {}

    def of(self, found: Found) -> _Listed:
        key = id(found.listing)
        if key not in self._made:
            files = found.listing.files
            written = [file.mtime for file in files]
            grew = max(written) - min(written) > COPIED_S if len(written) > 1 else None
            self._made[key] = _Listed(found, {file.path: file for file in files}, grew)
        return self._made[key]


def _row(found: Found, listed: _Listed, now: float) -> RunRow:
    ends = read_ends(found, listed.files, _wanted())
    signs, looked = tail.signs(ends.series, ends.gap)
    state = ends.state.state
    if state in ("stalled", "unknown") and ends.step is not None and _is_fresh(ends, now) and _grows(listed, ends, now):
        state = "running"
    counts = Counter(sign.severity for sign in signs)
    texts = [sign.text for sign in signs]
    if state == "crashed":
        texts.insert(0, (ends.state.quote or ends.state.because)[:QUOTED])
    return RunRow(
        id=found.candidate.id,
        host=found.place.name,
        path=found.candidate.root,
        framework=ends.framework,
        algorithm=ends.algorithm,
        state=state,
        last_step=ends.step,
        total_steps=ends.planned,
        health=next((w for w in ("critical", "warning") if counts[w]), "ok" if looked else "unknown"),
        signs=tuple(texts),
        decision=None,
        critical=counts["critical"],
        warnings=counts["warning"],
        updated=ends.newest,
        is_file_time=ends.is_file_time,
        first_rows=min(ends.gap or 0, tail.FIRST),
        newest_rows=min(ends.newest_rows, tail.NEWEST),
        whole=ends.gap is None,
        values=_values(ends.series),
        note=ends.note,
    )


def _values(series: Callable[[str], Series | None]) -> dict[str, float]:
    """The newest finite value of each metric that may rank the runs; a key goes by the first name it has."""
    found: dict[str, tuple[str, float]] = {}
    for names in _order():
        for name in names:
            held = series(name)
            if held is not None and len(finite := held.finite()):
                found.setdefault(held.key, (name, float(finite.values[-1])))
    return dict(found.values())


def _is_fresh(ends: Ends, now: float) -> bool:
    """By the last write."""
    return ends.written is not None and now - ends.written < _patience(ends)


def _patience(ends: Ends) -> float:
    return max(FRESH_S, PACES * (ends.pace_s or 0.0))


def _grows(listed: _Listed, ends: Ends, now: float) -> bool:
    """Whether more than a fresh file says that the run goes on: rows of now, files of different ages, or, of a single
    file, a plan that is not done. A copy of an old log is fresh too."""
    if ends.newest is not None and not ends.is_file_time:
        ago = now - ends.newest
        return abs(ago) < (ZONES + 1) * ZONE_S and ago % ZONE_S < _patience(ends)
    return ends.planned is not None if listed.grew is None else listed.grew


_shared: tuple[Sequence[Found], float] = (), 0.0


def _take(found: Sequence[Found], now: float) -> None:
    global _shared
    _shared = found, now


def _part(of: slice) -> list[RunRow]:
    found, now = _shared
    return list(in_order(found[of], now))


def _in_two(found: Sequence[Found], now: float) -> Iterator[RunRow]:
    """The same with a forked process, which takes every second part: parsing does not run side by side in threads."""
    from multiprocessing import get_context

    parts = [slice(at, at + MANY // 4) for at in range(0, len(found), MANY // 4)]
    with ProcessPoolExecutor(1, get_context("fork"), _take, (found, now)) as other:
        theirs: list[Future[list[RunRow]]] = [other.submit(_part, part) for part in parts[1::2]]
        _take(found, now)
        for part in parts[::2]:
            yield from _part(part)
        for done in theirs:
            yield from done.result()


def numbered(rows: Sequence[RunRow]) -> list[RunRow]:
    """Runs of one id are told apart by where they are."""
    counts = Counter(row.id for row in rows)
    return [
        row if counts[row.id] == 1 else replace(row, id=f"{row.host}:{row.path}" if row.host else row.path)
        for row in rows
    ]
