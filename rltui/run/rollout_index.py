"""Which steps a run has rollouts of, found without reading a text; any step's rollouts when asked.

Opening looks at names first. Dumps that name their step cost a stat; their samples are counted as long as that is cheap
(`COUNTED_BYTES`). Files that hold many steps (ms-swift's `completions.jsonl`, W&B tables, printed samples) have to be
read once. All reading is bounded: `READ_BYTES` of one file, less over a network.
"""

from __future__ import annotations

import json
import os
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as package_files

from rltui.readers.rollouts import dump, tables
from rltui.readers.rollouts.base import Block, Split
from rltui.run.rollouts import StepRollouts, prompt_key
from rltui.sources.base import Place, SourceError
from rltui.text import clean

READ_BYTES = 1 << 28
REMOTE_READ_BYTES = 1 << 23
COUNTED_BYTES = 1 << 28
"""Bytes of dumps of which the samples are counted when a run is opened; of the rest when they are read."""
READ_FILES = 200
"""Files without a step in their name that are read."""
SEARCHED_STEPS = 200
"""Steps that are looked through for one prompt."""


@dataclass(frozen=True, slots=True)
class Dump:
    """A file that may hold rollouts: its path, size in bytes, mtime in seconds."""

    path: str
    size: int
    mtime: float = 0.0


@dataclass(frozen=True, slots=True)
class StepEntry:
    """A step with rollouts. `count` is None until its files are read; `step` is None where the samples name none."""

    step: int | None
    split: Split
    count: int | None
    kind: dump.Kind
    files: tuple[str, ...]


@dataclass(slots=True)
class RolloutIndex:
    """The rollouts of a run. One thread owns it. `looked_in` says in words where samples were sought, in order: the
    training log, W&B tables, dump files; `problems` what could not be read."""

    place: Place
    root: str
    entries: tuple[StepEntry, ...] = ()
    looked_in: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    cap: int | None = None
    weights: tuple[float, ...] = ()
    _blocks: OrderedDict[str, Block] = field(default_factory=OrderedDict)

    def nearest(self, step: int | None, split: Split | None = None) -> StepEntry | None:
        """The entry of a step, else of the step nearest to it; the newest where no step is asked for. Training first
        where no split is named; None where the split has none."""
        found = [one for one in self.entries if split in (None, one.split)]
        if step is None:
            return found[-1] if found else None
        return min(found, key=lambda one: (_distance(one.step, step), one.split != "train"), default=None)

    def read(self, entry: StepEntry) -> StepRollouts:
        """The rollouts of a step."""
        return StepRollouts(
            entry.step,
            entry.split,
            [self._block(path) for path in entry.files],
            cap=self.cap,
            weights=self.weights,
        )

    def same_prompt(
        self, prompt: str, *, until: Callable[[], bool] = lambda: False
    ) -> list[tuple[StepEntry, list[int]]]:
        """Where else a prompt (as a dump holds it) was sampled: entries, and the places within each. Looks through at
        most 200 steps, evenly spread; `until` ends the search early."""
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
        """The block of a file. The last two stay in memory."""
        if path in self._blocks:
            self._blocks.move_to_end(path)
            return self._blocks[path]
        block = _read(self.place, path)
        self._blocks[path] = block
        if len(self._blocks) > 2:
            self._blocks.popitem(last=False)
        return block


