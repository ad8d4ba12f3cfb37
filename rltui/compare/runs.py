"""A list of many runs, as a table for a terminal and as JSON: the state of each, from the ends of its logs or from
whole logs. Runs that need attention come first."""

from __future__ import annotations

import gc
import json
import os
import sys
import time as clock
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from rltui.compare.tables import primary_order
from rltui.diagnosis import tail
from rltui.discovery.found import Found
from rltui.evidence.guard import error_text
from rltui.manual.glossary import called
from rltui.plots.numbers import duration, number
from rltui.prose import counted, joined
from rltui.records import as_dict
from rltui.run.table import Series
from rltui.session.ends import ENDS, WHOLE_MOST, Extent
from rltui.session.known import Known, ends_in_error, gap_row
from rltui.session.run_reader import RunReader
from rltui.settings import SettingsError
from rltui.sources import memory

AT_ONCE = 16
"""How many runs of remote machines are read in parallel: read one by one, each would wait for the network."""
NOT_LOOKED = "not looked"
BROKE_OFF = ("crashed", "stalled")
"""States of a run that did not reach its end."""
HEALTH = {"continue": "ok", "continue-watch": "warning", "not-enough-evidence": "unknown"}
"""Decision of the verdict -> health. Any other decision is against continuing, so the health is critical."""
QUOTED = 100  # most characters of the line that is quoted for a crash
MANY = 128
"""With this many runs or more, other processes share the work."""
MOST_PROCESSES = 8
"""A login node has many cores, but they are not all ours."""
SCHEMA = "rltui.runs/1"


class RunRow(Struct, frozen=True):
    """One run in the list. `id`: as in its report. `name`: as listed, unique in the list.

    `framework`, `algorithm`, `state`, `last_step`, `total_steps`: None if unknown, else the same as in the whole run.
    `because`: the state in words. `health`: critical, warning, ok, unknown, or "not looked" if there was no diagnosis
    and the ends show no trouble. `signs`: the reasons for the health. `decision`, `badge`: from the whole log; None if
    only its ends were read. `updated`: time of the newest row, or of the last write if rows have no time
    (`is_file_time`), in seconds since the epoch. `first_rows`, `newest_rows`: how many rows were examined at each end;
    `whole`: no rows lie between. `values`: newest value of each metric that may rank the runs.
    """

    id: str
    name: str
    host: str
    path: str
    framework: str | None
    algorithm: str | None
    state: str | None
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
    because: str = ""
    badge: str | None = None
    fault: str = ""

    @property
    def attention(self) -> int:
        """How much attention the run needs. Trouble counts most, and more if the run crashed or still costs money. Runs
        that did not reach their end follow."""
        trouble = {"critical": 4, "warning": 2}.get(self.health, 0)
        return trouble + {"crashed": 3, "stalled": 1, "running": 1 if trouble else 0}.get(self.state or "", 0)


def ranked(rows: Iterable[RunRow]) -> list[RunRow]:
    """The rows, those that need the most attention first; among equals the newest first."""
    return sorted(rows, key=lambda r: (-r.attention, -(r.updated or 0.0), r.name))


@cache
def _order() -> tuple[tuple[str, ...], ...]:
    return tuple(line.names for line in primary_order().order if line.names)


def primary(rows: Sequence[RunRow]) -> str | None:
    """The metric that is shown for each run: the first in the order that more than half of the runs log, else the one
    that most runs log."""
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
    """A row for each run from the ends of its logs, in no order. If there are many runs, forked processes share the
    work, so do not call this in a process that runs threads."""
    now = clock.time() if now is None else now
    local = [one for one in found if one.place.link() is None]
    if len(local) >= MANY and sys.platform == "linux":
        memory.keep()
        yield from _shared_out(local, now)
        found = [one for one in found if one.place.link() is not None]
    yield from in_order(found, now)


def in_order(found: Sequence[Found], now: float | None = None) -> Iterator[RunRow]:
    """Like `from_ends`, but in the order of `found` and in this process. Runs of remote machines are read in
    parallel."""
    now = clock.time() if now is None else now
    if all(one.place.link() is None for one in found):
        yield from (_by_ends(one, now) for one in found)
    else:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            yield from threads.map(lambda one: _by_ends(one, now), found)


def from_whole(found: Iterable[Found], now: float | None = None) -> Iterator[RunRow]:
    """A row for each run from its whole diagnosis."""
    for one in found:
        yield of_whole(one, now)


def of_whole(found: Found, now: float | None = None, cancelled: Callable[[], bool] = lambda: False) -> RunRow:
    """The row of one run from its whole diagnosis. `cancelled` is called between blocks; if it returns True, reading
    stops and the row covers what was read so far."""
    try:
        return _of_whole(found, now, cancelled)
    except SettingsError:
        raise
    except Exception as error:
        return _not_read(found, error)


