"""The rollouts of one step: their numbers, groups by prompt, order and filters, and texts on demand.

The reward is the dump's total, else the sum of its reward functions, with the config's weights if it has them. A sample
is truncated if the dump says so, or if its tokens reach the response limit. If no sample of the step has more
characters than the limit, one with exactly that many counts as truncated (a tokenizer of single characters)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Literal, TypeVar

from msgspec.structs import replace

from rltui.prose import listed
from rltui.records import cached
from rltui.rollouts import answers, copies, samples
from rltui.rollouts.formats.base import Block, Raw, Rollout, Split
from rltui.rollouts.numbers import Group, Numbering, Numbers
from rltui.rollouts.samples import SampleStats, TextMarks

__all__ = ["Group", "Order", "Rollout", "StepRollouts", "Wanted"]

Order = Literal["file", "reward", "length", "advantage"]
T = TypeVar("T")
Wanted = Literal["truncated", "empty", "repeated", "invalid", "zero-variance"]


class StepRollouts:
    """All rollouts of one step and split. It is built once, then only read. `own`: according to their names, the files
    hold only this step."""

    def __init__(
        self,
        step: int | None,
        split: Split,
        blocks: Sequence[Block],
        *,
        cap: int | None = None,
        weights: Sequence[float] = (),
        notes: Sequence[str] = (),
        own: bool = False,
    ) -> None:
        self.step = step
        self.split = split
        self.cap = cap
        self.notes = tuple(dict.fromkeys([*notes, *(block.note for block in blocks if block.note)]))
        numbering = Numbering(weights)
        self._all: list[Numbers] = []
        others: list[tuple[int | None, Numbers]] = []
        for block in blocks:
            for at, raw in enumerate(block.raws()):
                if raw.split not in (None, split):
                    continue
                one = numbering.of(block, at, raw)
                if step is None or raw.step is None or raw.step == step:
                    self._all.append(one)
                else:
                    others.append((raw.step, one))
        if others and own:
            self.notes = (*self.notes, self._of_other_steps(others))
        self.skipped = sum(block.skipped for block in blocks)
        self._cut_at = self._character_cap()
        self._marks: dict[int, TextMarks] = {}
        self._stats: dict[int | None, SampleStats] = {}

    def __len__(self) -> int:
        return len(self._all)

    # -- one sample ------------------------------------------------------------------------------------------------

    def rollout(self, place: int) -> Rollout:
        """One rollout with its cleaned texts."""
        one = self._all[place]
        found = one.block.rollout(one.at)
        return replace(
            found,
            step=self.step if found.step is None else found.step,
            reward=one.reward,
            truncated=self.truncated(place),
            group=one.group if found.group is None and found.prompt is None else found.group,
        )

    def beginning(self, place: int, characters: int) -> Rollout:
        """One rollout for lists: only the first characters of its completion, without prompt and extra fields."""
        raw = self.raw(place)
        text = None if raw.completion is None else raw.completion[:characters]
        return raw._replace(prompt=None, completion=text, seen_by_reward=None, extra={}).cleaned()

    def raw(self, place: int) -> Raw:
        """One sample as the dump holds it; never show it."""
        one = self._all[place]
        return one.block.raw(one.at)

    def texts(self, place: int) -> tuple[str | None, str | None]:
        """Prompt and completion as the dump holds them, for searching; never show them."""
        raw = self.raw(place)
        return raw.prompt, raw.completion

    def page(self, places: Sequence[int]) -> list[Rollout]:
        """The rollouts at these places."""
        return [self.rollout(place) for place in places]

    def rewards_of(self, places: Sequence[int]) -> tuple[float, ...]:
        """The rewards at those of these places that have one."""
        every = self._all
        return tuple([reward for place in places if (reward := every[place].reward) is not None])

    def reward(self, place: int) -> float | None:
        return self._all[place].reward

    def advantage(self, place: int) -> float | None:
        return self._all[place].advantage

    def length(self, place: int) -> int | None:
        """The number of tokens of the completion; None if the dump does not say."""
        return self._all[place].length

    def truncated(self, place: int) -> bool | None:
        """Whether the completion was truncated; None if unknown."""
        one = self._all[place]
        if one.truncated is not None:
            return one.truncated
        if self.cap is None:
            return None
        if one.length is not None:
            return one.length >= self.cap
        return None if one.chars is None or self._cut_at is None else one.chars >= self._cut_at

    def marks(self, place: int) -> TextMarks | None:
        """What the text shows; None if the dump holds no text."""
        if place not in self._marks:
            one = self._all[place]
            if one.chars is None:
                return None
            raw = self.raw(place)
            self._marks[place] = samples.marks(raw.completion or "", raw.prompt)
        return self._marks[place]

    def is_invalid(self, place: int) -> bool | None:
        """Whether the format is invalid: decided by the reward's own format component, else by a malformed tag. None if
        unknown."""
        failed = self._all[place].format_failed
        if failed is not None:
            return failed
        found = self.marks(place)
        return None if found is None else found.malformed is not None

    def is_wanted(self, place: int, wanted: Wanted) -> bool:
        """Whether a sample passes a filter. It does not pass if that is unknown."""
        if wanted == "truncated":
            return self.truncated(place) is True
        if wanted == "empty":
            return self._all[place].chars is not None and self._all[place].empty
        if wanted == "invalid":
            return self.is_invalid(place) is True
        if wanted == "repeated":
            found = self.marks(place)
            return found is not None and found.repeated
        return self._all[place].group in self._without_variance

    # -- all of them -----------------------------------------------------------------------------------------------

    @cached
    def rewards(self) -> list[float]:
        return [one.reward for one in self._all if one.reward is not None]

    @cached
    def lengths(self) -> list[float]:
        """The lengths in tokens of the samples that state one."""
        return [float(one.length) for one in self._all if one.length is not None]

    @cached
    def groups(self) -> tuple[Group, ...]:
        """The groups by prompt, in file order; empty if the dump has neither prompts nor group names."""
        members: dict[str, list[int]] = defaultdict(list)
        for place, one in enumerate(self._all):
            if one.group is not None:
                members[one.group].append(place)
        return tuple(Group(self, key, tuple(places)) for key, places in members.items())

    def group_of(self, place: int) -> Group | None:
        """The group of a sample; None if the dump has neither its prompt nor its group."""
        return self._by_key.get(self._all[place].group or "")

    @cached
    def _by_key(self) -> dict[str, Group]:
        return {group.key: group for group in self.groups}

    def best(self) -> int | None:
        """The place of the sample with the highest reward; of equal ones the shortest. None without rewards."""
        return self.extreme(range(len(self._all)), highest=True, default=None)

    def worst(self) -> int | None:
        """The place of the sample with the lowest reward; of equal ones the longest. None without rewards."""
        return self.extreme(range(len(self._all)), highest=False, default=None)

    def extreme(self, places: Sequence[int], *, highest: bool, default: T) -> int | T:
        """The place with the highest or lowest reward among these; `default` if none has a reward."""
        rewards = [one.reward for place in places if (one := self._all[place]).reward is not None]
        if not rewards:
            return default
        wanted = max(rewards) if highest else min(rewards)
        equal = [place for place in places if self._all[place].reward == wanted]
        sign = 1 if highest else -1
        return min(equal, key=lambda place: sign * (self.size(place) or 0.0))

    def select(
        self, *, wanted: Wanted | None = None, text: str = "", order: Order = "file", reverse: bool = False
    ) -> list[int]:
        """The places that pass the filter and whose prompt or completion contains `text` (case-insensitive), sorted.
        Samples without the sort number come last."""
        places = range(len(self._all))
        chosen = [place for place in places if self.is_wanted(place, wanted)] if wanted else list(places)
        if text:
            chosen = [place for place in chosen if self._holds(place, text.casefold())]
        if order == "file":
            return chosen[::-1] if reverse else chosen
        value: dict[str, Callable[[int], float | None]] = {
            "reward": self.reward,
            "length": self.size,
            "advantage": lambda place: self._all[place].advantage,
        }
        number = value[order]
        known = [place for place in chosen if number(place) is not None]
        known.sort(key=lambda place: number(place) or 0.0, reverse=reverse)
        return known + [place for place in chosen if number(place) is None]

    def of_prompt(self, key: str) -> list[int]:
        """The places of the samples with this `prompt_key`."""
        return [place for place, one in enumerate(self._all) if one.prompt == key]

    def prompt_of(self, place: int) -> str | None:
        """The prompt as the dump holds it, for searching other steps; never show it."""
        return self.raw(place).prompt

    def examined(self, limit: int | None = None) -> list[int]:
        """The places whose texts the statistics read: all, or `limit` (default 512) evenly spread ones."""
        limit = limit or samples.limits().examined
        count = len(self._all)
        return list(range(count)) if count <= limit else [i * count // limit for i in range(limit)]

    def stats(self, limit: int | None = None) -> SampleStats:
        """The step in numbers, for rules and tables. `limit`: the most texts that are read, 512 by default."""
        if limit not in self._stats:
            self._stats[limit] = self._counted(limit)
        return self._stats[limit]

    def _counted(self, limit: int | None) -> SampleStats:
        places = self.examined(limit)
        marks = [found for place in places if (found := self.marks(place)) is not None]
        texts = [one.block.raw(one.at).completion or "" for one in map(self._all.__getitem__, places) if one.chars]
        distinct_1, distinct_2 = samples.distinct(texts, (1, 2))
        mode = samples.mode_share(self.rewards)
        ratios = [mark.compression for mark in marks if mark.compression is not None]
        repeats = [mark.repeat for mark in marks if mark.repeat is not None]
        non_ascii = [mark.non_ascii for mark in marks if mark.non_ascii is not None]
        invalid = [bad for place in places if (bad := self.is_invalid(place)) is not None]
        cut = [is_cut for is_cut in self._cuts if is_cut is not None]
        same = [group.zero_variance for group in self.groups if group.zero_variance is not None]
        whole = [bad for at in places if not self.truncated(at) and (bad := self.is_invalid(at)) is not None]
        calls = sum(mark.tool_calls for mark in marks)
        held = [copies.AtPlace(at, self.raw(at), self._all[at].group, self._all[at].reward) for at in places]
        right, wrong, contradiction = answers.judged((one.place, one.raw, one.reward) for one in held)
        return SampleStats(
            step=self.step,
            split=self.split,
            samples=len(self._all),
            examined=len(marks),
            empty=samples.share(one.empty for one in self._all if one.chars is not None),
            repeated=samples.share(mark.repeated for mark in marks),
            identical=self._identical(),
            truncated=samples.share(cut),
            invalid_format=samples.share(invalid),
            past_end=samples.share(mark.past_end is not None for mark in marks),
            artefacts=samples.share(mark.artefact is not None for mark in marks),
            token_zero=samples.share(mark.token_zero for mark in marks),
            non_ascii=fmean(non_ascii) if non_ascii else None,
            mixed_scripts=samples.share(mark.mixed_scripts for mark in marks),
            distinct_1=distinct_1,
            distinct_2=distinct_2,
            compression=median(ratios) if ratios else None,
            repeat=fmean(repeats) if repeats else None,
            reward_mean=fmean(self.rewards) if self.rewards else None,
            mode_value=mode[0] if mode else None,
            mode_share=mode[1] if mode else None,
            zero_variance=samples.share(same),
            length_mean=fmean(self.lengths) if self.lengths else None,
            groups=len(same),
            reward_min=min(self.rewards, default=None),
            reward_max=max(self.rewards, default=None),
            invalid_whole=samples.share(whole),
            tool_calls=calls / len(marks) if marks else None,
            tool_invalid=sum(mark.tool_calls_invalid for mark in marks) / calls if calls else None,
            right=len(right),
            wrong=len(wrong),
            follows=answers.follows(right, wrong),
            contradiction=contradiction,
            other_script=samples.share(mark.other_script for mark in marks),
            setup=copies.setup(held),
        )

    @cached
    def _without_variance(self) -> frozenset[str]:
        return frozenset(group.key for group in self.groups if group.zero_variance)

    def reward_course(self, parts: int = 10) -> tuple[float | None, ...]:
        """The mean reward of each of `parts` equal parts of the samples in file order: the course of the reward if
        samples do not name steps."""
        count = len(self._all)
        edges = [count * part // parts for part in range(parts + 1)]
        means = []
        for low, high in pairwise(edges):
            known = [one.reward for one in self._all[low:high] if one.reward is not None]
            means.append(fmean(known) if known else None)
        return tuple(means)

    def reward_histogram(self) -> tuple[samples.Bar, ...]:
        cuts = [cut for one, cut in zip(self._all, self._cuts, strict=True) if one.reward is not None]
        return samples.histogram(self.rewards, cuts)

    @cached
    def _cuts(self) -> list[bool | None]:
        """`truncated` of every place."""
        return [self.truncated(place) for place in range(len(self._all))]

    @property
    def length_unit(self) -> str:
        """The unit of `length_histogram`: tokens if the dump states them, else characters."""
        return "tokens" if self.lengths else "characters"

    @property
    def length_limit(self) -> int | None:
        """The length limit in `length_unit`; None if unknown."""
        return self.cap if self.lengths else self._cut_at

    def length_histogram(self) -> tuple[samples.Bar, ...]:
        """The histogram of the completion lengths, in `length_unit`."""
        sizes = [one.length for one in self._all] if self.lengths else [one.chars for one in self._all]
        known = [(float(size), cut) for size, cut in zip(sizes, self._cuts, strict=True) if size is not None]
        return samples.histogram([size for size, _ in known], [cut for _, cut in known])

    # -- within ----------------------------------------------------------------------------------------------------

    def _of_other_steps(self, others: Sequence[tuple[int | None, Numbers]]) -> str:
        """A note about samples that name another step than their file. If no sample names the file's step, file and
        samples count the same steps differently, and the samples are kept under the file's step."""
        told = listed([str(one) for one in sorted({step for step, _ in others if step is not None})[:3]])
        if self._all:
            total = len(others) + len(self._all)
            return f"{len(others)} of {total} samples name another step than their file ({told}) and are left out"
        self._all = [one for _, one in others]
        return f"the file name says step {self.step} and its samples say step {told}: the file name counts"

    def _character_cap(self) -> int | None:
        """The length limit in characters, if the tokens may be single characters (see the module); else None."""
        longest = max((one.chars for one in self._all if one.chars is not None), default=0)
        return self.cap if self.cap is not None and longest <= self.cap else None

    def size(self, place: int) -> float | None:
        """The number of tokens of the completion, else of its characters."""
        one = self._all[place]
        return float(one.length) if one.length is not None else None if one.chars is None else float(one.chars)

    def _identical(self) -> float | None:
        """The share of samples whose completion equals that of another sample of the group, among groups of two or
        more."""
        alike = total = 0
        for group in self.groups:
            texts = [self._all[place].text_hash for place in group.members if self._all[place].chars is not None]
            if len(texts) > 1:
                total += len(texts)
                if len(set(texts)) < len(texts):
                    alike += sum(count for count in Counter(texts).values() if count > 1)
        return alike / total if total else None

    def _holds(self, place: int, text: str) -> bool:
        return any(text in (part or "").casefold() for part in self.texts(place))
