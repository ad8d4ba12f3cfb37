"""Which steps of a run have rollouts, found without reading texts if possible, and the rollouts of any step on demand.

Opening checks names first. A dump that names its step costs one stat; its samples are counted as long as that is cheap
(`Bounds.counted`). Files that hold many steps (ms-swift's `completions.jsonl`, W&B tables, printed samples) must be
read once. All reading is bounded (`Bounds`). If a file grows with the run, its end is read."""

from __future__ import annotations

import os
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from rltui.frameworks.load import keep_samples
from rltui.rollouts.formats import dump, tables
from rltui.rollouts.formats.base import Block, Split
from rltui.rollouts.numbers import prompt_key
from rltui.rollouts.step import StepRollouts
from rltui.sources.base import Place, SourceError
from rltui.text import clean


class Bounds(Struct, frozen=True):
    """The most that is read. `dump`: bytes of a dump of one step. `growing`: bytes at the end of a file of many steps.
    `log`: bytes of a log that are searched for printed samples. `counted`: bytes of all dumps whose samples are counted
    on opening. `files`: number of files without a step in their name. A parquet file cannot be read in part, so it may
    have eight times the bytes."""

    dump: int
    growing: int
    log: int
    counted: int
    files: int


FULL = Bounds(1 << 28, 1 << 28, 1 << 28, 1 << 24, 200)
REMOTE = Bounds(1 << 23, 1 << 23, 1 << 23, 0, 50)
LIGHT = Bounds(1 << 23, 1 << 23, 1 << 20, 0, 20)
"""For the checks of a diagnosis, which read repeatedly while the training runs."""
LIGHT_REMOTE = Bounds(1 << 20, 1 << 20, 1 << 18, 0, 5)
PARQUET = 8
KEPT = 2
"""This many files and this many steps stay in memory."""
SEARCHED_STEPS = 200
"""The most steps that are searched for one prompt."""


class Dump(Struct, frozen=True):
    """A file that may hold rollouts: its path, size in bytes, mtime in seconds."""

    path: str
    size: int
    mtime: float = 0.0


class StepEntry(Struct, frozen=True):
    """A step with rollouts. `count`: None if its samples are not counted yet. `step`: None if the samples do not name a
    step."""

    step: int | None
    split: Split
    count: int | None
    kind: dump.Kind
    files: tuple[str, ...]


