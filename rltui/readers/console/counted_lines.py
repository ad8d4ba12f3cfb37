"""Counts lines and blocks that state no step: lines with a fraction of the epochs, `[Epoch 0.60] loss=0.3 reward=0.5`;
blocks below a title that recurs and names no step, `### Training metrics ###`; lines that hold a dict or only named
numbers, `metrics: {'policy_loss': 1.2, 'reward': 0.1}`, `loss: 1.2, reward: 0.1`."""

from __future__ import annotations

import copy

from rltui.lazy_regex import lazy
from rltui.readers.console.layouts import pair_cells
from rltui.readers.console.named_numbers import Slot, is_whole
from rltui.readers.console.step_template import is_about, may_count, promising
from rltui.readers.name_words import either, has_word, last_word, words

COUNTED = "counted step"
"""Name of the number that such a line gets."""


FEWEST = 5
"""Fewest blocks or dicts that are counted: before that a step may still be named."""
_DICT = lazy(r"^(?:[^\W\d][^{}\[\]:=]{0,60}[:=]\s*|[^\W\d][^\W\d ]*(?: [^\W\d][^\W\d ]*){0,5}\s)?\{\s*['\"].*\}$")
_TITLE = lazy(r"^[^\w\[\](){}<>\"']{2,}([^\W\d_]+(?:[ _][^\W\d_]+){0,3})(?:[^\w\[\](){}<>\"']{2,}|:?\s*)$")


_SET = ("config", "configuration", "settings", "setup", "args", "arguments", "hyperparameters", "parameters")
_OTHERS = frozenset((*_SET, "trial", "run", "experiment", "model", "environment", "summary", "best", "final"))
"""Words in titles above settings, or above results of a whole training."""


_LOSS = frozenset(("loss",))
_TEXT = lazy(r":\s*(['\"])(?!\s*[-+]?\.?\d)")
"""A value that is a text, not a number in quotes."""


def title_alone(message: str) -> str:
    """The words of a line that is a title in a rule or frame; empty for any other line, and for a title of texts or of
    an evaluation."""
    found = _TITLE.match(message)
    others = either("texts", "items", "places", "prose", "evaluation", "benchmarks") | _OTHERS
    return "" if found is None or has_word(found[1], others) else str(found[1])


def dict_alone(message: str) -> str | None:
    """The words before the dict of a line that holds only a dict. None for any other line, and for a dict of settings,
    of texts, of an evaluation, or with a text in it, such as a graded answer."""
    if message[-1:] != "}" or _DICT.match(message) is None or _TEXT.search(message) is not None:
        return None
    named = message.partition("{")[0].rstrip(" :=")
    others = either("texts", "items", "places", "prose", "evaluation", "benchmarks") | _OTHERS
    return None if has_word(named, others) else named


_WITHIN = lazy(r"[,;|]?\s*[^\W\d][\w ]{0,60}[:=]\s*\{[^{}]*\}")
"""A dict among named numbers."""
_NUMBERED = lazy(r"[^\W\d][^\W\d ]*(?: [^\W\d]+)* [\d.]+:\s")
"""A title with a number of its own, which may be one of many things: `Section 0.5: loss=0.3`."""


def pairs_alone(message: str) -> str | None:
    """The first name in a line that holds only a loss and other named numbers, with or without a dict of more; None for
    any other line. Without a loss the numbers may be those of one answer."""
    if "loss" not in message.lower() or _NUMBERED.match(message) is not None:
        return None
    told = pair_cells(_WITHIN.sub("", message) if message[-1:] == "}" else message) or {}
    others = either("texts", "items", "places", "prose", "evaluation", "benchmarks") | _OTHERS
    if len(told) < 2 or not any(has_word(name, _LOSS) for name in told) or any(has_word(n, others) for n in told):
        return None
    return next(iter(told))


def alone(message: str) -> str | None:
    """The words that distinguish such lines: see `dict_alone` and `pairs_alone`."""
    named = dict_alone(message)
    return pairs_alone(message) if named is None else named


class CountedLines:
    """Counts the lines. A line worded differently from the first one belongs to the line of the same epoch. If the
    epoch falls, a later launch goes on after the earlier epochs."""

    def __init__(self) -> None:
        self._key = self._newest = ""  # wording of the first line, and of the newest
        self._epochs: list[float] = []
        self._title, self._blocks = "", 0  # the title of the first blocks, and how many of them came
        self._named: str | None = None  # the words before the first dicts
        self._dicts = 0  # how many of them came

    def copy(self) -> CountedLines:
        twin = copy.copy(self)
        twin._epochs = list(self._epochs)
        return twin

    def slots(self, key: str, slots: list[Slot]) -> list[Slot]:
        """The numbers of a line with this wording (`key`). If the line is counted, its count is put before them."""
        if not slots or last_word(slots[0].name) != "epoch" or is_whole(slots[0]) or not slots[0].value >= 0:
            return slots
        others = slots[1:]
        if any(is_whole(s) and (s.of is not None or may_count(s)) for s in others):
            return slots
        if not is_about(others, words().training):
            return slots
        self._key, now = self._key or key, slots[0].value
        if self._epochs and self._epochs[-1] > now:
            self._epochs = [epoch for epoch in self._epochs if epoch < now]
        again = bool(self._epochs) and self._epochs[-1] == now
        if not again or key == self._key == self._newest:
            self._epochs.append(now)
        self._newest = key
        count = len(self._epochs)
        return [Slot(COUNTED, str(count), count, end=slots[0].end), *slots]

    def block(self, title: str, slots: list[Slot]) -> list[Slot]:
        """The numbers of a block below this title. If the block has metrics and no count of its own, its number is put
        before them. A block below another title belongs to the block above."""
        if not title or any(is_whole(s) and (s.of is not None or may_count(s)) for s in slots):
            return slots
        if not self._title and not is_about(slots, words().training):
            return slots
        self._title = self._title or title
        self._blocks += title == self._title
        return [Slot(COUNTED, str(self._blocks), self._blocks), *slots]

    def dict(self, message: str, slots: list[Slot]) -> list[Slot]:
        """The numbers of a line. If it holds only a dict or named numbers, with metrics and no count of their own, its
        number is put before them. A dict after other words, or a line with another first name, belongs to the line
        above."""
        named = dict_alone(message)
        before = len(message.partition("{")[0])
        if named is None and not promising([slot for slot in slots if slot.end <= before]):
            named = pairs_alone(message)
        if named is None or self._epochs or any(is_whole(s) and (s.of is not None or may_count(s)) for s in slots):
            return slots
        if self._named is None and not is_about(slots, words().training):
            return slots
        self._named = named if self._named is None else self._named
        self._dicts += named == self._named
        return [Slot(COUNTED, str(self._dicts), self._dicts), *slots]
