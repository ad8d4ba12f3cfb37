"""What `rltui rollouts` prints: a table of steps, and one step in full. As plain data, for JSON and for text."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from rltui.readers.rollouts.base import Rollout, Split
from rltui.run.rollout_index import RolloutIndex, StepEntry, nothing_found
from rltui.run.rollouts import Group, StepRollouts
from rltui.run.sample_stats import Bar, SampleStats
from rltui.text import clean

SCHEMA = "rltui.rollouts/1"
ROWS = 40
"""Steps of which the table gives numbers; of more, an even spread that ends with the newest."""
GROUPS = 16


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One prompt's samples: `prompt` as its beginning, rewards as they came."""

    prompt: str
    samples: int
    rewards: tuple[float, ...]
    mean: float | None
    spread: float | None
    zero_variance: bool | None
    truncated: int | None
    length_mean: float | None


@dataclass(frozen=True, slots=True)
class StepDetail:
    """One step. `groups` are those with the widest spread of rewards, then the rest, at most 16 of `group_count`."""

    step: int | None
    split: Split
    stats: SampleStats
    skipped: int
    length_cap: int | None
    rewards: tuple[Bar, ...]
    lengths: tuple[Bar, ...]
    reward_course: tuple[float | None, ...]  # of tenths, where samples name no step
    group_count: int
    groups: tuple[GroupSummary, ...]
    best: Rollout | None
    worst: Rollout | None
    marked: tuple[tuple[str, Rollout], ...]  # one example each: truncated, empty, repeated, invalid, past its end
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RolloutReport:
    """Everything of a run's rollouts that is printed. `limitation` is empty where there are rollouts."""

    run: str
    path: str
    entries: tuple[StepEntry, ...]
    table: tuple[SampleStats, ...]
    detail: StepDetail | None
    limitation: tuple[str, ...]
    notes: tuple[str, ...]


def collect(index: RolloutIndex, run: str, path: str, framework: str | None, entry: StepEntry | None) -> RolloutReport:
    """Reads the steps of the table and the one in full: `entry`, else the newest of training."""
    run, path = clean(run), clean(path)
    if not index.entries:
        return RolloutReport(run, path, (), (), None, tuple(nothing_found(index, framework)), ())
    entry = entry or newest(index)
    shown = _spread(index.entries)
    table = tuple(index.read(one).stats() for one in shown)
    notes = list(index.problems)
    if len(shown) < len(index.entries):
        notes.append(f"numbers of {len(shown)} of {len(index.entries)} steps; --step N shows any other")
    entries = tuple(replace(one, files=tuple(map(clean, one.files))) for one in index.entries)
    return RolloutReport(run, path, entries, table, detail(index.read(entry)), (), tuple(notes))


def newest(index: RolloutIndex) -> StepEntry:
    """The last step of training, else of validation."""
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
        step.cap,
        step.reward_histogram(),
        step.length_histogram(),
        step.reward_course() if step.step is None else (),
        len(groups),
        tuple(_summary(step, group) for group in groups[:GROUPS]),
        None if best is None else step.rollout(best),
        None if worst is None else step.rollout(worst),
        tuple(marked),
        tuple(notes),
    )


def to_json(report: RolloutReport) -> str:
    """Strict JSON; `schema` names its version."""
    data = {"schema": SCHEMA, **asdict(report)}
    if data["detail"] is not None:
        data["detail"]["marked"] = dict(data["detail"]["marked"])
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _summary(step: StepRollouts, group: Group) -> GroupSummary:
    prompt = step.rollout(group.members[0]).prompt
    return GroupSummary(
        " ".join((prompt if prompt is not None else group.key).split())[:200],
        len(group.members),
        group.rewards[:64],
        group.mean,
        group.spread,
        group.zero_variance,
        group.truncated,
        group.length_mean,
    )


def _spread(entries: tuple[StepEntry, ...]) -> tuple[StepEntry, ...]:
    if len(entries) <= ROWS:
        return entries
    last = len(entries) - 1
    return tuple(entries[round(i * last / (ROWS - 1))] for i in range(ROWS))
