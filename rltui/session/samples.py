"""The samples that a run's checks use: a few dumps, each read once, in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Condition, Thread
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from rltui.frameworks.load import keep_samples
from rltui.readers.literals import NO_VALUE, literal
from rltui.rollouts.formats import dump
from rltui.rollouts.index import LIGHT, LIGHT_REMOTE, Dump, RolloutIndex, StepEntry, open_index
from rltui.rollouts.samples import Samples, SampleStats, chosen
from rltui.run.run import Run
from rltui.sources.base import FileStat, Place

if TYPE_CHECKING:
    from rltui.session.container_feeds import AnyFeed


def length_cap(run: Run) -> int | None:
    """The length limit of completions in tokens; None if the config does not say."""
    entry = run.config.get("max_response_length")
    value = entry.value if entry else None
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def reward_weights(run: Run) -> tuple[float, ...]:
    """The weights of the reward functions; empty if the config does not say."""
    entry = run.config.get("reward_weights")
    value = entry.value if entry else None
    if isinstance(value, str):
        try:
            value = literal(value)
        except NO_VALUE:
            return ()
    if not isinstance(value, list | tuple):
        return ()
    weights = [float(w) for w in value if isinstance(w, int | float)]
    return tuple(weights) if len(weights) == len(value) else ()


TEXTS = 256
"""How many texts of a dump are checked."""
KEPT = 1000
"""The numbers of at most about this many dumps are kept."""
GROWN = 1.25
"""A log is searched again for printed samples when it is this many times as large."""


class Asked(NamedTuple):
    """What is known about a run when its samples are requested. `until`: the step up to which they are read; None for
    all."""

    dumps: tuple[Dump, ...]
    logs: tuple[Dump, ...]
    cap: int | None
    weights: tuple[float, ...]
    framework: str | None
    until: int | None


class SampleReader:
    """Reads the dumps that `chosen` selects, and keeps their numbers. Only one thread may use it at a time."""

    def __init__(self, place: Place, root: str) -> None:
        self._place = place
        self._root = root
        self._index: tuple[Asked, RolloutIndex] | None = None
        self._stats: dict[object, SampleStats] = {}

    def read(self, asked: Asked, stop: Callable[[], bool] = lambda: False) -> Samples:
        """The samples of a run up to `asked.until`. `stop` ends the reading early and returns what was read by then."""
        index = self._opened(asked)
        enable = keep_samples(asked.framework)
        entries = [one for one in index.entries if one.split == "train"] or list(index.entries)
        if not entries:
            return Samples(pending=False, missing=", ".join(filter(None, index.looked_in)), enable=enable)
        by_step = {one.step: one for one in entries if one.step is not None}
        steps = tuple(sorted(by_step))
        last = asked.until if asked.until is not None else steps[-1] if steps else 0
        nameless = next((one for one in entries if one.step is None), None)
        for step in chosen(steps, last)[::-1]:
            if stop():
                break
            self._numbers(index, by_step[step], asked, step == steps[-1])
        keys = {step: _key(index, one, asked, step == steps[-1]) for step, one in by_step.items()}
        known = {step: found for step, key in keys.items() if (found := self._stats.get(key)) and found.samples}
        read = any(key in self._stats for key in keys.values())
        if read and not known:
            missing = f"{len(steps)} dumps are there, but no record that was read is a sample"
            return Samples(pending=False, missing=missing, enable=enable)
        if len(self._stats) > KEPT:
            self._stats = {keys[step]: known[step] for step in chosen(steps, last) if step in known}
        return Samples(
            steps,
            known,
            None if nameless is None or steps or stop() else self._numbers(index, nameless, asked, True),
            False,
            "",
            enable,
        )

    def _numbers(self, index: RolloutIndex, entry: StepEntry, asked: Asked, newest: bool) -> SampleStats:
        key = _key(index, entry, asked, newest)
        if key not in self._stats:
            self._stats[key] = index.read(entry).stats(TEXTS)
        return self._stats[key]

    def _opened(self, asked: Asked) -> RolloutIndex:
        """The index of these files; the previous one if nothing changed except that logs grew a little."""
        if self._index is not None:
            before, index = self._index
            logs = asked.logs if asked.dumps else _grown(before.logs, asked.logs)
            if asked._replace(logs=logs, until=None, framework=None) == before:
                return index
        bounds = LIGHT if self._place.link() is None else LIGHT_REMOTE
        index = open_index(
            self._place,
            self._root,
            asked.dumps,
            asked.logs,
            cap=asked.cap,
            weights=asked.weights,
            bounds=bounds,
        )
        self._index = asked._replace(until=None, framework=None), index
        return index


class SampleWatch:
    """Reads samples on its own thread; only the newest request counts. `latest`: what it found; None before the first
    read."""

    def __init__(self, reader: SampleReader) -> None:
        self.latest: Samples | None = None
        self._reader = reader
        self._asked: Asked | None = None
        self._before: Asked | None = None  # the last request, without its step
        self._news = Condition()
        self._closed = False
        self._running = False

    def want(self, asked: Asked) -> None:
        """Requests that the samples are read again soon, because the run has advanced."""
        with self._news:
            nowhere = not (asked.dumps or asked.logs) and asked._replace(until=None) == self._before
            self._before = asked._replace(until=None)
            if nowhere:
                return
            self._asked = asked
            self._news.notify_all()
            if not self._running and not self._closed:
                self._running = True
                Thread(target=self._work, name="rltui-samples", daemon=True).start()

    def close(self) -> None:
        """Makes the thread end soon."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._asked is not None or self._closed)
                asked, self._asked = self._asked, None
                if asked is None or self._closed:
                    return
            try:
                self.latest = self._reader.read(asked, lambda: self._closed)
            except Exception as error:  # the run is still followed without its samples
                why = f"they could not be read ({type(error).__name__})"
                self.latest = replace(self.latest or Samples(), pending=False, missing=why)


