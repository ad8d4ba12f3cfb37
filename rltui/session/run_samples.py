"""The samples of one run's rollouts: read by a thread of its own while the run is followed, at once when it is not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rltui.run.rollout_index import Dump
from rltui.run.run import Run
from rltui.run.samples import Samples
from rltui.session.rollout_config import length_cap, reward_weights
from rltui.session.samples import Asked, SampleReader, SampleWatch
from rltui.sources.base import FileStat, Place

if TYPE_CHECKING:
    from rltui.session.feeds import AnyFeed
    from rltui.session.tail_feed import TailFeed


class RunSamples:
    """Asks for the samples of a run as it stands at a step."""

    def __init__(self, place: Place, run: Run) -> None:
        self._run = run
        self._reader = SampleReader(place, run.path)
        self._watch: SampleWatch | None = None

    @property
    def latest(self) -> Samples | None:
        """What was read beside the run last, None so far."""
        return self._watch.latest if self._watch is not None else None

    def want(self, asked: Asked) -> None:
        """Has them read by a thread."""
        if self._watch is None:
            self._watch = SampleWatch(self._reader)
        self._watch.want(asked)

    def read(self, asked: Asked) -> Samples:
        return self._reader.read(asked)

    def asked(self, dumps: Iterable[FileStat], feeds: Iterable[AnyFeed | TailFeed], step: int | None) -> Asked:
        """What the reader has to know when the run stands at `step`. `dumps`: files that hold rollouts."""
        held = tuple(Dump(file.path, file.size, file.mtime) for file in dumps)
        logs = tuple(Dump(f.path, f.size, f.mtime) for f in feeds if f.format.endswith("console"))
        return Asked(held, logs, length_cap(self._run), reward_weights(self._run), self._run.framework, step)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