def open_index(
    place: Place,
    root: str,
    dumps: Sequence[Dump],
    logs: Sequence[Dump],
    *,
    cap: int | None = None,
    weights: Sequence[float] = (),
) -> RolloutIndex:
    """Finds the steps. `dumps` are files that may hold samples, `logs` console logs that may have printed some."""
    index = RolloutIndex(place, root, cap=cap, weights=tuple(weights))
    tables_found = sum(dump.kind(one.path) == "table" for one in dumps)
    others = len(dumps) - tables_found
    found: dict[tuple[int | None, Split], dict[dump.Kind, list[tuple[str, int | None]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    problems: list[str] = []
    several: list[tuple[Dump, Split]] = []
    budget = COUNTED_BYTES if place.link() is None else 0
    for one in _worth_reading(place, dumps):
        step, split = dump.step_of(one.path, root), dump.split_of(one.path, root)
        if step is not None:
            count = None
            if one.size <= budget and dump.kind(one.path) != "json":
                budget -= one.size
                data = place.read(one.path, READ_BYTES)
                count = None if isinstance(data, SourceError) else dump.count(one.path, data)
            if count != 0:
                found[step, split][dump.kind(one.path)].append((one.path, count))
        else:
            several.append((one, split))
    covered = {split for _, split in found}  # a table says again what a dump says
    wanted = [(one, split) for one, split in several if dump.kind(one.path) != "table" or split not in covered]
    for one, split in wanted[-READ_FILES:]:
        problems += _take(index, one, split, found)
    if len(wanted) > READ_FILES:
        problems.append(f"of {len(wanted)} files that name no step the newest {READ_FILES} were read")
    has_dumps = bool(found)
    if not has_dumps:
        for one in logs:
            problems += _take(index, one, "train", found)
    index.entries = _entries(found)
    index.looked_in = (
        "" if has_dumps else f"the training log: {_many(len(logs), 'file')} read, no printed samples",
        f"the tables of W&B: {_many(tables_found, 'file') if tables_found else 'none'}",
        f"folders of samples and outputs: {_many(others, 'file') if others else 'none'}",
    )
    index.problems = tuple(problems)
    return index


def how_to_enable(framework: str | None) -> str:
    """How this framework is told to keep its rollouts."""
    known = _enable()
    return known.get(framework or "", known[""])


def nothing_found(index: RolloutIndex, framework: str | None) -> list[str]:
    """What to say of a run without rollouts: a limitation, where they were sought, and what would enable them."""
    return [
        "No generated text found: this is a limit of the monitoring, not a sign of health. Reward, length and format "
        "symptoms cannot be checked against samples.",
        *(f"Looked in {number}. {where}" for number, where in enumerate(filter(None, index.looked_in), 1)),
        *index.problems,
        f"To keep samples: {how_to_enable(framework)}.",
    ]


@cache
def _enable() -> dict[str, str]:
    found: dict[str, str] = json.loads((package_files("rltui.run") / "sample_logging.json").read_bytes())
    return found


def _take(
    index: RolloutIndex,
    one: Dump,
    split: Split,
    found: dict[tuple[int | None, Split], dict[dump.Kind, list[tuple[str, int | None]]]],
) -> list[str]:
    """Reads a file that holds any number of steps; problems in words."""
    block = index._block(one.path)
    counts = Counter(raw.step for raw in block.raws())
    for step, count in counts.items():
        found[step, split][dump.kind(one.path)].append((one.path, count))
    return [clean(f"{os.path.relpath(one.path, index.root)}: {block.note}")] if block.note else []


def _entries(
    found: dict[tuple[int | None, Split], dict[dump.Kind, list[tuple[str, int | None]]]],
) -> tuple[StepEntry, ...]:
    """Of each step and split, the files of the kind that is believed most."""
    entries = []
    for (step, split), kinds in found.items():
        kind = min(kinds, key=dump.KINDS.index)
        counts = [count for _, count in kinds[kind]]
        total = None if None in counts else sum(count or 0 for count in counts)
        entries.append(StepEntry(step, split, total, kind, tuple(path for path, _ in kinds[kind])))
    return tuple(sorted(entries, key=lambda one: (one.split, -1 if one.step is None else one.step)))


def _worth_reading(place: Place, dumps: Sequence[Dump]) -> list[Dump]:
    """Without what holds the same samples again: prime-rl's `effective` beside `all`, the older of tables that grow."""
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


def _read(place: Place, path: str) -> Block:
    limit = READ_BYTES if place.link() is None else REMOTE_READ_BYTES
    data = place.read(path, limit + 1)
    if isinstance(data, SourceError):
        return Block([], lambda _: [], skipped=1, note=data.text)
    return dump.read(path, data[:limit], cut=len(data) > limit)


def _distance(step: int | None, wanted: int) -> float:
    return float("inf") if step is None else abs(step - wanted)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
