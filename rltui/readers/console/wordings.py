"""What the step lines of a log begin with, which tells them from samples that look like them."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.lazy_regex import lazy

ALONE = 8
"""Lines in other words, with none of the usual between them, up to which they may be of a sample."""
MOST = 400
"""Beginnings that are kept."""
_BEGIN = lazy(r"[^\d]*")


class _Wording(Struct):
    """Step lines that begin alike: how often they went on, how far, and what they name."""

    went_on: int = 0
    newest: int = -1
    alone: int = 0  # of them since the usual ones were silent
    names: set[str] = field(default_factory=set)


class Wordings:
    """What step lines begin with. Lines that begin otherwise and are behind the usual ones say nothing of what those
    tell: a sample that is printed between them, `Step 2: loss: 5` of an answer, may look like one. So many of them
    that nothing comes between are a run in other words."""

    def __init__(self) -> None:
        self._known: dict[str, _Wording] = {}

    def copy(self) -> Wordings:
        """One that takes lines without changing this one."""
        twin = Wordings()
        twin._known = {key: replace(one, names=set(one.names)) for key, one in self._known.items()}
        return twin

    def told(self, message: str, step: int, cells: dict[str, float]) -> dict[str, float]:
        """What a line tells of this step: all, or what the usual lines do not tell."""
        begin = _BEGIN.match(message)
        key = begin[0] if begin is not None else ""
        usual = next(iter(self._known.values()), None)  # the first, unless others went on for long without it
        usual = max(
            (one for one in self._known.values() if usual and one.went_on > usual.went_on + ALONE),
            key=lambda one: one.went_on,
            default=usual,
        )
        own = self._known.get(key) or _Wording()
        if len(self._known) < MOST:
            self._known[key] = own
        behind = usual is not None and own is not usual and step <= usual.newest
        if own is usual:
            for one in self._known.values():
                one.alone = 0
        own.alone += 1
        own.went_on += step > own.newest and not behind
        own.newest = max(own.newest, step)
        if usual is not None and behind and own.alone <= ALONE:
            return {name: x for name, x in cells.items() if name not in usual.names}
        own.names |= cells.keys()
        return cells
