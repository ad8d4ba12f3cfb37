"""The program answers questions of the field as it was agreed (`behaviour`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.knowledge.behaviour import ANSWERS, KINDS, answered


def agreed() -> dict[tuple[str, str], list[tuple[list[Any], Any]]]:
    """(topic, kind) -> questions with their answers."""
    out: dict[tuple[str, str], list[tuple[list[Any], Any]]] = {}
    for path in sorted(ANSWERS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            kind, asked, answer = json.loads(line)
            out.setdefault((path.stem, kind), []).append((asked, answer))
    return out


AGREED = agreed()


def test_every_kind_of_question_is_asked() -> None:
    assert {kind for _, kind in AGREED} == set(KINDS)


@pytest.mark.parametrize(("topic", "kind"), AGREED)
def test_answers(topic: str, kind: str) -> None:
    wrong = [
        (asked, found, answer) for asked, answer in AGREED[topic, kind] if (found := answered(kind, asked)) != answer
    ]
    assert wrong == []