class RolloutIndex(Struct):
    """The rollouts of a run. One thread owns it. `looked_in`: the places that were searched for samples, in words and
    in order: the training log, W&B tables, dump files. `problems`: what could not be read."""

    place: Place
    root: str
    entries: tuple[StepEntry, ...] = ()
    looked_in: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    cap: int | None = None
    weights: tuple[float, ...] = ()
    bounds: Bounds = FULL
    sizes: Mapping[str, int] = field(default_factory=dict)  # of the files at the time when they were found
    times: Mapping[str, float] = field(default_factory=dict)
    _blocks: OrderedDict[str, Block] = field(default_factory=OrderedDict)
    _steps: OrderedDict[StepEntry, StepRollouts] = field(default_factory=OrderedDict)

    def nearest(self, step: int | None, split: Split | None = None) -> StepEntry | None:
        """The entry of the step, or of the nearest step; the last entry if `step` is None. Without a split, training
        comes before validation. None if the split has no entry."""
        found = [one for one in self.entries if split in (None, one.split)]
        if step is None:
            return found[-1] if found else None
        return min(found, key=lambda one: (_distance(one.step, step), one.split != "train"), default=None)

    def read(self, entry: StepEntry) -> StepRollouts:
        """The rollouts of a step."""
        if entry not in self._steps:
            blocks = [self._block(path) for path in entry.files]
            own = all(dump.step_of(path, self.root) is not None for path in entry.files)
            self._steps[entry] = StepRollouts(
                entry.step, entry.split, blocks, cap=self.cap, weights=self.weights, own=own
            )
            if len(self._steps) > KEPT:
                self._steps.popitem(last=False)
        self._steps.move_to_end(entry)
        return self._steps[entry]

    def same_prompt(
        self, prompt: str, *, until: Callable[[], bool] = lambda: False
    ) -> list[tuple[StepEntry, list[int]]]:
        """Where a prompt (as a dump holds it) was sampled: the entries, with the places in each. It searches at most
        200 steps, evenly spread; `until` ends the search early."""
        step = max(1, -(-len(self.entries) // SEARCHED_STEPS))
        key = prompt_key(prompt)
        found = []
        for entry in self.entries[::step]:
            if until():
                break
            places = self.read(entry).of_prompt(key)
            if places:
                found.append((entry, places))
        return found

    def _block(self, path: str) -> Block:
        """The block of a file."""
        if path not in self._blocks:
            self._blocks[path] = self._parsed(path)
            if len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(path)
        return self._blocks[path]

    def _parsed(self, path: str) -> Block:
        kind = dump.kind(path)
        grows = kind == "log" or (kind == "jsonl" and dump.step_of(path, self.root) is None)
        limit = self.bounds.growing if grows else self.bounds.dump * (PARQUET if kind == "parquet" else 1)
        if grows and self.sizes.get(path, 0) > limit:
            return dump.read_end(path, self._end(path, limit))
        data = self.place.read(path, limit)
        if isinstance(data, SourceError):
            return Block([], lambda _: [], skipped=1, note=data.text)
        return dump.read(path, data, cut=len(data) == limit)  # not sliced, as a copy may not fit in memory

    def _end(self, path: str, limit: int) -> bytes:
        follower = self.place.follow(path)
        try:
            return follower.tail(limit).data
        finally:
            follower.close()

    def prints_samples(self, path: str) -> bool:
        """Whether a log shows samples at its beginning or its end, each `bounds.log` bytes long."""
        head = self.place.head(path, self.bounds.log)
        if isinstance(head, SourceError) or dump.read(path, head, cut=True).has_samples():
            return not isinstance(head, SourceError)
        return (
            self.sizes.get(path, 0) > len(head) and dump.read_end(path, self._end(path, self.bounds.log)).has_samples()
        )


def open_index(
    place: Place,
    root: str,
    dumps: Sequence[Dump],
    logs: Sequence[Dump],
    *,
    cap: int | None = None,
    weights: Sequence[float] = (),
    bounds: Bounds | None = None,
) -> RolloutIndex:
    """Finds the steps. `dumps`: files that may hold samples. `logs`: console logs in which samples may be printed.
    `bounds`: by default `FULL` for files on this machine, else `REMOTE`."""
    bounds = bounds or (FULL if place.link() is None else REMOTE)
    sizes = {one.path: one.size for one in (*dumps, *logs)}
    times = {one.path: one.mtime for one in (*dumps, *logs)}
    index = RolloutIndex(place, root, cap=cap, weights=tuple(weights), bounds=bounds, sizes=sizes, times=times)
    tables_found = sum(dump.kind(one.path) == "table" for one in dumps)
    others = len(dumps) - tables_found
    found: dict[tuple[int | None, Split], dict[dump.Kind, list[tuple[str, int | None]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    problems: list[str] = []
    several: list[tuple[Dump, Split]] = []
    budget = bounds.counted
    for one in _worth_reading(place, dumps):
        step, split = dump.step_of(one.path, root), dump.split_of(one.path, root)
        if step is not None:
            count = None
            if one.size <= budget and dump.kind(one.path) != "json":
                budget -= one.size
                data = place.read(one.path, one.size)
                count = None if isinstance(data, SourceError) else dump.count(one.path, data)
            if count != 0:
                found[step, split][dump.kind(one.path)].append((one.path, count))
        else:
            several.append((one, split))
    covered = {split for _, split in found}  # tables repeat what dumps hold
    wanted = [(one, split) for one, split in several if dump.kind(one.path) != "table" or split not in covered]
    for one, split in wanted[-bounds.files :]:
        problems += _take(index, one, split, found)
    if len(wanted) > bounds.files:
        problems.append(f"only the newest {bounds.files} of {len(wanted)} files that name no step were read")
    has_dumps = bool(found)
    if not has_dumps:
        for one in logs:
            if bounds.log >= bounds.growing or index.prints_samples(
                one.path
            ):  # with light bounds its ends are searched first
                problems += _take(index, one, "train", found)
    index.entries = _entries(found)
    ends = "the ends of " if bounds.log < bounds.growing and any(one.size > bounds.log for one in logs) else ""
    index.looked_in = (
        "" if has_dumps else f"the training log: {ends}{_many(len(logs), 'file')} read, no printed samples",
        f"the tables of W&B: {_many(tables_found, 'file') if tables_found else 'none'}",
        f"folders of samples and outputs: {_many(others, 'file') if others else 'none'}",
    )
    index.problems = tuple(problems)
    return index


def nothing_found(index: RolloutIndex, framework: str | None) -> list[str]:
    """What to say about a run without rollouts: what that limits, where rollouts were searched for, and how to get
    them."""
    return [
        "No generated text found: this is a limit of the monitoring, not a sign of health. Reward, length and format "
        "symptoms cannot be checked against samples.",
        *(f"Looked in {number}. {where}" for number, where in enumerate(filter(None, index.looked_in), 1)),
        *index.problems,
        f"To keep samples: {keep_samples(framework)}.",
    ]


def _take(
    index: RolloutIndex,
    one: Dump,
    split: Split,
    found: dict[tuple[int | None, Split], dict[dump.Kind, list[tuple[str, int | None]]]],
) -> list[str]:
    """Adds the steps of a file that holds any number of them to `found`. Returns problems in words."""
    block = index._block(one.path)
    counts = Counter((raw.step, raw.split or split) for raw in block.raws())
    for (step, of_split), count in counts.items():
        found[step, of_split][dump.kind(one.path)].append((one.path, count))
    return [clean(f"{os.path.relpath(one.path, index.root)}: {block.note}")] if block.note else []


def _entries(
    found: dict[tuple[int | None, Split], dict[dump.Kind, list[tuple[str, int | None]]]],
) -> tuple[StepEntry, ...]:
    """One entry for each step and split, with the files of the most trusted kind."""
    entries = []
    for (step, split), kinds in found.items():
        kind = min(kinds, key=dump.KINDS.index)
        counts = [count for _, count in kinds[kind]]
        total = None if None in counts else sum(count or 0 for count in counts)
        entries.append(StepEntry(step, split, total, kind, tuple(path for path, _ in kinds[kind])))
    return tuple(sorted(entries, key=lambda one: (one.split, -1 if one.step is None else one.step)))


def _worth_reading(place: Place, dumps: Sequence[Dump]) -> list[Dump]:
    """The dumps, sorted by time, without those that repeat samples: prime-rl's `effective` beside `all`, and older
    versions of tables that grow."""
    names = {one.path for one in dumps}
    kept: list[Dump] = []
    growing: dict[str, Dump] = {}
    for one in dumps:
        if one.path.replace("/effective/", "/all/") != one.path and one.path.replace("/effective/", "/all/") in names:
            continue
        if dump.kind(one.path) == "table":
            head = place.head(one.path, 4096)
            if not isinstance(head, SourceError) and tables.is_cumulative(head):
                name = os.path.join(os.path.dirname(one.path), os.path.basename(one.path).split("_")[0])
                if name not in growing or growing[name].size < one.size:
                    growing[name] = one
                continue
        kept.append(one)
    return sorted([*kept, *growing.values()], key=lambda one: one.mtime)


def _distance(step: int | None, wanted: int) -> float:
    return float("inf") if step is None else abs(step - wanted)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
