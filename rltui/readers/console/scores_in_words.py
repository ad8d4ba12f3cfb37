"""Scores of an evaluation that a line tells in words, now and then between the steps: `accuracy on dev: 0.61 (61/100)`,
`Percentage of correct examples: 43.2`."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct, field

from rltui.lazy_regex import lazy
from rltui.readers.console.evaluation_rows import are_problems
from rltui.readers.console.forms import RECENT, nothing_alike
from rltui.readers.name_words import either, has_word, words
from rltui.readers.number_text import value

SELDOM = 2
"""Fewest steps from one such line to the next, and to the first one. At each step it tells of the training."""
LONGEST = 120
MOST_IN_TEXTS = 400
"""Most wordings of scores in texts that are kept."""
_SET = (
    r"(?:the )?(?P<set>[A-Za-z][\w.\-]{1,30})(?:[ _](?:test|val|validation|dev|eval))?"
    r"(?:[ _](?:set|split|data|problems|examples|questions|prompts|samples|tasks))?"
)
_NUMBER = r"\s*(?:[:=]|->|is)\s*(?P<number>\d{1,3}(?:\.\d+)?)\s?(?P<percent>%)?(?:\s*[(\[]\d+\s?/\s?\d+[)\]])?\W*$"
_ON_SET = lazy(rf"\W{{0,4}}(?P<name>[A-Za-z][\w@]*(?: [A-Za-z][\w@]*){{0,2}}) (?:on|over|for|across) {_SET}{_NUMBER}")
_SHARE = lazy(
    r"(?i:\W{0,4}(?P<share>percentage|percent|fraction|share|proportion)(?: of)?(?: the)? "
    r"(?P<of>[a-z]+(?: [a-z]+){0,2}?)"
    rf"(?: (?:on|over|in) {_SET})?){_NUMBER}"
)
"""A share of the examples, perhaps with its data set."""
_TEXT = lazy(
    r"\W*((?:[^\W\d]+ )?[^\W\d]+)(?: ?#?\d{1,6})?[*`_]*\s*(?::[*`_]*(?!\s*[-+]?\.?\d[\d.,]*\s?%?\W*$)|[\])>}]|\W{3,}$)"
)
"""What opens a printed text: `Response: The`, `A:`, `<answer>`, `=== sample 3 ===`; not `response length: 311`."""
_SPEAKERS = frozenset(("a", "q"))
_OF_HUNDRED = frozenset(("percentage", "percent"))
_EXAMPLES = frozenset(
    ("answers", "responses", "questions", "completions", "predictions", "solutions", "tasks", "cases")
)


class _Score(Struct, frozen=True):
    """A score: its name, the data that it is of ("" for none), and whether these are never trained on."""

    name: str
    of: str
    number: float
    held_out: bool


class _InText(Struct, frozen=True):
    """The newest score of one wording that stood in a text: its step and number, and the number at the step before."""

    step: int
    number: float
    before: float | None = None


class ScoresInWords(Struct):
    """Takes the lines of a log in their order. To take the beginning of a line before the line changes nothing. A score
    below the beginning of a text may be part of it, up to the next step. It counts once its words came with another
    number: an evaluation may print a sample first, but few answers use the same words."""

    _steps: set[int] = field(default_factory=set)  # some of those since the newest of these lines
    _newest: int | None = None  # the step of that
    _often: bool = False  # one came with a step, as those of the training do
    _seldom: bool = False  # the newest one did not
    _text_at: int | None = None  # the step at which the newest text began
    _in_texts: dict[tuple[str, str], _InText] = field(default_factory=dict)

    def told(self, message: str, newest: int) -> str | None:
        """The dict of a score of an evaluation; None for any other line. `newest`: the newest step of the training, -1
        before the first."""
        if newest < 0:
            return None
        if len(self._steps) <= SELDOM:
            self._steps.add(newest)
        if begins_text(message):
            self._text_at = newest
        found = _score(message) if len(message) < LONGEST else None
        if found is None or not (found.held_out or self._is_seldom(newest)):
            return None
        if self._text_at == newest and not self._came_otherwise(found, newest):
            return None
        of = f"{found.of}/" if found.of else ""
        return f"{{'eval/{of}{found.name}': {found.number!r}}}"

    def _came_otherwise(self, score: _Score, step: int) -> bool:
        """Whether a score in a text stood with the same words and another number in one of an earlier step."""
        key = score.name, score.of
        known = self._in_texts.get(key)
        before = None if known is None else known.before if known.step == step else known.number
        if known is not None or len(self._in_texts) < MOST_IN_TEXTS:
            self._in_texts[key] = _InText(step, score.number, before)
        return before is not None and before != score.number

    def _is_seldom(self, newest: int) -> bool:
        """Whether such a line comes only now and then, at this step as well."""
        if newest != self._newest:
            self._seldom = len(self._steps) > SELDOM
            self._often |= self._newest is not None and not self._seldom
            self._newest, self._steps = newest, {newest}
        return self._seldom and not self._often


@lru_cache(maxsize=RECENT)
def begins_text(message: str) -> bool:
    """Whether a line says that a prompt, a response or the like follows, or begins one."""
    found = _TEXT.match(message)
    if found is None:
        return False
    named = found[1].lower()
    return named in _SPEAKERS or has_word(named, words().texts)


@nothing_alike
def _score(message: str) -> _Score | None:
    return _of_share(message) or _of_set(message)


def _of_set(message: str) -> _Score | None:
    found = _ON_SET.match(message)
    if found is None or not has_word(found["name"], words().training) or has_word(found["name"], words().no_part):
        return None
    held_out = _is_held_out(found["set"])
    if not held_out and not are_problems(found["set"]):
        return None
    return _Score(
        "_".join(found["name"].lower().split()), found["set"], _number(found["number"], found["percent"]), held_out
    )


def _of_share(message: str) -> _Score | None:
    found = _SHARE.match(message)
    if found is None or not has_word(found["of"], words().shares):
        return None
    others = {word.lower() for word in found["of"].split()} - words().shares - words().items - _EXAMPLES
    of = found["set"] or ""
    if others or (of and not _is_held_out(of) and not are_problems(of)):
        return None
    percent = found["percent"] or (found["share"].lower() in _OF_HUNDRED)
    return _Score("accuracy", of, _number(found["number"], percent), bool(of) and _is_held_out(of))


def _is_held_out(name: str) -> bool:
    return name.lower() in either("held_out", "evaluation")


def _number(text: str, percent: object) -> float:
    return value(text) / 100 if percent else value(text)
