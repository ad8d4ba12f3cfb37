"""Two step lines on one line, because two programs wrote at once or the line end of the first was lost."""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import without_lead
from rltui.readers.console.named_numbers import Slot, slots_of

_DIGIT = lazy(r"\d")


def glued(line: str, head: str) -> list[str]:
    """The two lines; empty if it is one line. `head`: what step lines begin with, after the prefix of logging. If the
    first line was cut off before the second began, they are not split."""
    before = line.find(head) if head else -1
    at = line.find(head, before + 1) - before
    if before < 0 or at <= 0 or _form(line[at : at + before]) != _form(line[:before]):
        return []
    first, second = line[:at], line[at:]
    told, rest = slots_of(without_lead(first)), slots_of(without_lead(second))
    alike = [slot.name for slot in told] == [slot.name for slot in rest[: len(told)]]
    whole = alike and len(told) > 1 and _places(told[-1]) == _places(rest[len(told) - 1])
    return [first, second] if whole else []


def _form(text: str) -> str:
    return _DIGIT.sub("0", text)


def _places(slot: Slot) -> int:
    """Number of digits after the point."""
    return len(slot.text.partition(".")[2])
