"""When a line was written, by the time stamp in front of its message: never by a file's time, nor by a time that its
message tells of."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from math import nan
from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import Stamp, plain, split_lead, stamps

BACK_S = 3600.0
"""A clock may be set back by so much, as at the end of summer time. What lies further back is of the next day."""
OUT_OF_ORDER_S = 60.0
"""Lines of several processes may stand so far out of order. What lies further back in an hour that comes twice, at the
end of summer time, is of the second time."""
_SLOT = lazy(r":([0-5]\d):([0-5]\d(?:[.,]\d{1,9})?)")
_HOURS = 64
"""Hours whose begin is kept."""


class _Slot(NamedTuple):
    """What stands around minutes and seconds in a text that was read, and when their hour began."""

    before: str
    behind: str
    begin: float


class LineClock:
    """Reads the stamps of one log in the order of its lines; without a zone they are this machine's time.

    A stamp that leaves out the date has that of the newest line with one, or of the day after; one that leaves out the
    year the nearest. `undated`: as long as no line has a date, none of them tells a time. `zoned`: see `Rows`.
    """

    def __init__(self) -> None:
        self.undated = self.zoned = False
        self._near: float | None = None  # the newest time that is known
        self._hours: dict[tuple[int, int, int, int, str], tuple[float, float]] = {}
        self._slots: dict[bool, _Slot] = {}  # of the newest text, be it a lead alone or not: most are alike
        self._plain = b""  # the newest text without a time

    def of(self, lead: str) -> float:
        """Seconds since the epoch by what stands before a message; NaN where that holds no time."""
        if not lead:
            return nan
        time = self._alike(lead, True)
        return self._read(lead, lead, True) if time is None else time

    def before(self, line: bytes, end: int) -> float:
        """The same of a line whose message begins at `end`."""
        if end <= 0 or line[:end] == self._plain:
            return nan
        text = line[:end].decode("utf-8", "replace")
        time = self._alike(text, False)
        if time is None:
            lead = lead_of(text)
            time = self._read(text, lead, False)
            if not stamps(lead):
                self._plain = line[:end]
        return time

    def _alike(self, text: str, alone: bool) -> float | None:
        """The time in a text that is like the one before it, which costs a tenth of a look at any text."""
        slot = self._slots.get(alone)
        if slot is None or not (text.startswith(slot.before) and text.endswith(slot.behind)):
            return None
        found = _SLOT.fullmatch(text, len(slot.before), len(text) - len(slot.behind))
        if found is None:
            return None
        self._near = slot.begin + 60 * int(found[1]) + float(found[2].replace(",", "."))
        return self._near

    def _read(self, text: str, lead: str, alone: bool) -> float:
        found = stamps(lead)
        whole = next((stamp for stamp in found if stamp.year), None)
        if whole is None:
            return self._completed(found[0]) if found else nan
        time, offset = self._at(whole), text.find(lead)
        if time == time:
            self._near = time
            if offset >= 0 and whole.end and not self._twice(whole):
                before, behind = text[: offset + whole.hour_end], text[offset + whole.end :]
                self._slots[alone] = _Slot(before, behind, time - whole.seconds)
        return time

    def know(self, time: float) -> None:
        """A row is of this time: the stamps that follow are near it."""
        if time == time:
            self._near = time

    def _at(self, stamp: Stamp) -> float:
        if stamp.hour < 0:
            return stamp.seconds
        self.zoned = bool(stamp.zone)
        first, second = self._begins(stamp)
        if self._near is not None and first + stamp.seconds < self._near - OUT_OF_ORDER_S:
            return second + stamp.seconds
        return first + stamp.seconds

    def _begins(self, stamp: Stamp) -> tuple[float, float]:
        """When the hour of a stamp began, the first and the second time: at the end of summer time one comes twice."""
        hour = stamp.year, stamp.month, stamp.day, stamp.hour, stamp.zone
        if hour not in self._hours:
            if len(self._hours) >= _HOURS:
                self._hours.clear()
            first, second = _begin(*hour, 0), _begin(*hour, 1)
            self._hours[hour] = first, max(first, second)  # an hour that is left out has them the other way round
        return self._hours[hour]

    def _twice(self, stamp: Stamp) -> bool:
        first, second = self._begins(stamp)
        return second > first

    def _completed(self, stamp: Stamp) -> float:
        """The time of a stamp that leaves out the year or the date."""
        if self._near is None:
            self.undated = True
            return nan
        today = date.fromtimestamp(self._near)
        if stamp.month:
            years = [self._at(stamp._replace(year=today.year + apart)) for apart in (-1, 0, 1)]
            return min((t for t in years if t == t), key=lambda time: abs(time - (self._near or 0)), default=nan)
        for apart in (-1, 0, 1, 2):
            day = today + timedelta(days=apart)
            time = self._at(stamp._replace(year=day.year, month=day.month, day=day.day))
            if time >= self._near - BACK_S:
                return time
        return nan


def lead_of(line: str) -> str:
    """What stands before the message of a line, without colours."""
    return split_lead(plain(line)).before


def time_of(line: str) -> float | None:
    """The time of a line by itself: None if its stamp has no date."""
    time = LineClock().of(lead_of(line))
    return time if time == time else None


def _begin(year: int, month: int, day: int, hour: int, zone: str, fold: int) -> float:
    try:
        begin = datetime.fromisoformat(f"{year:04}-{month:02}-{day:02}T{hour:02}:00:00{zone}")
        return begin.replace(fold=fold).timestamp()
    except (ValueError, OverflowError, OSError):
        return nan
