"""Lines that state a step beside amounts, times or a rate and nothing that was measured: `Step 3: 64 prompts`,
`rollout 3 done, length: 256`, `Iter 3 lr 1e-6`. The numbers of the step are below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.forms import nothing_alike
from rltui.readers.console.named_numbers import Slot, is_whole, slots_of
from rltui.readers.console.sections import TIMED
from rltui.readers.console.step_template import may_count
from rltui.readers.console.work_lines import LONGEST, Work
from rltui.readers.name_words import either, has_word, last_word, words

MOST_BEFORE = 5
"""Most words up to the count, `Finished the policy update 3`."""
MOST_BEHIND = 6
"""Most words behind the count: more are a sentence."""
_WORD = lazy(r"[^\W\d_]+")
_LINKS = frozenset(("in", "of", "for", "to", "with", "at", "on", "after"))
"""Words of `prose` that such titles have too."""


def titled_amounts(message: str) -> Work | None:
    """The count of the step and the amounts in such a line; None for any other."""
    found = _titled(message) if len(message) < LONGEST else []
    return Work(found[0], found[1:]) if found else None


@nothing_alike
def _titled(message: str) -> list[Slot]:
    slots = slots_of(message)
    at = next((i for i, slot in enumerate(slots) if slot.name), len(slots))
    if len(slots) < 2 or at == len(slots) or not (is_whole(slots[at]) and may_count(slots[at])):
        return []
    count, others = slots[at], slots[at + 1 :]
    before, behind = _said(message[: count.end]), _said(message[count.end :])
    if len(before) > MOST_BEFORE or len(behind) > MOST_BEHIND or not (_announces(before) and _tells_amounts(behind)):
        return []
    return [] if any(may_count(slot) or slot.of for slot in others) else [count, *_amounts(count, others)]


def _said(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _announces(said: list[str]) -> bool:
    """Whether the words up to the count only say that work for it begins or is done."""
    known = words()
    work = known.doing | known.work | known.findings | known.parts | known.phases | known.of_training | known.trainings
    return set(said) <= known.counters | known.weak_counters | work | _LINKS


def _tells_amounts(said: list[str]) -> bool:
    """Whether words speak of amounts, times and rates: of nothing that is measured, evaluated or said."""
    known = words()
    others = known.training | known.evaluation | known.prose | known.speakers | known.places
    return others.isdisjoint(set(said) - known.by_group - _LINKS)


def _amounts(count: Slot, others: Sequence[Slot]) -> Iterator[Slot]:
    """The amounts that have names, under names that say of what they are, `batch length`; a time, a rate and what is no
    whole number, as it may have been measured, have names of their own."""
    for slot in others:
        if slot.name:
            own = (
                not is_whole(slot)
                or slot.name.startswith(TIMED)
                or has_word(slot.name, either("durations", "by_group"))
            )
            yield slot if own else replace(slot, name=f"{last_word(count.name)} {slot.name}")
