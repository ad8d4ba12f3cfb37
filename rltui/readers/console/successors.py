"""How the steps of a run went so far, and lines of another form that take over: a program that is started again, or was
changed, may print its steps in other words. Such lines count on from where the first ones ended; what is counted inside
a step begins at its own beginning, and is there from the first steps on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import Slot, is_whole
from rltui.readers.console.step_template import TemplateLine, is_about, may_count
from rltui.readers.name_words import shown, words

_WORD = lazy(r"[^\W\d_]+")
_WHOLE = lazy(r"(?<![\d.])\d{1,15}(?![\d.])")
OUTER = 24
"""Most lines of a count that may be inside another count while that one is waited for."""
SETTLED = 3
"""Steps in one form before another may take over: work inside a step would have shown itself by then."""


class StepCourse(Struct):
    """The newest step, the smallest distance between two, how many came in the form that states them now, and the words
    for metrics beside the first of them."""

    newest: int = -1
    stride: int = 0
    stated: int = 0
    measured: set[str] = field(default_factory=set)

    def copy(self) -> StepCourse:
        return replace(self, measured=set(self.measured))

    def add(self, step: int, names: Iterable[str] = ()) -> None:
        """Takes a step that was stated, and the names beside it."""
        if self.stated < SETTLED:
            self.measured |= _measured(names)
        apart = step - self.newest
        if self.stated and apart > 0:
            self.stride = min(self.stride or apart, apart)
        self.newest, self.stated = step, self.stated + 1

    @classmethod
    def of(cls, steps: Iterable[float]) -> StepCourse:
        """The course of these steps."""
        course = cls()
        for step in steps:
            course.add(int(step))
        return course

    def is_next(self, step: float) -> bool:
        """Whether a step may be the next one. One step may be missing."""
        return 0 < step - self.newest <= 2 * max(self.stride, 1)

    def goes_on(self, slots: Sequence[Slot], at: int) -> bool:
        """Whether a number counts on from the newest step."""
        return is_whole(slots[at]) and self.is_next(slots[at].value) and self._is_alike(slots)

    def _is_alike(self, slots: Iterable[Slot]) -> bool:
        """Whether a line has a metric of the steps so far: what another program counts from there on has others. True
        if these are not known, as they stand below the lines with the steps."""
        return not self.measured or not self.measured.isdisjoint(_measured(slot.name for slot in slots))

    def is_near(self, message: str) -> bool:
        """Whether any number of a line counts on from the newest step."""
        if self.stated < SETTLED:
            return False
        return any(self.is_next(int(text)) for text in _WHOLE.findall(message))

    def may_go_on(self, slots: Sequence[Slot]) -> bool:
        """Whether a line in a new form may be the first of those that take over: it holds such a number and a
        metric."""
        if self.stated < SETTLED or not is_about(list(slots), words().training):
            return False
        named = (at for at, slot in enumerate(slots) if slot.of is not None or may_count(slot))
        return any(self.goes_on(slots, at) for at in named)

    def is_followed_by(self, lines: Sequence[Sequence[Slot]], at: int) -> bool:
        """Whether the number at place `at` of these lines, which came since the newest step, takes over."""
        return self.stated >= SETTLED and self.goes_on(lines[0], at)

    def begin_anew(self) -> None:
        """Another form states the steps from now on."""
        self.stated, self.measured = 0, set()


def _measured(names: Iterable[str]) -> set[str]:
    """The words for metrics in names."""
    said = (word.lower() for name in names for word in _WORD.findall(shown(name)))
    return {word for word in said if word in words().training}


FAR = 32
"""Lines that count on inside a step without an end: more are those of the steps."""


def goes_back(lines: Sequence[TemplateLine], counter: int) -> bool:
    """Whether the count in the newest of these lines fell before it reached its total, and not to its beginning: a
    launch goes on from a checkpoint. What is counted inside a step begins at its beginning, and seldom gets so far
    without an end as the steps of a launch that is begun anew."""
    if any(len(line.slots) <= counter or not is_whole(line.slots[counter]) for line in lines[-2:]):
        return False
    before, newest = lines[-2].slots[counter], lines[-1].slots[counter]
    if not newest.value < before.value or (before.of is not None and before.value >= before.of):
        return False
    return newest.value > max(1, lines[0].slots[counter].value) or len(lines) > FAR


def goes_on(lines: Sequence[TemplateLine], counter: int) -> bool:
    """Whether the newest of these lines counts on from the one before, and the count has not yet had to start again. If
    it has many parts, the lines must follow each other directly."""
    if any(len(line.slots) <= counter for line in lines[-2:]):
        return False
    before, now = lines[-2].slots[counter], lines[-1].slots[counter]
    if now.of is None or now.of != before.of or not is_whole(now):
        return False
    apart = now.of > OUTER and (
        lines[-1].lines[:1] != tuple(at + 1 for at in lines[-2].lines[-1:]) or bool(lines[-2].below)
    )
    return now.value - before.value in (0, 1) and not apart and len(lines) < now.of + 2
