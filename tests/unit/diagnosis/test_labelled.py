"""A few real small trainings of known health, read from their own files (skipped where there are none)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.evidence.model import Diagnosis
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.moments import A_DAY_S, judged_after

LOUD = ("warning", "critical")


def diagnose(path: Path) -> Diagnosis:
    opened = RunReader(locate([str(path)])[0])
    opened.load()
    try:
        with judged_after(path, A_DAY_S):
            return opened.diagnosis()
    finally:
        opened.close()


@pytest.mark.parametrize("name", ["zoo/g01-add-s0", "zoo/g05-mix-s4", "zoo/v01-add-s0"])
def test_healthy(name: str, labelled_run: Callable[[str], Path]) -> None:
    d = diagnose(labelled_run(name))
    assert not [f.id for f in d.findings if f.severity == "critical"]
    assert len([f.id for f in d.findings if f.severity == "warning" and f.root is None]) <= 1
    assert d.verdict.decision in ("continue", "continue-watch")


@pytest.mark.parametrize(
    ("name", "rules", "onset", "tolerance"),
    [
        ("zoo/g31-add-s0", {"reward-peak-decline", "reward-collapse"}, 200, 40),
        ("zoo/g35-sort-s1", {"nonfinite-values"}, 150, 22),
        ("zoo/v13-add-s0", {"kl-up-reward-flat", "kl-runaway"}, None, None),
        ("zoo/g26-add-s0", {"length-collapse"}, None, None),
    ],
)
def test_sick(
    name: str, rules: set[str], onset: int | None, tolerance: int | None, labelled_run: Callable[[str], Path]
) -> None:
    d = diagnose(labelled_run(name))
    seen = [f for f in d.findings if f.id in rules and f.peak_severity in LOUD]
    assert seen
    if onset is not None and tolerance is not None:
        assert abs(min(f.onset_step or 0 for f in seen) - onset) <= tolerance
    assert d.verdict.decision in ("stop-use-best", "pause-and-fix", "abort-now")
