"""The fold: rows one by one or at once, looks at the past, revisions; and input of any kind."""

from __future__ import annotations

import gc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rltui.diagnosis.engine import Engine
from rltui.evidence.look import Look, look_rows
from rltui.evidence.model import Diagnosis, unread
from rltui.run.run import Run, RunState, StallCard
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, still_run

ROWS = 120


def sick(seed: int, n: int = ROWS) -> dict[str, object]:
    """Something of everything: NaN, a collapse, spikes, missing cells."""
    rng = np.random.default_rng(seed)
    columns = dict(learning_run(seed, n))
    fall = int(rng.integers(40, n - 20))
    score = np.array(columns["score_mean"])
    score[fall:] *= rng.choice([0.0, 0.5, 1.0])
    columns["score_mean"] = score
    entropy: list[float | None] = list(columns["entropy"])  # type: ignore[call-overload]
    for i in rng.integers(0, n, 4).tolist():
        entropy[i] = float("nan") if rng.random() < 0.5 else None
    columns["entropy"] = entropy
    gradient = np.array(columns["grad_norm"])
    gradient[rng.integers(20, n, 3)] *= 50
    columns["grad_norm"] = gradient
    columns["kl_ref"] = np.array(columns["kl_ref"]) * np.exp(np.linspace(0, rng.choice([0, 4]), n))
    return columns


def test_look_rows_are_every_row_then_every_percent_then_rarer() -> None:
    rows = [n for n, _ in zip(look_rows(), range(700), strict=False)]
    assert rows[:200] == list(range(1, 201))
    assert all(b - a == max(1, a // (100 if a < 1_000 else 50 if a < 10_000 else 25)) for a, b in pairwise(rows))
    assert rows[-1] > 10_000
    assert next(iter(look_rows(rows[300]))) == rows[301]


@pytest.mark.long
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10_000), st.lists(st.integers(1, ROWS), max_size=6))
def test_rows_in_any_portions_give_the_same_diagnosis(seed: int, cuts: list[int]) -> None:
    columns = sick(seed)
    run, engine = FakeRun(columns), Engine()
    for cut in sorted({*cuts, ROWS}):
        live = engine.advance(run.grow(cut))
    assert live == Engine().advance(FakeRun(columns).grow())


@pytest.mark.long
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10_000), st.lists(st.integers(200, 430), min_size=2, max_size=4))
def test_rows_between_the_full_per_cents_too(seed: int, cuts: list[int]) -> None:
    columns = sick(seed, 430)
    run, engine = FakeRun(columns), Engine()
    for cut in sorted({*cuts}):
        live = engine.advance(run.grow(cut))
    assert live == Engine().advance(FakeRun(columns).grow(max(cuts)))
    assert engine.at(run, min(cuts)).findings == Engine().advance(FakeRun(columns).grow(min(cuts))).findings


@pytest.mark.long
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, ROWS))
def test_no_look_ahead(seed: int, rows: int) -> None:
    columns = sick(seed)
    engine, whole = Engine(), FakeRun(columns).grow()
    engine.advance(whole)
    then = engine.at(whole, rows)
    fresh = Engine().advance(FakeRun(columns).grow(rows))
    assert then.findings == fresh.findings
    assert then.verdict == fresh.verdict


@pytest.mark.long
def test_no_look_ahead_in_a_long_run() -> None:
    columns = still_run(3, 1000, 0.5)
    columns["score_mean"] = np.where(np.arange(1000) > 600, 0.05, columns["score_mean"])  # type: ignore[arg-type]
    engine, run = Engine(), FakeRun(columns).grow()
    engine.advance(run)
    for rows in (605, 807):
        assert engine.at(run, rows).findings == Engine().advance(FakeRun(columns).grow(rows)).findings


