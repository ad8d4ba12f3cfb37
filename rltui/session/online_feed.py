"""Runs of the W&B service as feeds: read a page at a time, then asked now and then for what is new."""

from __future__ import annotations

import os
import time as clock
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import nan

from rltui.discovery.found import Found, NotARun, RunCandidate
from rltui.readers.base import Record
from rltui.readers.wandb.online import OnlineReader
from rltui.session.feed import Batch, Source
from rltui.sources.base import FileStat, Listing, Place, SourceError
from rltui.sources.targets import WandbTarget
from rltui.sources.wandb_online import PAGE, SCHEME, OnlineError, OnlineRun, WandbPlace, completed, service

FORMAT = "wandb-online"
POLL_S = 15.0
ENDED_POLL_S = 300.0
"""A run that goes on is asked for this often, one that ended seldom: it may be resumed."""
END_STEPS = 50
"""Steps of the service's counter that are read where only the end is wanted."""

_place: WandbPlace | None = None


def online_runs(target: WandbTarget) -> list[Found]:
    """The run, or the newest runs of the project. Raises NotARun."""
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
    """One run of the service. `path` is the target that names it. With `ends` its newest rows alone are asked for."""

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
        """The next page of rows; when there is none, nothing until it is time to ask again."""
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
        """The end of the run, once, and when to ask again."""
        run = self._run
        ended = run is not None and run.ended
        self._not_before = clock.monotonic() + (ENDED_POLL_S if ended else POLL_S)
        if run is None or not ended or self._ended:
            self._ended = ended
            return []
        self._ended = True
        return self.reader.end(run, self._newest)

    def close(self) -> None:
        """The client keeps no connection that would have to be given back."""
        self._pages = None