def _not_read(found: Found, error: Exception) -> RunRow:
    """The row of a run that cannot be read because of a fault in rltui. The other runs are still listed."""
    fault = error_text(error)
    written = max((found.listing.by_path[path].mtime for path, _ in found.candidate.files), default=None)
    return RunRow(
        id=found.candidate.id,
        name=found.candidate.id,
        host=found.place.name,
        path=found.candidate.root,
        framework=None,
        algorithm=None,
        state=None,
        last_step=None,
        total_steps=None,
        health=NOT_LOOKED,
        signs=(),
        decision=None,
        critical=0,
        warnings=0,
        updated=written,
        is_file_time=True,
        first_rows=0,
        newest_rows=0,
        whole=True,
        values={},
        note=f"not read, by a fault of rltui: {fault}",
        fault=fault,
    )


def _of_whole(found: Found, now: float | None, cancelled: Callable[[], bool]) -> RunRow:
    from rltui.evidence.model import SEVERITY_RANK
    from rltui.report.build import build

    reader = RunReader(found)
    try:
        while not cancelled() and not reader.read_block().done:
            pass
        report = build(reader.frame(now))
    finally:
        reader.close()
    loud = [f for f in report.findings if f.status == "active" and f.severity != "info"]
    roots = sorted((f for f in loud if f.root is None), key=lambda f: -SEVERITY_RANK[f.severity])
    counts = Counter(f.severity for f in loud)
    row = _row(found, reader, reader.known(clock.time() if now is None else now))
    return replace(
        row,
        health=HEALTH.get(report.verdict.decision, "critical"),
        signs=tuple(f.title for f in roots),
        decision=report.verdict.decision,
        badge=report.verdict.badge,
        critical=counts["critical"],
        warnings=counts["warning"],
        first_rows=0,
        newest_rows=report.run.steps.rows or 0,
    )


def _by_ends(found: Found, now: float) -> RunRow:
    """The row of `_of_ends`, or a row that reports its failure."""
    try:
        return _of_ends(found, now)
    except SettingsError:
        raise
    except Exception as error:
        return _not_read(found, error)


def _of_ends(found: Found, now: float) -> RunRow:
    """The row of one run from the ends of its logs. It shows signs of trouble; their absence proves nothing. If the
    last lines name an error and only the unread lines can show whether it ended the run, these are read too."""
    reader, known = _read(found, ENDS, now)
    if known.state is None and ends_in_error(reader.run, reader.feeds, now):
        reader, known = _read(found, replace(ENDS, whole_bytes=WHOLE_MOST), now)
    row = _row(found, reader, known)
    gap = gap_row(reader.run, reader.feeds)
    signs, _ = tail.signs(reader.run.all_series(), gap)
    counts = Counter(sign.severity for sign in signs)
    texts = [sign.text for sign in signs]
    if known.state is not None and known.state.state == "crashed":
        texts.insert(0, (known.state.quote or known.state.because)[:QUOTED])
    rows = reader.run.history.table.n
    return replace(
        row,
        health=next((w for w in ("critical", "warning") if counts[w]), NOT_LOOKED),
        signs=tuple(texts),
        critical=counts["critical"],
        warnings=counts["warning"],
        first_rows=min(gap or 0, tail.FIRST),
        newest_rows=min(rows - (gap or 0), tail.NEWEST),
        whole=gap is None,
    )


def _read(found: Found, extent: Extent, now: float) -> tuple[RunReader, Known]:
    reader = RunReader(found, extent=extent)
    try:
        reader.load()
    finally:
        reader.close()
    return reader, reader.known(now)


def _row(found: Found, reader: RunReader, known: Known) -> RunRow:
    """The fields that do not depend on how much of the run was read."""
    run = reader.run
    written = max((feed.mtime for feed in reader.feeds), default=None)
    return RunRow(
        id=run.id,
        name=found.candidate.id,
        host=found.place.name,
        path=run.path,
        framework=known.framework,
        algorithm=known.algorithm,
        state=known.state.state if known.state is not None else None,
        last_step=known.last_step,
        total_steps=known.planned_steps,
        health=NOT_LOOKED,
        signs=(),
        decision=None,
        critical=0,
        warnings=0,
        updated=run.as_of if run.as_of is not None else written,
        is_file_time=run.as_of is None,
        first_rows=0,
        newest_rows=0,
        whole=True,
        values=_values(run.all_series(), gap_row(reader.run, reader.feeds) or 0),
        note=joined(dict.fromkeys(feed.note for feed in reader.feeds if feed.note and feed.gap)),
        because=known.state.because if known.state is not None else "",
    )


def _values(series: Callable[[str], Series | None], gap: int) -> dict[str, float]:
    """The newest finite value of each metric that may rank the runs, each key under the first of its names in the
    order. A metric without a value from row `gap` on is left out: the unread rows before `gap` may hold newer
    values."""
    found: dict[str, tuple[str, float]] = {}
    for names in _order():
        for name in names:
            held = series(name)
            if held is not None and len(finite := held.finite()) and int(finite.rows[-1]) >= gap:
                found.setdefault(held.key, (name, float(finite.values[-1])))
    return dict(found.values())


