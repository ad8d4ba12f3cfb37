"""One step's rollouts to choose from: groups, samples, or one prompt across the steps, sorted and filtered, with two
samples side by side. It answers for a window of rows, because a list may have 100,000."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from msgspec import Struct, structs

from rltui.report.rollouts import GroupSummary, StepDetail, detail, newest, summaries
from rltui.rollouts.formats.base import Rollout
from rltui.rollouts.index import RolloutIndex, StepEntry, nothing_found
from rltui.rollouts.step import Group, StepRollouts

Listed = Literal["groups", "samples", "steps"]
ORDERS: dict[Listed, tuple[str, ...]] = {
    "groups": ("spread", "reward", "tokens", "cut"),
    "samples": ("reward", "advantage", "tokens", "file"),
    "steps": ("step",),
}
"""What each list can be sorted by. All orders but those of the file and of the steps begin with the highest."""
WINDOW = 200
BEGINNING = 200  # characters of a text in a list
MARKS = ("empty", "repeated", "invalid")


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: the step nearest to `step` (None: the newest), which list of it, and the row that is chosen.

    `passes` says whether a text passes the filter `pattern`; the words same, cut, empty, repeated and invalid stand in
    the texts of what they fit. `inside`: a place in the step; of samples only those of its group are listed, of steps
    those that have its prompt.
    """

    step: int | None = None
    listed: Listed = "groups"
    order: str = "spread"
    reverse: bool = False
    pattern: str = ""
    passes: Callable[[str], bool] | None = field(default=None, compare=False)
    inside: int | None = None
    row: int = 0


class RolloutLine(Struct, frozen=True):
    """A row of a list. `place` is the sample that stands for it; for a group, the best one."""

    text: str
    place: int
    rewards: tuple[float, ...] = ()
    mean: float | None = None
    tokens: float | None = None
    truncated: int | None = None
    advantage: float | None = None
    zero_variance: bool = False
    step: int | None = None
    samples: int = 1


class RolloutPage(Struct, frozen=True):
    """The answer. `place` is the step's index in `entries`; `lines` are those from row `start` on, of `total` that pass
    the filter of `of`. `left` and `right` are the samples beside one another, with their names. Without rollouts only
    `limitation` is set."""

    query: Query
    entries: tuple[StepEntry, ...] = ()
    place: int = 0
    detail: StepDetail | None = None
    start: int = 0
    lines: tuple[RolloutLine, ...] = ()
    total: int = 0
    of: int = 0
    note: str = ""
    left: tuple[str, Rollout] | None = None
    right: tuple[str, Rollout] | None = None
    limitation: tuple[str, ...] = ()

    def line(self, row: int) -> RolloutLine | None:
        """The row with this number; None if it is not in the window."""
        return self.lines[row - self.start] if 0 <= row - self.start < len(self.lines) else None


