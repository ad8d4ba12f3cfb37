"""Runs of the W&B service as feeds. The history is read page by page as records (rows, config, identity, end), then new
rows are polled."""

from __future__ import annotations

import os
import time as clock
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isnan, nan

from rltui.discovery.found import Found, NotARun, RunCandidate
from rltui.readers.base import NO_STEP, ConfigRecord, Exit, Record, RunInfo
from rltui.readers.config_file import flatten
from rltui.readers.keys import step_of, time_of
from rltui.readers.wandb.rows import RecordedRows
from rltui.session.feed import Batch, Source
from rltui.sources.base import FileStat, Listing, Place, SourceError
from rltui.sources.targets import WandbTarget
from rltui.sources.wandb_online import PAGE, SCHEME, OnlineError, OnlineRun, WandbPlace, completed, service

FORMAT = "wandb-online"
POLL_S = 15.0
ENDED_POLL_S = 300.0
"""A running run is polled every `POLL_S` seconds. A run that ended is polled this often, as it may be resumed."""
END_STEPS = 50
"""How many steps of the service's counter are read if only the end is wanted."""

_place: WandbPlace | None = None


class OnlineReader:
    """The reader of one run. It finds the step of a row as in a W&B log on disk."""

    format = "wandb-online"
    whole = False

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._rows = RecordedRows()
        self._config: Mapping[str, object] | None = None
        self._announced: str | None = None

    def identity(self, run: OnlineRun) -> list[Record]:
        """The run's identity and config, if they are new."""
        if run.config == self._config:
            return []
        self._config = run.config
        info = {"run_id": run.id, "name": run.name, "project": run.project}
        if run.created:
            info["start_time"] = repr(run.created)
        kept = {key: value for key, value in run.config.items() if not key.startswith("_")}
        if run.tags:
            kept["wandb_tags"] = list(run.tags)
        return [RunInfo(info), ConfigRecord(flatten(kept), "wandb config")]

    def rows(self, logged: Sequence[Mapping[str, object]]) -> list[Record]:
        """Converts rows of the history, in order, into records."""
        whole = []
        for number, row in enumerate(logged):
            if not isinstance(row, Mapping):
                self.skipped["row that is no object"] += 1
                self.skipped_at.setdefault("row that is no object", f"row {number}")
                continue
            step = step_of(row.get("_step"))[0]
            cells = {str(key): value for key, value in row.items() if value is not None}
            whole.append((NO_STEP if step is None else step, time_of(row.get("_timestamp")), cells))
        out: list[Record] = [*self._rows.rows(whole)]
        if self._rows.step_key != self._announced and self._rows.step_key is not None:
            self._announced = self._rows.step_key
            out.append(RunInfo({"step_key": self._announced}))
        return out

    @staticmethod
    def end(run: OnlineRun, newest: float) -> list[Record]:
        """The end that the service states. `newest`: the time of the newest row, NaN if there is none."""
        code = {"finished": 0}.get(run.state, 1)
        return [Exit(code, None if isnan(newest) else newest)] if run.ended else []

    def feed(self, data: bytes) -> list[Record]:
        """Empty, as nothing comes as bytes."""
        return []

    def finish(self) -> list[Record]:
        """Empty, as rows come whole and nothing is held back."""
        return []


def online_runs(target: WandbTarget) -> list[Found]:
    """The run, or the newest runs of the project. Raises `NotARun`."""
    global _place
    try:
        target = completed(target, os.environ)
        _place = _place or service()
        project = f"{target.entity}/{target.project}"
        found = [_place.run(f"{project}/{target.run}")] if target.run else _place.runs(project)
    except OnlineError as problem:
        raise NotARun(str(problem)) from None
    if not found:
        raise NotARun(f"{project} holds no run")
    names = Counter(run.name for run in found)
    return [_found(_place, run, run.name if names[run.name] == 1 else f"{run.name} ({run.id})") for run in found]


def _found(place: WandbPlace, run: OnlineRun, name: str) -> Found:
    path = SCHEME + run.path
    listing = Listing(path, (FileStat(path, 0, run.created, run.path),), (), True)
    return Found(RunCandidate(name, path, ((path, FORMAT),)), place, listing)


def _service(place: Place) -> WandbPlace:
    if not isinstance(place, WandbPlace):
        raise TypeError("a run of the W&B service on another place")
    return place


@dataclass(slots=True)
class OnlineFeed(Source):
    """One run of the service. `path`: the target that names it. With `ends` only its newest rows are requested."""

    ends: bool = False
    reader: OnlineReader = field(default_factory=OnlineReader, init=False)
    _pages: Iterator[Mapping[str, object]] | None = field(default=None, init=False)
    _run: OnlineRun | None = field(default=None, init=False)
    _next_step: int = field(default=0, init=False)
    _newest: float = field(default=nan, init=False)
    _ended: bool = field(default=False, init=False)
    _not_before: float = field(default=0.0, init=False)

    @property
    def watched(self) -> list[str]:
        return []

    def read(self, max_bytes: int = 1 << 20) -> Batch:
        """The next page of rows. After the last page, the batch is empty until it is time to ask again."""
        if self._pages is None and clock.monotonic() < self._not_before:
            return Batch([], 0, False)
        online, records = _service(self.place), list[Record]()
        try:
            if self._pages is None:
                self._run = online.run(self.path.removeprefix(SCHEME))
                records += self.reader.identity(self._run)
                if self.ends and not self._next_step:
                    self._next_step = self.gap = max(0, online.last_step(self._run.path) - END_STEPS)
                self._pages = online.history(self._run.path, self._next_step)
            logged = list(islice(self._pages, PAGE))
        except OnlineError as problem:
            self._pages, self._not_before = None, clock.monotonic() + POLL_S
            return Batch(records, 0, False, error=SourceError(self.path, "io", str(problem)))
        records += self._rows(logged)
        if len(logged) == PAGE:
            return Batch(records, 1, True)
        self._pages = None
        return Batch(records + self._end(), len(logged), False)

    def _rows(self, logged: list[Mapping[str, object]]) -> list[Record]:
        for row in logged:
            if not isinstance(row, Mapping):
                continue
            step, time = row.get("_step"), row.get("_timestamp")
            if isinstance(step, int):
                self._next_step = max(self._next_step, step + 1)
            if isinstance(time, int | float):
                self._newest = self.mtime = float(time)
        return self.reader.rows(logged)

    def _end(self) -> list[Record]:
        """The end of the run, given once. Also sets when to ask again."""
        run = self._run
        ended = run is not None and run.ended
        self._not_before = clock.monotonic() + (ENDED_POLL_S if ended else POLL_S)
        if run is None or not ended or self._ended:
            self._ended = ended
            return []
        self._ended = True
        return self.reader.end(run, self._newest)

    def close(self) -> None:
        """Forgets the pages. The client keeps no connection that must be closed."""
        self._pages = None
