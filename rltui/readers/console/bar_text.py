"""What the text of a progress bar shows: what its name counts, and the numbers in its name and after its pace:
`[00:10<01:30, 1.0it/s, loss=0.3]`."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import NUMBER, slots_of
from rltui.readers.console.progress_bar import TRAINING
from rltui.readers.console.units import with_units
from rltui.readers.name_words import either, has_word, shown, words
from rltui.readers.number_text import value

_POSTFIX = lazy(rf"[,\[]\s*([^\W\d][\w/.@\- ]*)=({NUMBER.pattern})")
_PACE = lazy(r"[,\[<]\s*(\d+(?:\.\d+)?)\s*(it/s|s/it)\b")
_BEHIND_PACE = lazy(r"[,<]\s*(?:\d+(?:\.\d+)?|\?)\s?(?:[^\W\d]{1,12}/s|s/[^\W\d]{1,12}),\s*(?P<told>[^\]]{3,2000})\]")
"""What a loop shows after the pace."""
SECONDS = "s/it"
_ALGORITHM = lazy(r"(?<![A-Z])(?!LLM|GPU|CPU)[A-Z]{2}[A-Z+]{1,4}$")
"""A bar that is named after an algorithm: GRPO, RLOO, DPO."""
_OF_TRAINING = lazy(r"(?i)(?:^train|(?:^|[\s_\-])training)$")
"""Name of a bar that only counts training: its numbers are from training, whatever their names are."""
_EPOCH = lazy(r"(?i)^[^\d]*\bepoch[\s:#=\[(]*(\d{1,6})(?:\s*(?:/|of)\s*(\d{1,6}))?[\])]*(?:[\s\[(]*train\w*[\])]*)?$")
"""Name of a bar that counts the batches of one epoch."""
_EPISODE = lazy(r"(?i)^[^\d]*\bepisode[\s:#=\[(]*(\d{1,6})\s*(?:/|of)\s*(\d{1,6})[\])]*$")
"""Name of a bar that counts the batches of one round through the prompts, which OpenRLHF calls an episode. Without the
number of episodes it may be an episode of a game."""


class Round(NamedTuple):
    """The epoch or episode of a bar, and how many are planned."""

    kind: str
    number: int
    planned: int | None


@lru_cache(maxsize=64)
def round_counted(name: str) -> Round | None:
    """The round through the data that a bar of this name counts; None if it counts no round."""
    for kind, pattern in (("epoch", _EPOCH), ("episode", _EPISODE)):
        found = pattern.match(name)
        if found is not None and not has_word(name, words().evaluation):
            return Round(kind, int(found[1]), int(found[2]) if found[2] else None)
    return None


def pace(text: str) -> dict[str, float]:
    """Seconds per step, smoothed, as the bar shows them: `0.89it/s`, `1.12s/it`. Empty for a bar that shows none."""
    found = _PACE.search(text)
    if found is None:
        return {}
    shown = float(found[1])
    return {} if shown <= 0.0 else {SECONDS: shown if found[2] == "s/it" else 1.0 / shown}


@lru_cache(maxsize=64)
def described(name: str) -> dict[str, float]:
    """The numbers in the name of a bar: `step 5 loss 0.31 reward 0.5`."""
    if sum(map(str.isdecimal, name)) < 2 or has_word(name, words().evaluation):
        return {}
    slots = [slot for slot in slots_of(with_units(name)) if slot.name]
    about = any(has_word(slot.name, words().training) for slot in slots)
    cells = {shown(slot.name): slot.value for slot in slots} if about else {}
    return {name: x for name, x in cells.items() if name.lower() not in words().bookkeeping}


def postfix(text: str, bar: str = "") -> dict[str, float]:
    """Name -> number after a progress bar, if one of the names or the name of the bar shows that it is training."""
    told = _BEHIND_PACE.search(text)
    if told is None and "=" not in text:
        return {}
    cells = {shown(name.strip()): value(number) for name, number in _POSTFIX.findall(with_units(text))}
    if text.count("=") != len(cells) or not cells:  # not written as `loss=0.3, reward=0.5`
        slots = slots_of(with_units(told["told"])) if told is not None else []
        if len(slots) > len(cells) and all(slot.name for slot in slots):
            cells = {shown(slot.name): slot.value for slot in slots}
    cells = {name: x for name, x in cells.items() if name.lower() not in words().bookkeeping}
    training = _OF_TRAINING.search(bar) or _ALGORITHM.search(bar)
    return cells if training or any(has_word(name, words().training) for name in cells) else {}


_NO_COUNT = lazy(r"\([^()]*\)|\[[^\[\]]*\]|\b[^\W\d][\w\-]*\d[\w.\-]*")
"""Digits in brackets, or in the name of a model or of data, count nothing."""


@lru_cache(maxsize=64)
def may_train(name: str) -> bool:
    """Whether a bar of this name counts training steps if it shows training numbers: `main`, `RL (seed 1)`."""
    if any(c.isdigit() for c in _NO_COUNT.sub("", name)):
        return False
    if has_word(name, words().counters) or "train" in name.lower():
        return not has_word(name, either("evaluation", "inner"))
    return bool(name) and not has_word(name, either("evaluation", "items", "inner", "gathering"))


def may_show(name: str) -> bool:
    """Whether a bar of this name may show numbers of training steps."""
    return name in TRAINING or may_train(name) or round_counted(name) is not None


@lru_cache(maxsize=64)
def trains(name: str) -> bool:
    """Whether a progress bar of this name counts training steps."""
    if any(c.isdigit() for c in name) or has_word(name, words().evaluation):
        return False  # a bar inside one of many rounds
    return has_word(name, words().counters) or "train" in name.lower() or _ALGORITHM.search(name) is not None
