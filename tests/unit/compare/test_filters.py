"""Filters: each alone, together, and those that cannot be read."""

from __future__ import annotations

import pytest

from rltui.compare.filters import BadFilter, Filters, chosen
from tests.unit.compare.made import made

RUNS = [
    made("a1", settings={"lr": 1e-6, "model": "Qwen-7B"}, updated="2026-11-01", words=("sweep-1",)),
    made("a2", settings={"lr": 3e-6, "model": "Qwen-0.5B"}, updated="2026-11-03", state="crashed"),
    made("b1", settings={"lr": 1e-5, "flag": True}, updated="2026-11-02", words=("sweep-2",)),
]


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (Filters(), ["a1", "a2", "b1"]),
        (Filters(latest=2), ["a2", "b1"]),
        (Filters(state="crashed"), ["a2"]),
        (Filters(state="any"), ["a1", "a2", "b1"]),
        (Filters(ids=("a*",)), ["a1", "a2"]),
        (Filters(ids=("runs/b?",)), ["b1"]),
        (Filters(tags=("sweep-*",)), ["a1", "b1"]),
        (Filters(where=("lr>=3e-6",)), ["a2", "b1"]),
        (Filters(where=("lr < 3e-06",)), ["a1"]),
        (Filters(where=("lr=0.000001",)), ["a1"]),
        (Filters(where=("lr!=1e-6",)), ["a2", "b1"]),
        (Filters(where=("model~*7b*",)), ["a1"]),
        (Filters(where=("flag=true",)), ["b1"]),
        (Filters(where=("actor.lr<=1e-6",)), ["a1"]),
        (Filters(latest=1, where=("lr<1e-5",)), ["a2"]),
        (Filters(where=("absent=1",)), []),
    ],
)
def test_filters(filters: Filters, ids: list[str]) -> None:
    assert [run.id for run in chosen(RUNS, filters)] == ids


@pytest.mark.parametrize("text", ["lr", "lr>fast", "=3", ""])
def test_what_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(BadFilter, match=r"use KEY|needs a number"):
        chosen(RUNS, Filters(where=(text,)))
