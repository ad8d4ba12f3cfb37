"""Which of several trainings in one log a step line is of, as its words say: `[RM] step 3`, `sft step 3`, `GRPO | step
3`. A script may train a reward model before its policy, or SFT before RL, each with steps of its own."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import Lead
from rltui.readers.name_words import words

_BEGIN = lazy(r"[^\d]{0,200}")
_WORD = lazy(r"[a-z]+")


def training_of(lead: Lead) -> str:
    """The word for a training in the lead of a line or before its first number, in lower case; "" for none."""
    begin = _BEGIN.match(lead.message)
    return _named(f"{lead.source} {begin[0] if begin is not None else ''}")


@lru_cache(maxsize=256)
def _named(text: str) -> str:
    known = words().trainings | words().preparations
    said = _WORD.findall(re.sub(r"[-_]", " ", text.lower()))
    pairs = [" ".join(two) for two in pairwise(said)]
    return next((word for word in [*pairs, *said] if word in known), "")


class Trainings:
    """The newest step of each training that the lines of a log name."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}
        self._now = ""

    def copy(self) -> Trainings:
        twin = Trainings()
        twin._newest, twin._now = dict(self._newest), self._now
        return twin

    def begins(self, training: str, step: int) -> bool:
        """Takes a row of a training. True if this one begins where another ended. A preparation does not follow what it
        prepares, as a reward model that is refreshed during PPO, nor does one begin that goes on where it was."""
        if not training:
            return False
        before, own = self._newest.get(self._now, step), self._newest.get(training)
        prepares = training in words().preparations and self._now not in words().preparations
        begins = is_another(self._now, training) and step < before and not prepares and (own is None or step <= own)
        self._newest[training], self._now = step, training
        return begins


def is_another(one: str, other: str) -> bool:
    """Whether two such words name different trainings."""
    return "" not in (one, other) and one != other
