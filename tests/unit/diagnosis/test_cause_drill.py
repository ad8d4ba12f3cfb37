"""Forty faults of known cause, each in a run of another kind: the report leads with the true one, and shows none that
the run contradicts. `python -m tests.evaluation causes` asks it of many runs each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.causes.case import PLANTS, drawn, write
from tests.evaluation.causes.measure import ask
from tests.unit.reported import told

FIRST = 53000
ELSEWHERE = frozenset({"prompts are too easy"})
"""Plants whose cause does not head the report of this run. A task that is solved is no fault: notes tell of it."""


@pytest.mark.parametrize("name", PLANTS)
def test_the_true_cause_leads(name: str) -> None:
    said = ask(name, FIRST + list(PLANTS).index(name))
    assert not said.refuted, said
    assert (said.result in ("leads", "perhaps")) == (name not in ELSEWHERE), said


def test_there_are_enough_of_them() -> None:
    assert len(PLANTS) >= 25
    assert len(ELSEWHERE) <= 0.1 * len(PLANTS)


@pytest.mark.parametrize("seed", range(53100, 53112))
def test_where_nothing_is_planted_nothing_is_explained(seed: int, tmp_path: Path) -> None:
    _, _, report = told(write(drawn(seed), tmp_path / "run"))
    assert [f["id"] for f in report["findings"] if f["severity"] != "info"] == []
