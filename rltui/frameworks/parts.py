"""Parts of a reward: which of them measure the task itself, and which number counts if an evaluation logs parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from rltui.data_files import Record, kept, read
from rltui.frameworks.load import metrics
from rltui.frameworks.resolve import DETAIL, Meaning
from rltui.lazy_regex import lazy

SCORE = "val_score"
_PART = lazy(r"(?:^|/)rewards?(?:_[a-z]+)?/(?P<name>(?!(?:.*[/_])?(?:std|min|max|median)$).+?)(?:/mean)?$")
"""A part of the reward in the keys that an evaluation logs; not its spread, minimum or maximum."""
_SUM = lazy(r"(?:^|[/_])(?:mean_)?rewards?(?:[/_]mean)?$")


class TrueComponents(Record):
    """Words in names of reward parts that measure the task. `words`: found anywhere in a name. `whole`: only between
    separators. `effort`: between separators, in names of parts that charge for length or distance, which a policy that
    does well may pay. `why`: the reason for this choice."""

    why: str
    whole: tuple[str, ...]
    words: tuple[str, ...]
    effort: tuple[str, ...]


@kept
def _true_components() -> TrueComponents:
    return read(Path(__file__).with_name("true_components.json"), TrueComponents)


@cache
def _true_names() -> re.Pattern[str]:
    data = _true_components()
    inside = "|".join(re.escape(w) for w in data.words)
    whole = "|".join(re.escape(w) for w in data.whole)
    return re.compile(rf"{inside}|(?<![a-z0-9])(?:{whole})(?![a-z0-9])")


def is_task(member: str) -> bool:
    """Whether the name of a reward part means the task itself (accuracy, correctness), not format or shaping."""
    return _true_names().search(member.lower()) is not None


@cache
def _effort_names() -> re.Pattern[str]:
    effort = "|".join(re.escape(w) for w in _true_components().effort)
    return re.compile(rf"(?<![a-z0-9])(?:{effort})(?![a-z0-9])")


def is_effort(member: str) -> bool:
    """Whether the name of a reward part means a charge for effort: length, tokens or distance from the reference."""
    return _effort_names().search(member.lower()) is not None


def task_first(meanings: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """The meanings, changed if an evaluation logs the parts of its reward and some of them measure the task: these
    parts then are the validation scores, and the whole reward is only a detail."""
    parts = {
        key: match["name"]
        for key, meaning in meanings.items()
        if meaning.canonical == DETAIL and (match := _PART.search(meaning.member)) and is_task(match["name"])
    }
    if not parts:
        return dict(meanings)
    return {key: _score(meaning, parts[key]) if key in parts else _detail(meaning) for key, meaning in meanings.items()}


def _score(meaning: Meaning, name: str) -> Meaning:
    score = metrics()[SCORE]
    label = (score.member_label or "{}").replace("{}", name)
    told = replace(meaning, unit=score.unit, meaning=score.meaning, direction=score.direction)
    return replace(told, canonical=SCORE, label=label, member=name)


def _detail(meaning: Meaning) -> Meaning:
    if meaning.canonical != SCORE or not _SUM.search(meaning.key):
        return meaning
    return replace(meaning, canonical=DETAIL, label="validation reward", member=meaning.key)