_shared: tuple[Sequence[Found], float] = (), 0.0


def _take(found: Sequence[Found], now: float) -> None:
    global _shared
    _shared = found, now


def _part(of: slice) -> list[RunRow]:
    found, now = _shared
    return list(in_order(found[of], now))


def _shared_out(found: Sequence[Found], now: float) -> Iterator[RunRow]:
    """Like `from_ends`, with forked processes, because parsing does not run in parallel in threads. The forked
    processes begin with the first part, this process with the last."""
    from multiprocessing import get_context

    ahead = {one.candidate.files[0][1]: one for one in found}
    yield from in_order(list(ahead.values()), now)  # all processes inherit what these import and compile
    gc.freeze()
    found = [one for one in found if ahead[one.candidate.files[0][1]] is not one]
    parts = [slice(at, at + MANY // 8) for at in range(0, len(found), MANY // 8)]
    others = min(os.cpu_count() or 1, MOST_PROCESSES, len(parts)) - 1
    _take(found, now)
    with ProcessPoolExecutor(max(1, others), get_context("fork"), _take, (found, now)) as pool:
        shared: list[Future[list[RunRow]]] = [pool.submit(_part, part) for part in parts]
        for part, theirs in zip(reversed(parts), reversed(shared), strict=True):
            if not theirs.cancel():
                break
            yield from _part(part)
        for theirs in shared:
            if not theirs.cancelled():
                yield from theirs.result()


def numbered(rows: Sequence[RunRow]) -> list[RunRow]:
    """Gives runs with the same name different names: their host and path."""
    counts = Counter(row.name for row in rows)
    return [
        row if counts[row.name] == 1 else replace(row, name=f"{row.host}:{row.path}" if row.host else row.path)
        for row in rows
    ]


def limits(rows: Sequence[RunRow]) -> str:
    """What the list is based on, and what it cannot show."""
    if not any(row.decision is None for row in rows):
        return "verdicts from whole logs"
    cut = [row for row in rows if not row.whole]
    first, newest = max(row.first_rows for row in rows), max(row.newest_rows for row in rows)
    which = f"the first {first} and last {newest} rows at most" if cut else f"the last {newest} rows at most"
    size = f" ({ENDS.head_bytes >> 10} + {ENDS.tail_bytes >> 10} KiB of a log)" if cut else ""
    return f"health from {which}{size}, which do not show onset, peak, trend or earlier validation"


def verdict(row: RunRow) -> str:
    """The badge if the whole log was read. Else, marked `tail`, the trouble that the ends of the log show, or that the
    run broke off. Else that the run was not diagnosed."""
    if row.badge is not None:
        return row.badge
    if row.health != NOT_LOOKED:
        return f"tail: {row.health}"
    return f"tail: {row.state}" if row.state in BROKE_OFF else called(NOT_LOOKED)


def to_json(rows: Sequence[RunRow]) -> str:
    """The JSON `rltui.runs/1`. `updated` is in ISO 8601; unknown values are null."""
    listed = []
    for row in rows:
        known = as_dict(row)
        known["updated"] = None if row.updated is None else _iso(row.updated)
        listed.append(known)
    data = {"schema": SCHEMA, "basis": limits(rows), "primary": primary(rows), "runs": listed}
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _iso(time: float) -> str | None:
    try:
        return datetime.fromtimestamp(time, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def to_text(rows: Sequence[RunRow], now: float) -> str:
    """Aligned columns for a terminal, one line per run, followed by what the list is based on."""
    name = primary(rows)
    cells = [("run", "framework", "state", "step", "age", name or "metric", "verdict", "because")]
    several = len({row.host for row in rows}) > 1
    for row in rows:
        cells.append(
            (
                f"{row.host or 'here'}:{row.name}" if several else row.name,
                " ".join(x for x in (row.framework, row.algorithm) if x) or "unknown",
                row.state or "unknown",
                step(row),
                age(row, now),
                number(row.values.get(name), missing="-") if name else "-",
                verdict(row),
                joined([*row.signs[:3], row.note]),
            )
        )
    widths = [max(len(line[i]) for line in cells) for i in range(7)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(x[:7], widths, strict=True)), x[7]]).rstrip() for x in cells]
    more = ". --full reads the whole logs" if any(row.decision is None for row in rows) else ""
    return "\n".join([*lines, "", f"{counted(len(rows), 'run')}: {limits(rows)}{more}"]) + "\n"


def step(row: RunRow) -> str:
    """Newest step and planned number of steps: `40/300`."""
    if row.last_step is None:
        return "-"
    return f"{row.last_step}/{row.total_steps}" if row.total_steps else str(row.last_step)


def age(row: RunRow, now: float) -> str:
    """How old the newest row is; with "(file)" if only the time of the last write is known."""
    if row.updated is None:
        return "-"
    return f"{duration(max(0.0, now - row.updated))}{' (file)' if row.is_file_time else ''}"
