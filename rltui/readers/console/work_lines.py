"""Lines that say what was done for a step, `rollout 91 generated 256 answers`: the numbers of the step are below."""

from __future__ import annotations

from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.readers.console.forms import nothing_alike
from rltui.readers.console.named_numbers import Slot, is_whole, slots_of
from rltui.readers.name_words import either, has_word, is_named, words

LONGEST = 100
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
    said = [word.lower() for word in _WORD.findall(rest)]
    done = words().work
    if _SAID.match(rest) is None or not any(map(str.isdecimal, rest)) or done.isdisjoint(said[:3]):
        return []
    if has_word(rest, either("training", "evaluation")) or "we" in said or "i" in said:
        return []
    slots = slots_of(message)
    if not slots or not is_whole(slots[0]) or slots[0].text != begun[begun.re.groups]:
        return []
    return [slots[0], *(s for s in slots[1:] if s.name and not has_word(s.name, words().prose) and not s.of)]


def _doing(message: str, said: str, counter: str, count: str) -> list[Slot]:
    """The count of what is done now, if the words before it (`said`) speak of work for a step."""
    works = not words().doing.isdisjoint(said.lower().split())
    if not works or not is_named(counter, either("counters", "weak_counters")) or has_word(said, words().evaluation):
        return []
    return [slot for slot in slots_of(message) if is_whole(slot) and slot.text == count][:1]