class RolloutBrowser:
    """Answers queries about one run's rollouts, from one thread. The last list is kept for the next row."""

    def __init__(self, index: RolloutIndex, framework: str | None) -> None:
        self._index = index
        self._framework = framework
        self._details: tuple[StepEntry, StepDetail] | None = None
        self._listed: tuple[object, list[Any], int] | None = None
        self._lined: tuple[list[Any], int, tuple[RolloutLine, ...]] | None = None

    def page(self, query: Query) -> RolloutPage:
        """The page of a query; its row is brought into the list."""
        index = self._index
        if not index.entries:
            return RolloutPage(query, limitation=tuple(nothing_found(index, self._framework)))
        entry = (newest(index) if query.step is None else index.nearest(query.step)) or index.entries[-1]
        read = index.read(entry)
        if query.listed == "groups" and not any(len(group.members) > 1 for group in read.groups):
            query = replace(query, listed="samples", inside=None)
        if query.order not in ORDERS[query.listed]:
            query = replace(query, order=ORDERS[query.listed][0])
        rows, of = self._rows(entry, read, query)
        row = max(0, min(query.row, len(rows) - 1))
        start = max(0, row // (WINDOW // 2) * (WINDOW // 2) - WINDOW // 4)
        left, right = self._beside(read, rows[row], query) if rows else (None, None)
        judged = len(read.examined())
        short = judged < len(read) and _marks_in(query.pattern)
        return RolloutPage(
            replace(query, row=row),
            index.entries,
            index.entries.index(entry),
            self._detail(entry, read),
            start,
            self._window(read, rows, start, query),
            len(rows),
            of,
            f"of {judged} texts read" if short else "",
            left,
            right,
        )

    def _detail(self, entry: StepEntry, read: StepRollouts) -> StepDetail:
        if self._details is None or self._details[0] != entry:
            self._details = entry, detail(read)
        return self._details[1]

    def _rows(self, entry: StepEntry, read: StepRollouts, query: Query) -> tuple[list[Any], int]:
        """The listed items, in order, and the number of items in the whole list."""
        key = entry, replace(query, row=0, step=None)
        if self._listed is None or self._listed[0] != key:
            rows: list[Any]
            if query.listed == "groups":
                rows = list(read.groups)
            elif query.listed == "steps":
                prompt = None if query.inside is None else read.prompt_of(query.inside)
                rows = [] if prompt is None else self._index.same_prompt(prompt)
            else:
                rows = _group_of(read, query.inside) if query.inside is not None else list(range(len(read)))
            of = len(rows)
            if query.pattern and query.passes is not None:
                judged = frozenset(read.examined()) if _marks_in(query.pattern) else frozenset()
                rows = [one for one in rows if query.passes(self._words(read, one, query, judged))]
            self._listed = key, _ordered(read, rows, query), of
        return self._listed[1], self._listed[2]

    def _window(self, read: StepRollouts, rows: list[Any], start: int, query: Query) -> tuple[RolloutLine, ...]:
        if self._lined is None or self._lined[0] is not rows or self._lined[1] != start:
            self._lined = rows, start, tuple(self._lines(read, rows[start : start + WINDOW], query))
        return self._lined[2]

    def _words(self, read: StepRollouts, row: Any, query: Query, judged: frozenset[int]) -> str:
        """The text that the filter looks at. Marks that need an answer's text exist only for texts that the statistics
        read."""
        if query.listed == "steps":
            return f"step {row[0].step}"
        places = row.members if query.listed == "groups" else (row,)
        words = {"same"} if query.listed == "groups" and row.zero_variance else set()
        parts: list[str] = []
        for number, place in enumerate(places):
            prompt, completion = read.texts(place)
            parts += [completion or ""] if number else [prompt or "", completion or ""]
            words |= {"cut"} if read.truncated(place) else set()
            words |= {mark for mark in MARKS if place in judged and read.is_wanted(place, mark)}  # type: ignore[arg-type]
        return " ".join([*parts, *sorted(words)])

    def _lines(self, read: StepRollouts, rows: Sequence[Any], query: Query) -> list[RolloutLine]:
        if query.listed == "groups":
            pairs = zip(rows, summaries(read, rows), strict=True)
            return [_group_line(group, summary) for group, summary in pairs]
        if query.listed == "steps":
            found = []
            for entry, places in rows:
                there = self._index.read(entry)
                best = there.extreme(places, highest=True, default=places[0])
                line = _sample_line(there, best)
                rewards = there.rewards_of(places)
                mean = sum(rewards) / len(rewards) if rewards else None
                found.append(structs.replace(line, step=entry.step, rewards=rewards, mean=mean, samples=len(places)))
            return found
        return [_sample_line(read, place) for place in rows]

    def _beside(
        self, read: StepRollouts, row: Any, query: Query
    ) -> tuple[tuple[str, Rollout] | None, tuple[str, Rollout] | None]:
        """The two samples that the chosen row puts side by side."""
        if query.listed == "groups":
            return ("Best", read.rollout(row.best)), ("Worst", read.rollout(row.worst))
        if query.listed == "steps":
            entry, places = row
            there = self._index.read(entry)
            best = there.extreme(places, highest=True, default=places[0])
            here = _group_of(read, query.inside)
            last = read.extreme(here, highest=True, default=here[0])
            return (f"Best at step {entry.step}", there.rollout(best)), (f"At step {read.step}", read.rollout(last))
        group = _group_of(read, row)
        whole = len(group) < 2
        among: Sequence[int] = range(len(read)) if whole else group
        best, worst = (read.extreme(among, highest=high, default=row) for high in (True, False))
        other = worst if best == row else best
        name = f"{'Worst' if other == worst else 'Best'} of {'the step' if whole else 'its prompt'}"
        right = None if other == row else (name, read.rollout(other))
        return ("Sample", read.rollout(row)), right


def _marks_in(pattern: str) -> bool:
    return any(mark in pattern.lower() for mark in MARKS)


def _group_of(read: StepRollouts, place: int | None) -> list[int]:
    """The places that share a sample's prompt, including its own."""
    if place is None:
        return []
    group = read.group_of(place)
    return [place] if group is None else list(group.members)


def _ordered(read: StepRollouts, rows: list[Any], query: Query) -> list[Any]:
    """Highest first; items without the number always come last."""
    if query.order in ("file", "step"):
        return rows[::-1] if query.reverse else rows
    of_group: dict[str, Callable[[Group], float | None]] = {
        "spread": lambda group: group.spread,
        "reward": lambda group: group.mean,
        "tokens": lambda group: group.length_mean,
        "cut": lambda group: group.truncated,
    }
    of_sample: dict[str, Callable[[int], float | None]] = {
        "reward": read.reward,
        "advantage": read.advantage,
        "tokens": read.size,
    }
    number: Callable[[Any], float | None] = (of_group if query.listed == "groups" else of_sample)[query.order]
    known = [(value, one) for one in rows if (value := number(one)) is not None]
    known.sort(key=lambda pair: pair[0], reverse=not query.reverse)
    return [one for _, one in known] + [one for one in rows if number(one) is None]


def _group_line(group: Group, summary: GroupSummary) -> RolloutLine:
    return RolloutLine(
        summary.prompt,
        group.best,
        summary.rewards,
        summary.mean,
        summary.length_mean,
        summary.truncated,
        None,
        bool(summary.zero_variance),
        None,
        summary.samples,
    )


def _sample_line(read: StepRollouts, place: int) -> RolloutLine:
    reward, cut = read.reward(place), read.truncated(place)
    rollout = read.beginning(place, 5 * BEGINNING)  # a secret that the cut divides is not shown in part
    text = " ".join((rollout.completion or "")[: 2 * BEGINNING].split())[:BEGINNING]
    return RolloutLine(
        text or ("(empty)" if rollout.completion is not None else "(no text)"),
        place,
        () if reward is None else (reward,),
        reward,
        read.length(place),
        None if cut is None else int(cut),
        read.advantage(place),
    )
