"""Time stamps as logs write them: with date and zone, or less of it."""

from __future__ import annotations

from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.readers.keys import MILLISECONDS

DATE = r"(?:\d{4}[-/]?\d\d[-/]?\d\d|\d\d/\d\d/(?:\d{4}|\d\d))"
CLOCK = (
    r"\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| UTC\b| [+-]\d\d:?\d\d(?=[\]\s]|$)|[+-]\d\d:?\d\d)?(?: [AP]M\b)?"
    r"(?! ?(?:<|/|s\b))"
)
"""The time of a day; a duration is none."""
EPOCH = r"1[67]\d{8}(?:\d{3})?(?:\.\d{1,9})?"
"""Seconds or milliseconds since the epoch."""
_DAY = (
    r"(?P<year>\d{4})[-/]?(?P<month>\d\d)[-/]?(?P<day>\d\d)"
    r"|(?P<first>\d\d)/(?P<second>\d\d)/(?P<third>\d{4}|\d\d)"
    r"|[A-Z]?(?P<of_month>\d\d)[-/]?(?P<of_day>\d\d)"
    r"|(?P<name>[A-Z][a-z]{2}) (?P<named_day>[ \d]\d)"
)
_DAYS = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
CTIME = rf"{_DAYS} [A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d (?:[A-Z]{{2,4}} )?\d{{4}}"
"""A time as C and `date` write it: `Tue Nov 24 18:20:01 2026`."""
_STAMP = lazy(
    rf"(?<![\w.])(?:(?:{_DAY})[ T_-])?(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second_>\d\d)(?:[.,](?P<part>\d{{1,9}}))?"
    r"(?P<zone>Z| UTC\b| ?[+-]\d\d:?\d\d)?(?: (?P<half>[AP])M\b)?"
    r"(?:(?: [A-Z]{2,4})? (?P<last>\d{4})\b)?"
    rf"|(?<![\w.:/-])(?P<epoch>{EPOCH})(?![\w.:/-])"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Stamp(NamedTuple):
    """What a stamp says. `year`, `month` and `day` are 0 where it leaves them out; `zone` is "" or as in ISO 8601;
    `seconds`: since the hour, or since the epoch if `hour` is negative. `hour_end`, `end`: where hour and seconds
    end in the text."""

    year: int
    month: int
    day: int
    hour: int
    seconds: float
    zone: str = ""
    hour_end: int = 0
    end: int = 0


def stamps(text: str) -> list[Stamp]:
    """All that stand in a text that holds no message."""
    out = []
    for found in _STAMP.finditer(text):
        if found["epoch"] is not None:
            since = float(found["epoch"])
            out.append(Stamp(1970, 1, 1, -1, since / 1000 if since > MILLISECONDS else since))
            continue
        hour, zone = int(found["hour"]), (found["zone"] or "").strip().replace("UTC", "Z").replace("Z", "+00:00")
        if found["half"] is not None:
            hour = hour % 12 + 12 * (found["half"] == "P") if 1 <= hour <= 12 else 99
        seconds: float = 60 * int(found["minute"]) + int(found["second_"])
        if found["part"]:
            seconds += float(f"0.{found['part']}")
        if hour < 24 and seconds < 3601:
            year, month, day = _date(*found.group("year", "month", "day", "first", "second", "third"))
            if found["of_month"] is not None:
                month, day = int(found["of_month"]), int(found["of_day"])
            elif found["name"] in _MONTHS:
                month, day = _MONTHS.index(found["name"]) + 1, int(found["named_day"])
                year = int(found["last"] or 0)
            end = found.end("part") if found["part"] else found.end("second_")
            out.append(Stamp(year, month, day, hour, seconds, zone, found.end("hour"), end))
    return out


def _date(year: str | None, month: str, day: str, first: str | None, second: str, third: str) -> tuple[int, int, int]:
    """`26/11/24` of log4j begins with the year, `11/24/26` with the month, as C has it: no year of a log is a month.
    `24/11/2026` begins with the day."""
    if year is not None:
        return int(year), int(month), int(day)
    if first is None:
        return 0, 0, 0
    a, b, c = int(first), int(second), int(third)
    if a > 12 and len(third) == 2:
        return 2000 + a, b, c
    c += 2000 * (c < 100)
    return (c, b, a) if a > 12 else (c, a, b)
