"""Parts of a reward: which of them are the task itself, and what an evaluation that logs parts is judged by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from rltui.data_files import Record, kept, read
from rltui.frameworks.load import metrics
from rltui.frameworks.resolve import DETAIL, Meaning

SCORE = "val_score"
_PART = re.compile(r"(?:^|/)rewards?(?:_[a-z]+)?/(?P<name>(?!(?:.*[/_])?(?:std|min|max|median)$).+?)(?:/mean)?$")
"""A part of the reward among what an evaluation logs, and no spread or end of one."""
_SUM = re.compile(r"(?:^|[/_])(?:mean_)?rewards?(?:[/_]mean)?$")


class TrueComponents(Record):
    """Parts of names under which the reward's part that is the task is logged; `whole`: words that are all of a name
    between its separators; `why` these."""

    why: str
    whole: tuple[str, ...]
    words: tuple[str, ...]


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
    """Whether a reward part is named as the task itself (accuracy, correctness), not as format or shaping."""
    return _true_names().search(member.lower()) is not None


def task_first(meanings: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """Where an evaluation logs the parts of its reward, and some are the task: they are the validation scores, and
    their sum with whatever else the reward pays is a detail."""
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
