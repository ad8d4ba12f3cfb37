"""The program answers questions of the field as it was agreed (`behaviour`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rltui.frameworks.load import dialect_names
from rltui.rules.catalogue import rules
from tests.unit.knowledge.behaviour import ANSWERS, KINDS, answered

SUBJECTS = {*rules(), *dialect_names()}


def subject(asked: Any) -> Iterator[str]:
    """Rules and frameworks that a question names."""
    if isinstance(asked, list | dict):
        for part in asked:
            yield from subject(part)
    elif asked in SUBJECTS:
        yield asked


MOST = 40
"""Questions of one test: many short tests share the work better than a few long ones."""
Told = list[tuple[list[Any], Any]]


def agreed() -> dict[tuple[str, str, str, int], Told]:
    """(topic, kind, the rule or framework that it asks about, part) -> questions with their answers."""
    out: dict[tuple[str, str, str], Told] = {}
    for path in sorted(ANSWERS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            kind, asked, answer = json.loads(line)
            out.setdefault((path.stem, kind, next(subject(asked), "")), []).append((asked, answer))
    return {(*key, at // MOST): told[at : at + MOST] for key, told in out.items() for at in range(0, len(told), MOST)}


AGREED = agreed()


def test_every_kind_of_question_is_asked() -> None:
    assert {key[1] for key in AGREED} == set(KINDS)


@pytest.mark.parametrize(("topic", "kind", "of", "part"), AGREED)
def test_answers(topic: str, kind: str, of: str, part: int) -> None:
    wrong = [
        (asked, found, answer)
        for asked, answer in AGREED[topic, kind, of, part]
        if (found := answered(kind, asked)) != answer
    ]
    assert wrong == []
