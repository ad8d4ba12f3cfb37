"""Lines with plain numbers in place of those with a unit, as each reader of a line is given them."""

from __future__ import annotations

from functools import lru_cache

from rltui.readers.console.forms import RECENT, unchanged_alike
from rltui.readers.console.signs import hidden
from rltui.readers.number_text import without_gaps
from rltui.readers.units import converted, has_number


@lru_cache(maxsize=RECENT)
@unchanged_alike
def with_units(text: str, commas: bool = False) -> str:
    """The text of a line with plain numbers (`converted`), and with letters in place of the signs in names
    (`hidden`)."""
    return hidden(converted(text, commas)) if has_number(text) else without_gaps(text)