def test_a_late_revision_recomputes_from_its_row() -> None:
    columns = learning_run(1, 300)
    run, engine = FakeRun(columns).grow(), Engine()
    assert not any(f.id == "nonfinite-values" for f in engine.advance(run).findings)
    run.part.table.put(250, float("nan"), {"pg_loss": float("nan")})
    revised = engine.advance(run)
    assert any(f.id == "nonfinite-values" and f.onset_step == 250 for f in revised.findings)
    columns["pg_loss"] = np.where(np.arange(300) == 249, np.nan, columns["pg_loss"])  # type: ignore[arg-type]
    assert revised.findings == Engine().advance(FakeRun(columns).grow()).findings


def test_a_restart_that_is_told_late_is_known_from_its_row() -> None:
    """That rows went back to step 1 shows only in what comes after them: by then, later rows were judged."""
    run, engine = FakeRun(sick(0)), Engine()
    engine.advance(run.grow(80))
    engine.advance(run.grow(ROWS))
    for row, value in ((18, float("nan")), (43, 0.0), (118, float("nan")), (0, 60.0)):
        run.part.table.put(row + 1, float("nan"), {"score_mean": value})
    engine.advance(run)
    run.part.table.put(77, float("nan"), {"score_mean": float("nan")})
    assert run.part.table.restarts[-1] == 1
    assert engine.advance(run) == Engine().advance(run)


@pytest.mark.long
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10_000), st.data())
def test_late_revisions_are_judged_like_rows_read_once(seed: int, data: st.DataObject) -> None:
    """Earlier rows change between portions of any size: what is told is what a new engine tells of the final rows."""
    run, engine, taken = FakeRun(sick(seed)), Engine(), 0
    for size in data.draw(st.lists(st.integers(1, 90), min_size=2, max_size=4), label="portions"):
        taken = min(ROWS, taken + size)
        engine.advance(run.grow(taken))
        for row in data.draw(st.lists(st.integers(0, taken - 1), max_size=4), label="revised rows"):
            name = data.draw(st.sampled_from(("score_mean", "kl_ref", "grad_norm", "pg_loss")), label="metric")
            value = data.draw(st.sampled_from((float("nan"), 0.0, 0.4, 60.0)), label="value")
            run.part.table.put(row + 1, float("nan"), {name: value})
        told = engine.advance(run)
        assert told == Engine().advance(run)


@pytest.mark.long
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10_000), st.lists(st.integers(1, 60), min_size=2, max_size=5))
def test_no_look_ahead_between_portions(seed: int, sizes: list[int]) -> None:
    """At the end of every portion: told live, told of the whole run as it stood then, and told of a run cut there."""
    columns, ends = sick(seed), sorted({min(ROWS, sum(sizes[: i + 1])) for i in range(len(sizes))})
    run, engine = FakeRun(columns), Engine()
    live = {end: engine.advance(run.grow(end)) for end in ends}
    engine.advance(run.grow())
    for end in ends:
        cut = Engine().advance(FakeRun({k: v[:end] for k, v in columns.items()}).grow())  # type: ignore[index]
        then = engine.at(run, end)
        assert live[end] == cut
        assert (then.findings, then.verdict, then.pipeline, then.coverage) == (
            cut.findings,
            cut.verdict,
            cut.pipeline,
            cut.coverage,
        )


@pytest.mark.long
def test_the_newest_row_counts_between_looks() -> None:
    columns = still_run(5, 1003, 0.0)
    columns["pg_loss"] = np.where(np.arange(1003) >= 1001, np.nan, columns["pg_loss"])  # type: ignore[arg-type]
    assert not {1002, 1003} & {n for n, _ in zip(look_rows(990), range(5), strict=False)}
    one_row_less = {name: values[:1002] for name, values in columns.items()}
    assert Engine().advance(FakeRun(one_row_less).grow()).verdict.decision != "abort-now"
    assert Engine().advance(FakeRun(columns).grow()).verdict.decision == "abort-now"


