"""Cases of public threads and papers, as series built from the numbers that they give.

    python -m tests.unit.rules.test_cases      hit rates, and every miss

Rules that have no detector yet do not count. A built series keeps the levels, the courses and the row count of its
source, not its noise; so the rates say whether the thresholds fit what people met, not how fast a fault is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.look import Look
from rltui.evidence.model import Diagnosis
from rltui.rules.registry import ids
from tests.conftest import REPO
from tests.unit.diagnosis.fake_run import FakeRun

CASES: list[dict[str, Any]] = orjson.loads((REPO / "tests/fixtures/diagnosis/cases.json").read_bytes())["cases"]
LEAST_HITS = 0.92
LEAST_VERDICTS = 0.92


@dataclass(frozen=True)
class Outcome:
    """What a case asked for and did not get."""

    id: str
    asked: int
    missed: tuple[str, ...]
    false: tuple[str, ...]
    wrong_verdict: str


def column(spec: Mapping[str, Any], n: int, rng: np.random.Generator) -> list[float | None]:
    """The values of one metric. `noise` is relative to the value."""
    at, value = zip(*spec["knots"], strict=True)
    x = np.interp(np.linspace(0, 1, n), at, value)
    x = x * (1 + spec.get("noise", 0.0) * rng.standard_normal(n))
    if (x[0] >= 0) and min(value) >= 0:
        x = np.maximum(x, 0.0)
    for row, single in spec.get("points", {}).items():
        x[int(row)] = single
    x[spec.get("nan_from", n) :] = np.nan
    every = spec.get("every", 1)
    return [float(v) if i % every == 0 else None for i, v in enumerate(x)]


def diagnose(case: Mapping[str, Any]) -> Diagnosis:
    n = case["rows"]
    rng = np.random.default_rng(7)
    columns = {name: column(spec, n, rng) for name, spec in case["columns"].items()}
    run = FakeRun(
        columns,
        config=case.get("config"),
        framework=case["framework"],
        algorithm=case["algorithm"],
        planned=case.get("planned"),
    ).grow()
    if "restart_at" in case:
        run.history.table.restarts.append(case["restart_at"])
    return Engine().advance(run)


def judge(case: Mapping[str, Any]) -> tuple[Outcome, Diagnosis]:
    d = diagnose(case)
    spoke = {f.id for f in d.findings if f.peak_severity != "info" or f.status == "active"}
    loud = {f.id for f in d.findings if f.peak_severity != "info"}
    asked = [i for i in case["expect"] if i in ids(Look)]
    fits = not case["verdict"] or d.verdict.decision in case["verdict"]
    missed = tuple(i for i in asked if i not in spoke)
    false = tuple(i for i in case["never"] if i in loud)
    return Outcome(case["id"], len(asked), missed, false, "" if fits else d.verdict.decision), d


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [judge(case)[0] for case in CASES]


@pytest.mark.long
def test_rules_speak_where_people_met_the_fault(outcomes: list[Outcome]) -> None:
    asked, missed = sum(o.asked for o in outcomes), [(o.id, m) for o in outcomes for m in o.missed]
    assert asked >= 45
    assert 1 - len(missed) / asked >= LEAST_HITS, missed


@pytest.mark.whole
def test_no_rule_warns_where_maintainers_said_that_all_is_well(outcomes: list[Outcome]) -> None:
    assert not [(o.id, o.false) for o in outcomes if o.false]


@pytest.mark.whole
def test_verdicts_fit_what_was_done(outcomes: list[Outcome]) -> None:
    wrong = [(o.id, o.wrong_verdict) for o in outcomes if o.wrong_verdict]
    assert 1 - len(wrong) / len(outcomes) >= LEAST_VERDICTS, wrong


@pytest.mark.parametrize("case", [c for c in CASES if "best_after" in c], ids=lambda c: c["id"])
def test_the_best_checkpoint_is_by_reward_not_by_loss(case: dict[str, Any]) -> None:
    best = diagnose(case).verdict.best_checkpoint
    assert best is not None
    assert best.step >= case["best_after"]


def main() -> None:
    done = [(case, *judge(case)) for case in CASES]
    asked, missed = sum(o.asked for _, o, _ in done), sum(len(o.missed) for _, o, _ in done)
    wrong = sum(bool(o.wrong_verdict) for _, o, _ in done)
    print(f"{len(done)} cases: rules {asked - missed}/{asked}, verdicts {len(done) - wrong}/{len(done)}")
    for case, outcome, d in done:
        if outcome.missed or outcome.false or outcome.wrong_verdict:
            print(
                f"{outcome.id}: missed {outcome.missed} false {outcome.false} verdict {d.verdict.decision}, "
                f"wanted {case['verdict']}; spoke {[(f.id, f.severity) for f in d.findings]}"
            )


if __name__ == "__main__":
    main()
