"""Titles of the rounds of an outer loop, in each of which the steps may be counted anew: `=== round 3 ===`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import Slot, is_whole, slots_of
from rltui.readers.name_words import either, has_word, is_named, last_word, words

_TITLE = lazy(
    r"^\W*(?:(?:begin|beginning|start|starting|entering|running)(?: of)?\s+)?"
    r"(?:(?:outer|main|training|curriculum)[ _\-])?"
    r"([^\W\d_]+)[\s:#=\-_]{0,3}(\d{1,6})(?:\s?(?:/|of)\s?\d{1,6})?"
    r"(?:\s+(?:begins?|starts?|started)|\s*[:\-–—]\s*[^\W\d]+(?:[ _\-][^\W\d]+){0,3})?[^\w\"']*$",
)
"""Words that only say which round begins, and what it is called: `=== phase 2: main ===`."""
LONGEST = 80
_IN_LETTERS = lazy(
    r"(?:^|(?<=\s))[\[(]?[Ee](?:[Pp]\.?)?[ :=_\-#]{0,2}0*(\d{1,4})(/\d{1,4})?[\])]?[ ,;:|/\-\[(]{0,4}"
    r"(?:(?=(?i:global[_ ])?(?i:step|iter|it|batch|update|upd)(?i:ation)?[ :=#_\-]{0,2}\d)"
    r"|([SBIUsbiu])0*(?=\d))"
)
"""Where a line counts in epochs and says so in a letter or two: `[E1] step 3/50`, `ep1 it 3`, `E01 B003`."""
BEGINS = 80
"""Most characters before the step."""
_SUB = "sub"
"""Begins the name of a part: `substep`."""


def epoch_in(message: str) -> int | None:
    """The epoch that a line begins with, or the round in a title; None if there is none. Counts below it may start
    again with it."""
    if message[:12].lower().lstrip("[(#*=- ").startswith("epoch"):
        slots = slots_of(message)
        first = slots[0] if slots else None  # `epoch_3` is a name
        return int(first.value) if first is not None and is_whole(first) and first.name.lower() == "epoch" else None
    title = _title(message)
    return None if title is None else int(title[2])


def in_words(text: str) -> str:
    """A line that tells its epoch in a letter or two before its step, with the word; any other line unchanged."""
    found = _IN_LETTERS.search(text, 0, BEGINS)
    if found is None:
        return text
    return (
        f"{text[: found.start()]}Epoch {found[1]}{found[2] or ''}, {'step ' if found[3] else ''}{text[found.end() :]}"
    )


def last_tag(lead: str) -> str:
    """The last tag before the words of a line: `[round 2/4]`; "" if there is none."""
    return lead[at:] if (at := lead.rfind("[")) >= 0 else ""


def title_of_round(message: str) -> str:
    """The word for a round in the title of one, in lower case; "" for any other line."""
    title = _title(message)
    return "" if title is None else title[1]


def counts_parts(slots: Iterable[Slot], title: str) -> bool:
    """Whether a line below the title of a round counts parts of a step: minibatches, passes over the samples of the
    round. Their count starts again with each step. `title`: the word for the round. One that is a step by its name,
    `=== Iteration 3 ===`, may hold several updates."""
    known = words()
    plain = known.steps if title in known.steps else known.counters
    names = [slot.name for slot in slots if is_whole(slot) and slot.name]
    parts = {name for name in names if has_word(name, known.inner) or name.lower().startswith(_SUB)}
    counts = [name for name in names if name in parts or is_named(name, either("counters", "weak_counters"))]
    return bool(counts) and not any(last_word(name) in plain and name not in parts for name in counts)


def _title(message: str) -> re.Match[str] | None:
    found = _TITLE.match(message.lower()) if len(message) <= LONGEST else None
    return found if found is not None and found[1] in words().outer else None