def strictly_finite(d: Diagnosis) -> bool:
    numbers = [v for f in d.findings for e in f.evidence for v in (e.first, e.mid, e.last, e.slope_per_100_steps)]
    best = d.verdict.best_checkpoint
    numbers += [best.value, best.se] if best is not None else []
    return all(v is None or np.isfinite(v) for v in numbers)


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"score_mean": [0.5]},
        {"score_mean": [float("nan")] * 30},
        {"score_mean": [float("inf")] * 30, "grad_norm": [float("nan")] * 30},
        {"anything": [1.0] * 50},
        {"score_mean": [1e300, -1e300] * 40, "kl_ref": [0.0] * 80, "grad_norm": [0.0] * 80, "entropy": [-1.0] * 80},
        {"score_mean": [None] * 20 + [0.3] * 20, "val_score": [None] * 39 + [0.4], "response_length_mean": [0.0] * 40},
        {"time_per_step_s": [0.0] * 60, "response_length_mean": [5.0] * 60, "response_clip_ratio": [1.0] * 60},
    ],
)
def test_any_input_gives_a_whole_diagnosis(columns: dict[str, list[float | None]]) -> None:
    d = Engine().advance(FakeRun(columns).grow())
    assert [s.stage for s in d.pipeline] == ["reward", "advantages", "log-probs", "loss", "generation"]
    assert d.verdict.text
    assert d.verdict.would_change
    assert strictly_finite(d)


def test_nothing_read_and_nothing_logged() -> None:
    assert unread().verdict.decision == "not-enough-evidence"
    empty = Engine().advance(FakeRun({}))
    assert empty.at_step is None
    assert empty.verdict.decision == "not-enough-evidence"
    assert [f.id for f in empty.findings] == ["logging-coverage-gap"]


@pytest.mark.parametrize(("loggers", "says"), [(["wandb"], "sends them to wandb only"), (["console"], "only text")])
def test_a_log_without_metrics_says_where_they_went(loggers: list[str], says: str) -> None:
    run = Run("r", "r")
    run.add_config({"trainer.logger": loggers, "actor_rollout_ref.rollout.n": 8}, "printed")
    run.identify()
    (gap,) = Engine().advance(run).findings
    assert says in gap.summary


def test_other_config_starts_over() -> None:
    columns = learning_run(2, 120)
    engine, run = Engine(), FakeRun(columns, config={"group_size": 8}).grow()
    assert not any(f.id == "cfg-group-size-degenerate" for f in engine.advance(run).findings)
    run.config["group_size"] = type(run.config["group_size"])(2, "num_generations", "test")
    assert any(f.id == "cfg-group-size-degenerate" for f in engine.advance(run).findings)


@pytest.mark.parametrize(
    ("state", "quote", "sure", "finding", "severity", "decision"),
    [
        ("crashed", "CUDA out of memory", False, "run-crashed", "critical", "pause-and-fix"),
        ("crashed", "", False, "run-crashed", "warning", "continue-watch"),
        ("stalled", "", True, "run-stalled", "critical", "pause-and-fix"),
        ("stalled", "", False, "run-stalled", "warning", "continue-watch"),
    ],
)
def test_runs_that_ended(state, quote, sure, finding, severity, decision) -> None:  # type: ignore[no-untyped-def]
    card = StallCard("hung", sure=True) if sure else None
    run = FakeRun(learning_run(4, 120), state=RunState(state, "no row since", quote, card, followed=True)).grow()
    d = Engine().advance(run)
    assert [(f.id, f.severity) for f in d.findings if f.severity != "info"] == [(finding, severity)]
    assert d.verdict.decision == decision
    assert "stopped" in d.verdict.kinds


def test_what_a_look_saw_is_freed_with_it() -> None:
    """A collection that comes late, or never to what is frozen, would keep the columns as they were at each look."""
    run, engine = FakeRun(sick(3)).grow(), Engine()
    gc.collect()
    gc.disable()
    try:
        before = {id(one) for one in gc.get_objects() if isinstance(one, Look)}
        engine.advance(run)
        engine.at(run, 100)
        left = [one for one in gc.get_objects() if isinstance(one, Look) and id(one) not in before]
    finally:
        gc.enable()
    assert not left
