"""What `rltui rollouts` prints: a table of steps, and one step in full. As plain data, for JSON and for text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from rltui.records import as_dict
from rltui.rollouts.formats.base import Rollout, Split
from rltui.rollouts.index import RolloutIndex, StepEntry, nothing_found
from rltui.rollouts.samples import Bar, SampleStats
from rltui.rollouts.step import Group, Order, StepRollouts, Wanted
from rltui.text import clean

SCHEMA = "rltui.rollouts/1"
ROWS = 40
"""The number of steps that the table shows. If there are more: an even spread that ends with the newest."""
TABLE_SAMPLES = 50_000
"""The number of samples that are read for the table. If dumps are larger, fewer steps are shown."""
GROUPS = 16
"""The number of groups shown in text and JSON."""
COMMON = 24
"""If all prompts begin with the same text of this length, it is left out."""


class GroupSummary(Struct, frozen=True):
    """The samples of one prompt: `prompt` is its beginning; rewards are in the order of the file."""

    prompt: str
    samples: int
    rewards: tuple[float, ...]
    mean: float | None
    spread: float | None
    zero_variance: bool | None
    truncated: int | None
    length_mean: float | None


class StepDetail(Struct, frozen=True):
    """One step. `groups` are those with the widest spread of rewards, then the rest, at most 16 of `group_count`."""

    step: int | None
    split: Split
    stats: SampleStats
    skipped: int
    length_cap: int | None  # in `length_unit`
    length_unit: str  # of the histogram: tokens, or characters where the dump says none
    rewards: tuple[Bar, ...]
    lengths: tuple[Bar, ...]
    reward_course: tuple[float | None, ...]  # of tenths, where samples name no step
    group_count: int
    groups: tuple[GroupSummary, ...]
    best: Rollout | None
    worst: Rollout | None
    marked: tuple[tuple[str, Rollout], ...]  # one example each: truncated, empty, repeated, invalid, past its end
    notes: tuple[str, ...]


class RolloutReport(Struct, frozen=True):
    """Everything that is printed about a run's rollouts. `limitation` is empty if there are rollouts."""

    run: str
    path: str
    entries: tuple[StepEntry, ...]
    table: tuple[SampleStats, ...]
    detail: StepDetail | None
    limitation: tuple[str, ...]
    notes: tuple[str, ...]
    same_prompt: tuple[tuple[int | None, Rollout], ...] = ()  # of the widest group: its best sample at each step
    asked: str = ""  # which samples were asked for, in words
    chosen_count: int = 0
    chosen: tuple[Rollout, ...] = ()  # the first of them


class SampleChoice(Struct, frozen=True):
    """The samples of the step that are printed one by one: filtered, sorted (the highest first), at most `limit`."""

    wanted: Wanted | None = None
    text: str = ""
    order: Order = "file"
    reverse: bool = False
    limit: int = 10

    def __str__(self) -> str:
        way = ", the lowest first" if self.reverse else ", the highest first"
        sorted_by = "in the order of the file" if self.order == "file" else f"by {self.order}{way}"
        parts = [self.wanted or "", f"with “{clean(self.text)}”" if self.text else "", sorted_by]
        return " · ".join(part for part in parts if part)


def collect(
    index: RolloutIndex,
    run: str,
    path: str,
    framework: str | None,
    entry: StepEntry | None,
    same_prompt: bool = False,
    choice: SampleChoice | None = None,
) -> RolloutReport:
    """Reads the steps of the table and one step in full: `entry`, else the newest of training. `same_prompt` looks in
    the other steps for the prompt whose rewards spread most there; `choice` adds samples of the step."""
    run, path = clean(run), clean(path)
    if not index.entries:
        return RolloutReport(run, path, (), (), None, tuple(nothing_found(index, framework)), ())
    entry = entry or newest(index)
    shown = _spread(index.entries)
    table = tuple(index.read(one).stats() for one in shown)
    notes = list(index.problems)
    if len(shown) < len(index.entries):
        notes.append(f"numbers of {len(shown)} of {len(index.entries)} steps (--step N shows any other)")
    read = index.read(entry)
    across = _across(index, read) if same_prompt else ()
    entries = tuple(replace(one, files=tuple(map(clean, one.files))) for one in index.entries)
    report = RolloutReport(run, path, entries, table, detail(read), (), tuple(notes), across)
    if choice is None:
        return report
    highest_first = not choice.reverse if choice.order != "file" else choice.reverse
    places = read.select(wanted=choice.wanted, text=choice.text, order=choice.order, reverse=highest_first)
    chosen = tuple(read.page(places[: choice.limit]))
    return replace(report, asked=str(choice), chosen_count=len(places), chosen=chosen)


