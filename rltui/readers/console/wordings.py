"""The beginnings of a log's step lines, which distinguish them from samples that look like them."""

from __future__ import annotations

from math import nan

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import program, split_lead
from rltui.readers.console.trainings import is_another, training_of

ALONE = 8
"""Up to this many lines in other words, without a usual line between them, may come from a sample."""
MANY = 4
"""A sample that looks like a step line names fewer numbers than this."""
MOST = 400
"""Most beginnings that are kept."""
_BEGIN = lazy(r"[^\d]*")


class IgnoredLine(Struct, frozen=True):
    """A line of which numbers were ignored: its step and all its numbers, its line number and its time."""

    step: int
    cells: dict[str, float]
    message: str
    at: int
    time: float


class _Wording(Struct):
    """Step lines with one beginning: how often they reached a new step, their newest step, and their names. `ignored`:
    those since the last usual line."""

    went_on: int = 0
    newest: int = -1
    alone: int = 0  # how many came since the last usual line
    last: int = -1
    backs: int = 0  # how often its step went back
    names: set[str] = field(default_factory=set)
    training: str = ""
    ignored: list[IgnoredLine] = field(default_factory=list)


class Wordings:
    """The beginnings of step lines. A line with another beginning and a step behind the usual lines may come from a
    printed sample, `Step 2: loss: 5` in a response. Its numbers that the usual lines state are ignored, unless it names
    `MANY` or another training. If more than `ALONE` such lines come in a row, they all count: the run goes on in other
    words."""

    def __init__(self) -> None:
        self._known: dict[str, _Wording] = {}
        self._late: list[IgnoredLine] = []
        self._newest: _Wording | None = None  # that of the newest line, if it is the usual one

    @property
    def is_usual(self) -> bool:
        """Whether the newest line has the usual beginning."""
        return self._newest is not None

    def goes_on(self, step: int) -> None:
        """Takes a line right below the newest one, with the same beginning and names, and a later step."""
        if (usual := self._newest) is not None:
            usual.went_on += step > usual.newest
            usual.newest = max(usual.newest, step)
            usual.last = step

    def late(self) -> list[IgnoredLine]:
        """Lines before the newest one that count after all; given once."""
        late, self._late = self._late, []
        return late

    def copy(self) -> Wordings:
        """A copy that takes lines without changing this one."""
        twin = Wordings()
        twin._known = {
            key: replace(one, names=set(one.names), ignored=list(one.ignored)) for key, one in self._known.items()
        }
        twin._late = list(self._late)
        twin._newest = next((twin._known[key] for key, one in self._known.items() if one is self._newest), None)
        return twin

    def told(
        self, message: str, step: int, cells: dict[str, float], at: int = 0, time: float = nan
    ) -> dict[str, float]:
        """The numbers of a line that count: all, or only those that the usual lines do not state. `at`: its line
        number. `time`: when it was written."""
        lead = split_lead(message)  # its time stamp would end each beginning
        begin = _BEGIN.match(lead.message)
        words = [] if begin is None else begin[0].rstrip("+-.").split()  # without the sign of the number
        key = " ".join((program(lead), *words))
        usual = next(iter(self._known.values()), None)  # the first one, unless another went on for long without it
        usual = max(
            (one for one in self._known.values() if usual and one.went_on > usual.went_on + ALONE),
            key=lambda one: one.went_on,
            default=usual,
        )
        own = self._known.get(key) or _Wording(training=training_of(lead))
        if len(self._known) < MOST:
            self._known[key] = own
        behind = usual is not None and own is not usual and step <= usual.newest
        self._newest = own if own is usual else None
        if own is usual:
            for one in self._known.values():
                one.alone = 0
                one.ignored.clear()
        own.alone += 1
        own.backs, own.last = own.backs + (step < own.last), step
        own.went_on += step > own.newest and not behind
        own.newest = max(own.newest, step)
        apart = usual is not None and (len(cells) >= MANY or is_another(usual.training, own.training))
        if usual is not None and not usual.backs and behind and own.alone <= ALONE and not apart:
            told = {name: x for name, x in cells.items() if name not in usual.names}
            if len(told) < len(cells):
                own.ignored.append(IgnoredLine(step, dict(cells), message, at, time))
            return told
        if usual is not None and usual.went_on > ALONE and own.ignored and own.ignored[-1].step <= step:
            self._late += own.ignored  # samples number few steps: of a log with more they do not reach the newest
        own.ignored.clear()
        own.names |= cells.keys()
        return cells
