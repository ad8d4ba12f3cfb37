"""Numbers with a unit in the cells of tables and in the texts of JSON: `"16.5%"`, `"32.3s"`, `"61.5 GB"`, `"0:00:30"`.
The cell's name and text are joined as in a line of a log, and the number is converted as in such a line: see `units`.
"""

from __future__ import annotations

from functools import lru_cache

from rltui.lazy_regex import lazy
from rltui.readers.number_text import NUMBER, value

MOST = 40
"""The longest number with its unit, in characters."""
_MINUTES = r"m|mins?|minutes?|h|hrs?|hours?"
_UNITS = (
    rf"%|[kKM](?: ?tok(?:en)?s?(?:/s(?:ec)?)?)?|[KMGT]i?B|m?s|msecs?|us|µs|ns|secs?|seconds?|{_MINUTES}|W|°C"
    r"|(?:tok(?:en)?s?|samples?|it|steps?)/s(?:ec)?|s(?:ec)?/(?:it|iter|step|sample)"
)
_PARTS = r"(?=\d+[dhm] ?\d)(?:\d+d ?)?(?:\d+h ?)?(?:\d+m(?:in)? ?)?(?:\d+(?:\.\d+)?s(?:ec)?)?"
_CLOCK = r"(?:\d{1,4} days?, )?\d{1,3}:[0-5]\d:[0-5]\d(?:\.\d{1,9})?"
_CELL = lazy(rf"(?:{NUMBER}\s?(?:{_UNITS})|{_PARTS}|{_CLOCK})")
_CONVERTED = lazy(rf"({NUMBER})\s?(?:{_UNITS})?")
_UNCLEAR = lazy(rf"{NUMBER}\s?(?:{_MINUTES})")
"""`5 m` and `5 min` may be metres and a minimum, unless the name shows that it is a time."""


def with_unit(name: str, cell: str) -> float | None:
    """The number in a cell that holds only a number and its unit; None for any other text."""
    text = cell.strip()
    if not text or len(text) > MOST or not (text[0].isdigit() or text[0] in "+-."):
        return None
    return _converted(name.strip(), text) if _CELL.fullmatch(text) else None


@lru_cache(maxsize=4096)
def _converted(name: str, text: str) -> float | None:
    from rltui.readers.units import converted, says_unit  # late: few files have units in their cells

    plain = converted(f"{name}={text}").rpartition("=")[2].strip()
    found = _CONVERTED.fullmatch(plain)
    if found is None or (_UNCLEAR.fullmatch(plain) and not says_unit(name)):
        return None
    return value(found[1])
