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


def agreed() -> dict[tuple[str, str, str], list[tuple[list[Any], Any]]]:
    """(topic, kind, the rule or framework that it asks about) -> questions with their answers."""
    out: dict[tuple[str, str, str], list[tuple[list[Any], Any]]] = {}
    for path in sorted(ANSWERS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            kind, asked, answer = json.loads(line)
            out.setdefault((path.stem, kind, next(subject(asked), "")), []).append((asked, answer))
    return out


AGREED = agreed()


def test_every_kind_of_question_is_asked() -> None:
    assert {kind for _, kind, _ in AGREED} == set(KINDS)


@pytest.mark.parametrize(("topic", "kind", "of"), AGREED)
def test_answers(topic: str, kind: str, of: str) -> None:
    wrong = [
        (asked, found, answer)
        for asked, answer in AGREED[topic, kind, of]
        if (found := answered(kind, asked)) != answer
    ]
    assert wrong == []
