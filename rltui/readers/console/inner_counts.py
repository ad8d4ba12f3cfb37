"""Counts inside the steps that lines above them state, `update 2/3: loss 0.3` below `Round 7/60`. Such a count has a
small plan and begins again below each new outer count, which goes on. It is known only once it has begun again; until
then it may count the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.readers.console.named_numbers import Slot, is_whole
from rltui.readers.console.plain_lines import is_part
from rltui.readers.console.step_template import may_count
from rltui.readers.console.successors import OUTER
from rltui.readers.name_words import has_word, last_word, measures, words


class _Outer(Struct, frozen=True):
    """The newest line of a form that may count outside. `of`: its plan, None if it states none."""

    key: str
    name: str
    value: float
    of: float | None


class _Inner(Struct, frozen=True):
    """A count that may be inside another: where it is in its line, its plan (None if only its name says that it is a
    part), its newest value, the one with which it begins, and the outer count below which it began."""

    place: int
    of: float | None
    newest: float
    begun: float
    outer: _Outer


class InnerCounts(Struct):
    """Takes the lines with numbers of one program in file order, until the steps are known. `known`: the forms of lines
    that count inside a step, with the place of their count."""

    known: dict[str, int] = field(default_factory=dict)
    _maybe: dict[str, _Inner] = field(default_factory=dict)
    _none: set[str] = field(default_factory=set)
    _outer: _Outer | None = None
    _measured: set[str] = field(default_factory=set)  # forms of outer counts beside which something is measured

    def copy(self) -> InnerCounts:
        return replace(
            self,
            known=dict(self.known),
            _maybe=dict(self._maybe),
            _none=set(self._none),
            _measured=set(self._measured),
        )

    def may_be(self, key: str, slots_of: Callable[[], Sequence[Slot]]) -> bool:
        """Whether a line counts inside a step, or may do so until the next outer count shows it. `slots_of` gives its
        numbers, which only few lines need."""
        if key in self.known or key in self._maybe:
            return True
        if self._outer is None or key in self._none:
            return False
        slots = slots_of()
        place = self._place(key, slots)
        return place is not None and slots[place].value <= 1

    def take(self, key: str, slots: Sequence[Slot]) -> bool:
        """Takes a line. True if it shows that lines of its form count inside a step."""
        if (place := self._place(key, slots)) is not None:
            return self._begun(key, place, slots[place])
        counts, measured = _counts(slots), measures(slot.name for slot in slots)
        if counts == [0] or (len(counts) == 1 and measured):
            slot = slots[counts[0]]
            if measured:
                self._none.add(key)  # if it counts parts, they come first: the step is stated below them
            self._outer = _Outer(key, slot.name.lower(), slot.value, slot.of)
        if measured and len(counts) < 2 and self._outer is not None:
            self._measured.add(self._outer.key)
        return False

    def _place(self, key: str, slots: Sequence[Slot]) -> int | None:
        """The place of the only count in a line that begins with it and measures something; None for any other
        line."""
        if _counts(slots) != [0] or key in self._none or self._outer is None or not measures(s.name for s in slots):
            return None
        slot = slots[0]
        small = is_part(slot) if slot.of is None else bool(slot.name) and 1 < slot.of <= OUTER
        return 0 if small and (key in self._maybe or self._may_be_within(slot, self._outer)) else None

    def _begun(self, key: str, place: int, slot: Slot) -> bool:
        before, outer = self._maybe.pop(key, None), self._outer
        if outer is None or not self._may_be_within(slot, outer) or (before is None and slot.value > 1):
            self._none.add(key)
            return False
        if before is None:
            self._maybe[key] = _Inner(place, slot.of, slot.value, slot.value, outer)
            return False
        again = slot.value == before.begun and outer.key == before.outer.key and outer.value > before.outer.value
        if again and before.newest >= (before.begun if before.of is None else before.of - 1):
            self.known[key] = place
            return True
        if slot.value == before.newest + 1 and outer == before.outer:
            self._maybe[key] = replace(before, newest=slot.value)
        else:
            self._none.add(key)
        return False

    def _may_be_within(self, slot: Slot, outer: _Outer) -> bool:
        """Whether `slot` may count inside `outer`. The steps of a round or an epoch may be those of the training,
        unless something is measured for the round itself."""
        outer_word, own, known = last_word(outer.name), last_word(slot.name), words()
        if slot.of is not None and (outer.of is None or outer.of <= slot.of):
            return False
        is_step = own in known.steps and not has_word(slot.name, known.inner)
        if outer_word == "epoch":
            return not is_step and outer.key in self._measured
        rounds = known.outer - known.steps
        return not (is_step and outer_word in rounds and outer.key not in self._measured)


def _counts(slots: Sequence[Slot]) -> list[int]:
    """The places of the numbers that may count."""
    return [i for i, slot in enumerate(slots) if is_whole(slot) and (slot.of is not None or may_count(slot))]
