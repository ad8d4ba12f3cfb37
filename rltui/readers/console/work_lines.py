"""Lines that say what is done for a step, `rollout 91 generated 256 answers`, or state it beside amounts, times or a
rate and nothing that was measured: `Step 3: 64 prompts`, `Iter 3 lr 1e-6`. The numbers of the step are below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.forms import nothing_alike
from rltui.readers.console.named_numbers import Slot, is_whole, slots_of
from rltui.readers.console.sections import TIMED
from rltui.readers.console.step_template import may_count
from rltui.readers.name_words import either, has_word, is_named, last_word, words

LONGEST = 100
MOST_BEFORE = 5
"""Most words up to the count, `Finished the policy update 3`."""
MOST_BEHIND = 6
"""Most words behind the count: more are a sentence."""
_LINKS = frozenset(("in", "of", "for", "to", "with", "at", "on", "after"))
"""Words of `prose` that such titles have too."""
_BEGIN = lazy(
    r"^\W*([^\W\d_]+(?:[ _][^\W\d_]+)?)[ :=#_]{0,2}(\d{1,15})(?:\s?(?:/|of)\s?\d{1,15})?[\])]?(?:\s*[:,|\-–—>]+\s+|\s+)"
)
"""What is counted, and the count."""
_FOR = lazy(
    r"^\W*((?:[^\W\d_]+ ){1,4})(?:for|of|in|at) ([^\W\d_]+(?:[ _][^\W\d_]+)?)[ :=#_]{0,2}(\d{1,15})"
    r"(?:\s?(?:/|of)\s?\d{1,15})?\W*$"
)
"""What is done now, and for what count: `Generating rollouts for step 3`."""
_BARE = lazy(r"^\W*[\[(](\d{1,15})\s?(?:/|of)\s?\d{1,15}[\])](?:\s*[:,|\-–—>]+\s+|\s+)")
"""A count with its total in brackets, without a name: `[1/60] sampled 64 answers`."""
_WORD = lazy(r"[^\W\d_]+")
_SAID = lazy(r"[\w\s.,()/%+\-]*$")
"""The rest: words and numbers, without any that is set by a sign."""


class Work(NamedTuple):
    """What a line says: the count of the step, and the amounts that have names."""

    step: Slot
    amounts: list[Slot]


def work(message: str) -> Work | None:
    """What a line says that was done for a step; None for any other line, as one of a sentence, or one that tells what
    was measured."""
    found = _work(message) if len(message) < LONGEST else []
    return Work(found[0], found[1:]) if found else None


@nothing_alike
def _work(message: str) -> list[Slot]:
    if (doing := _FOR.match(message)) is not None:
        return _doing(message, *doing.groups())
    begun = _BEGIN.match(message)
    if begun is None or not is_named(begun[1], either("counters", "weak_counters")):
        begun = _BARE.match(message)
    if begun is None:
        return []
    rest = message[begun.end() :]
    said = _said(rest)
    done = words().work
    if _SAID.match(rest) is None or not any(map(str.isdecimal, rest)) or done.isdisjoint(said[:3]):
        return []
    if has_word(rest, either("training", "evaluation")) or "we" in said or "i" in said:
        return []
    slots = slots_of(message)
    if not slots or not is_whole(slots[0]) or slots[0].text != begun[begun.re.groups]:
        return []
    return [slots[0], *(s for s in slots[1:] if s.name and not has_word(s.name, words().prose) and not s.of)]


def _said(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _doing(message: str, said: str, counter: str, count: str) -> list[Slot]:
    """The count of what is done now, if the words before it (`said`) speak of work for a step."""
    works = not words().doing.isdisjoint(said.lower().split())
    if not works or not is_named(counter, either("counters", "weak_counters")) or has_word(said, words().evaluation):
        return []
    return [slot for slot in slots_of(message) if is_whole(slot) and slot.text == count][:1]


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
