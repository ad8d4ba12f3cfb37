"""The lines of a log that are held under the key of their skeleton, and what is known about them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Self

from msgspec.structs import replace

from rltui.readers.console.layouts import pair_cells
from rltui.readers.console.line_filter import remember
from rltui.readers.console.named_numbers import Slot, is_whole, slots_of
from rltui.readers.console.open_templates import (
    may_be_of_answer,
)
from rltui.readers.console.plain_lines import done_within
from rltui.readers.console.rival_counts import counts_plainly
from rltui.readers.console.step_template import (
    Template,
    TemplateLine,
    counter_name,
    skeleton,
)
from rltui.readers.console.successors import FAR, StepCourse
from rltui.readers.console.values_above import Ahead
from rltui.readers.name_words import is_named, words

MOST_SKELETONS = 4000
"""Most skeletons that are kept at once: prose makes a new one with each line."""


class HeldTemplates:
    """Holds lines, blocks and table rows under the key of their skeleton, and answers what is known about them."""

    def __init__(self) -> None:
        self.main: str | None = None
        """Name of the counter that states the step."""
        self.kind = ""
        """The kind of text that states it: `line`, `block` or `table`."""
        self.counts = False
        """Whether rows are counted, as their lines only state a fraction of the epochs."""
        self.took_over = False
        """Whether lines of another form than at first state the steps."""
        self.ahead = Ahead()
        self.can_wait = False
        """Whether the lines so far can be read again, before a step is known."""
        self.misread: frozenset[str] = frozenset()
        """Skeletons of lines that were held back as possible step lines, and only hold numbers of a step."""
        self._by_key: dict[str, Template] = {}
        self._none: set[str] = set()  # skeletons of lines that cannot be step lines
        self._answers: set[str] = set()  # those of them that are about one answer each
        self._step: int | None = None
        self._course = StepCourse()
        self._followed: Template | None = None  # the template of step lines that another reader reads
        self._held = 0  # lines that were held so far
        self._newest_place = 0  # of the newest line that stated a step
        self._learns = True  # False in copies
        self._waiting: set[str] = set()  # keys of lines that wait for those above them
        self._by_plan: dict[str, int] = {}  # key of lines whose count may still start again -> place of the counter
        self._within: list[TemplateLine] = []  # lines without a step, which belong to one that is not known yet
        self._undecided: list[tuple[str, str, Template]] = []  # in a copy: what it would have learned from

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    @property
    def tell_steps(self) -> bool:
        """Whether a step line was found that no other reader reads."""
        return self.main is not None and self._followed is None

    @property
    def newest(self) -> int | None:
        """The newest step; None before the first."""
        return self._step

    @property
    def decided(self) -> list[Template]:
        """The templates that state steps, each once."""
        return list({id(t): t for t in self._by_key.values() if t.counter is not None}.values())

    @property
    def counts_weakly(self) -> bool:
        """Whether the counter that states the step counts epochs or the like."""
        return self.main is not None and is_named(self.main, words().weak_counters)

    def copy(self, under: TemplateLine | None) -> tuple[Self, TemplateLine | None]:
        """A copy that takes lines without changing this one, and learns nothing from them. Also a copy of the line
        `under` which others are read; it may be one of those held back."""
        twin = copy.copy(self)
        copies = {id(t): t.copy() for t in (*self._by_key.values(), *([self._followed] if self._followed else []))}
        twin._followed = None if self._followed is None else copies[id(self._followed)]
        twin._by_key = {key: copies[id(t)] for key, t in self._by_key.items()}
        twin._none, twin._undecided, twin.ahead, twin._learns = set(self._none), [], self.ahead.copy(), False
        twin._answers = set(self._answers)
        twin._within, twin._course, twin._by_plan = list(self._within), self._course.copy(), dict(self._by_plan)
        line = None if under is None else replace(under, below=dict(under.below))
        for key, template in self._by_key.items():
            for held, own in zip(twin._by_key[key].lines, template.lines, strict=True):
                if own is under:
                    line = held
        return twin, line

    def learn(self, other: HeldTemplates, none: Iterable[str]) -> None:
        """Takes over from `other` which skeletons state no step, and adds those in `none`."""
        self._none, self._answers = {*other._none, *none}, set(other._answers)

    def held_pairs(self) -> dict[str, float]:
        """The numbers in held lines that only hold named numbers."""
        held = (line for t in self._by_key.values() if t.counter is None for line in t.lines)
        cells: dict[str, float] = {}
        for line in sorted(held, key=lambda line: line.place):
            cells |= (pair_cells(line.message) or {}) | line.below
        return cells

    def cannot_tell(self, key: str) -> bool:
        """Whether lines of this skeleton are known to state no step."""
        return key in self._none

    def is_of_answers(self, key: str) -> bool:
        """Whether lines of this skeleton are known to be about one answer each."""
        return key in self._answers

    def reject(self, key: str) -> None:
        """Remembers that lines of this skeleton state no step."""
        remember(key, self._none)

    def over(self, line: TemplateLine) -> TemplateLine | None:
        """The held line that may state the step of this line, which states none and reports work inside a step."""
        if self.main is not None or not done_within(line.message):
            return None
        held = (t.lines[-1] for t in self._by_key.values() if t.counter is None and t.lines)
        return max(held, key=lambda one: one.place, default=None)

    def may_tell(self, key: str) -> bool:
        """Whether a line of this skeleton probably states a step but is held back."""
        return key in self._by_plan

    def is_main(self, slot: Slot) -> bool:
        """Whether a number has the name of the counter that states the step."""
        return is_whole(slot) and counter_name(slot) == self.main

    def may_take_over(self, rank: str, message: str) -> bool:
        """Whether a line may be the first in another form that states the steps, as it counts on from the newest
        step."""
        if not (self._course.is_near(message) and self._course.may_go_on(slots_of(message))):
            return False
        key = f"{rank}:{skeleton(message)}"
        return key not in self._by_key and key not in self._none

    def is_beside(self, line: TemplateLine) -> bool:
        """Whether a line counts something else than the steps, which other lines state."""
        if self.main is None or self.kind != "line" or not line.message or line.is_labelled_evaluation:
            return False
        if self.counts_weakly and self._course.stated < FAR and counts_plainly(line):
            return False  # the training may begin here, after a part with epochs of its own
        return not any(map(self.is_main, line.slots)) and not self._course.may_go_on(line.slots)

    def _like(self, template: Template) -> list[Template]:
        """The undecided templates whose first line fits this one."""
        held = (t for t in self._by_key.values() if t.counter is None and t.lines)
        return [t for t in held if template.fits(t.lines[0]) and not may_be_of_answer(t.lines[0])]
