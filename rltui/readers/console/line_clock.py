"""When a line was written, by the time stamp before its message; never by the time of a file or a time inside the
message."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from math import nan
from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import Stamp, plain, split_lead, stamps

BACK_S = 3600.0
"""A clock may be set back by this much, as at the end of summer time. A time of day further back belongs to the next
day."""
OUT_OF_ORDER_S = 60.0
"""Lines of several processes may be this much out of order. At the end of summer time one hour comes twice; a time in
it that is further back belongs to the second one."""
_SLOT = lazy(r":([0-5]\d):([0-5]\d(?:[.,]\d{1,9})?)")
_HOURS = 64
"""Most hours whose beginning is cached."""


class _Slot(NamedTuple):
    """The text before and after minutes and seconds, and when their hour began."""

    before: str
    behind: str
    begin: float


class LineClock:
    """Reads the stamps of one log in the order of its lines. Stamps without a zone are in this machine's time.

    A stamp without a date gets that of the newest line with one, or the day after. A stamp without a year gets the
    nearest one. `undated`: a stamp had no date, and no line before it had one, so its time is not known. `zoned`: see
    `Rows`. `plain`: the newest text without a stamp.
    """

    def __init__(self) -> None:
        self.undated = self.zoned = False
        self._near: float | None = None  # the newest time that is known
        self._hours: dict[tuple[int, int, int, int, str], tuple[float, float]] = {}
        self._slots: dict[bool, _Slot] = {}  # of the newest text, by whether it is only a lead: most texts are alike
        self.plain = b""

    def of(self, lead: str) -> float:
        """Seconds since the epoch, from the text before a message; NaN if that has no time."""
        if not lead:
            return nan
        time = self._alike(lead, True)
        return self._read(lead, lead, True) if time is None else time

    def before(self, line: bytes, end: int) -> float:
        """The same for a line whose message begins at `end`."""
        if end <= 0 or line[:end] == self.plain:
            return nan
        text = line[:end].decode("utf-8", "replace")
        time = self._alike(text, False)
        if time is None:
            lead = lead_of(text)
            time = self._read(text, lead, False)
            if not stamps(lead):
                self.plain = line[:end]
        return time

    def _alike(self, text: str, alone: bool) -> float | None:
        """The time in a text that is like the one before; None if it is not. It takes a tenth of the time of a full
        parse."""
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
        """Takes the time of a row: the next stamps are near it."""
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
        """When the hour of a stamp began, for the first and the second time: at the end of summer time one hour comes
        twice."""
        hour = stamp.year, stamp.month, stamp.day, stamp.hour, stamp.zone
        if hour not in self._hours:
            if len(self._hours) >= _HOURS:
                self._hours.clear()
            first, second = _begin(*hour, 0), _begin(*hour, 1)
            self._hours[hour] = first, max(first, second)  # for an hour that is skipped their order is reversed
        return self._hours[hour]

    def _twice(self, stamp: Stamp) -> bool:
        first, second = self._begins(stamp)
        return second > first

    def _completed(self, stamp: Stamp) -> float:
        """The time of a stamp without the year or the date."""
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
    """The text before the message of a line, without colours."""
    return split_lead(plain(line)).before


def time_of(line: str) -> float | None:
    """The time of a single line; None if its stamp has no date."""
    time = LineClock().of(lead_of(line))
    return time if time == time else None


def _begin(year: int, month: int, day: int, hour: int, zone: str, fold: int) -> float:
    try:
        begin = datetime.fromisoformat(f"{year:04}-{month:02}-{day:02}T{hour:02}:00:00{zone}")
        return begin.replace(fold=fold).timestamp()
    except (ValueError, OverflowError, OSError):
        return nan