def _across(index: RolloutIndex, step: StepRollouts) -> tuple[tuple[int | None, Rollout], ...]:
    widest = max(step.groups, key=lambda group: group.spread or 0.0, default=None)
    prompt = None if widest is None else step.prompt_of(widest.members[0])
    if prompt is None:
        return ()
    found = []
    for entry, places in index.same_prompt(prompt):
        there = index.read(entry)
        best = max(places, key=lambda place: there.reward(place) or 0.0)
        found.append((entry.step, there.rollout(best)))
    return tuple(found)


def newest(index: RolloutIndex) -> StepEntry:
    """The last step of training, or else of validation."""
    train = [entry for entry in index.entries if entry.split == "train"]
    return (train or list(index.entries))[-1]


def detail(step: StepRollouts) -> StepDetail:
    """One step in full."""
    groups = sorted(step.groups, key=lambda group: -(group.spread or 0.0))
    best, worst = step.best(), step.worst()
    marked = []
    for wanted in ("truncated", "empty", "repeated", "invalid"):
        place = next((place for place in step.examined() if step.is_wanted(place, wanted)), None)
        if place is not None:
            marked.append((wanted, step.rollout(place)))
    notes = list(step.notes)
    if len(step.examined()) < len(step):
        notes.append(f"texts of {len(step.examined())} of {len(step)} samples were read for the shares")
    return StepDetail(
        step.step,
        step.split,
        step.stats(),
        step.skipped,
        step.length_limit,
        step.length_unit,
        step.reward_histogram(),
        step.length_histogram(),
        step.reward_course() if step.step is None else (),
        len(groups),
        tuple(summaries(step, groups[:GROUPS])),
        None if best is None else step.rollout(best),
        None if worst is None else step.rollout(worst),
        tuple(marked),
        tuple(notes),
    )


def to_json(report: RolloutReport) -> str:
    """Strict JSON; `schema` names its version."""
    data = {"schema": SCHEMA, **as_dict(report)}
    for stats in [*data["table"], *([data["detail"]["stats"]] if data["detail"] else [])]:
        stats["setup"].pop("texts", None)  # what a text is known by in this process only
    if data["detail"] is not None:
        data["detail"]["marked"] = dict(data["detail"]["marked"])
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def summaries(step: StepRollouts, groups: Sequence[Group]) -> list[GroupSummary]:
    """The groups in short. Words that all prompts begin with, such as a system prompt, are left out, because they do
    not distinguish groups."""
    prompts = [step.rollout(group.members[0]).prompt for group in groups]
    shown = [" ".join((p if p is not None else g.key).split()) for p, g in zip(prompts, groups, strict=True)]
    common = _common(min(shown), max(shown)) if len(set(shown)) > 1 else 0
    common = shown[0].rfind(" ", 0, common) + 1 if common >= COMMON else 0
    return [
        GroupSummary(
            ("… " if common else "") + text[common : common + 200],
            len(group.members),
            group.rewards[:64],
            group.mean,
            group.spread,
            group.zero_variance,
            group.truncated,
            group.length_mean,
        )
        for text, group in zip(shown, groups, strict=True)
    ]


def _common(first: str, last: str) -> int:
    """The characters that the first and the last text of a sorted list begin with; so do all between."""
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(first), len(last)))


def _spread(entries: tuple[StepEntry, ...]) -> tuple[StepEntry, ...]:
    counts = [entry.count for entry in entries if entry.count is not None]
    average = max(1, sum(counts) // len(counts)) if counts else 1
    rows = max(3, min(ROWS, TABLE_SAMPLES // average))
    if len(entries) <= rows:
        return entries
    last = len(entries) - 1
    return tuple(entries[round(i * last / (rows - 1))] for i in range(rows))