def _key(index: RolloutIndex, entry: StepEntry, asked: Asked, newest: bool) -> object:
    """What the numbers of a step depend on. A file that grows during the run changes only its newest step."""
    states = tuple(
        (path, index.sizes.get(path), index.times.get(path))
        for path in entry.files
        if newest or dump.step_of(path, index.root) is not None
    )
    return entry.step, entry.split, states, asked.cap, asked.weights


def _grown(before: tuple[Dump, ...], now: tuple[Dump, ...]) -> tuple[Dump, ...]:
    """The logs in their previous state if none is new or much longer; else the new ones."""
    sizes = {one.path: one.size for one in before}
    same = len(before) == len(now) and all(
        one.path in sizes and sizes[one.path] <= one.size <= GROWN * sizes[one.path] for one in now
    )
    return before if same else now


class RunSamples:
    """Asks for the samples of a run up to a step."""

    def __init__(self, place: Place, run: Run) -> None:
        self._run = run
        self._reader = SampleReader(place, run.path)
        self._watch: SampleWatch | None = None

    @property
    def latest(self) -> Samples | None:
        """What the thread read last; None before the first read."""
        return self._watch.latest if self._watch is not None else None

    def want(self, asked: Asked) -> None:
        """Asks a thread to read the samples."""
        if self._watch is None:
            self._watch = SampleWatch(self._reader)
        self._watch.want(asked)

    def read(self, asked: Asked) -> Samples:
        return self._reader.read(asked)

    def asked(self, dumps: Iterable[FileStat], feeds: Iterable[AnyFeed], step: int | None) -> Asked:
        """What the reader needs to read samples up to `step`. `dumps`: the files that hold rollouts."""
        held = tuple(Dump(file.path, file.size, file.mtime) for file in dumps)
        logs = tuple(Dump(f.path, f.size, f.mtime) for f in feeds if f.format.endswith("console"))
        return Asked(held, logs, length_cap(self._run), reward_weights(self._run), self._run.framework, step)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
