"""How the headings of steps look, and which numbers are in the lines below them.

A response that is printed below such a heading may number its own parts, `Step 3:`, and name numbers, `score: 4`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import Slot
from rltui.readers.console.step_template import skeleton
from rltui.readers.name_words import has_word, words

FENCE = "```"
"""Begins and ends a piece of code."""
_LABEL = lazy(r"^\W*((?:[^\W\d]+ )?[^\W\d]+)\s?:")
_RULE = lazy(r"\W{10,}$")
"""The end of a panel, or a rule between parts of a log."""
_RUN = lazy(r"([^\w#])\1+")
KNOWN = 3
"""After this many headings of one form with rising counts, another form counts something else."""
OFTEN = 2
MOST = 200
"""Most forms and lines that are kept."""


def opens_text(message: str) -> bool:
    """Whether a line says that a prompt, a response or the like follows: `completion: Step 1`."""
    label = _LABEL.match(message)
    return label is not None and has_word(label[1], words().texts)


def ends_text(message: str) -> bool:
    """Whether a line only draws a rule: what follows is not part of the text above it."""
    return _RULE.match(message) is not None


def _form(heading: str) -> str:
    """A heading without its digits and without the length of its rules and gaps, which in a centred heading shrink as
    its number gets longer."""
    return str(_RUN.sub(r"\1", skeleton(heading)))


class HeadingForms(Struct):
    """Forms of headings by what they count, and the names in lines below headings, each with how often it came."""

    _forms: Counter[tuple[str, str]] = field(default_factory=Counter)  # name of the count, form
    _newest: dict[tuple[str, str], float] = field(default_factory=dict)
    _lines: Counter[frozenset[str]] = field(default_factory=Counter)
    _headings: int = 0

    def copy(self) -> HeadingForms:
        return HeadingForms(Counter(self._forms), dict(self._newest), Counter(self._lines), self._headings)

    @property
    def are_new(self) -> bool:
        """Whether there was no heading before the newest."""
        return self._headings <= 1

    def begin(self) -> None:
        """Takes the heading of a step."""
        self._headings += 1

    def add(self, begins: Sequence[Slot], message: str) -> None:
        """Takes a heading. It counts if its number rises from the heading of this form before."""
        self.begin()
        key = begins[0].name.lower(), _form(message)
        if key not in self._newest and len(self._newest) >= MOST:
            return
        self._forms[key] += begins[0].value > self._newest.get(key, -1)
        self._newest[key] = begins[0].value

    def has(self, begins: Sequence[Slot], message: str) -> bool:
        """Whether a heading of this form came before."""
        return (begins[0].name.lower(), _form(message)) in self._newest

    def names(self, begins: Sequence[Slot], message: str) -> bool:
        """Whether headings of another form, and not of this one, are known to count this."""
        name, form = begins[0].name.lower(), _form(message)
        if self._forms[name, form] >= OFTEN:
            return False
        return any(of == name and other != form and seen >= KNOWN for (of, other), seen in self._forms.items())

    def add_line(self, names: Iterable[str]) -> None:
        """Takes the names in a line below a heading."""
        key = frozenset(names)
        if key in self._lines or len(self._lines) < MOST:
            self._lines[key] += 1

    def may_have_line(self, names: Iterable[str]) -> bool:
        """Whether `has_line` is true, or there were too few headings to decide."""
        return self._headings <= KNOWN or self.has_line(names)

    def has_line(self, names: Iterable[str]) -> bool:
        """Whether lines with exactly these names came below at least every second heading."""
        seen = self._lines[frozenset(names)]
        return seen >= OFTEN and 2 * seen >= self._headings
