"""The six tests in their order, the checkpoint to keep, the five stages."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.run.run import Checkpoint, RunState
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.diagnosis.test_best import ASKED
from tests.unit.rules.asked import only

N = 400


def test_too_few_rows_are_never_healthy() -> None:
    verdict = Engine().advance(FakeRun(learning_run(0, 8)).grow()).verdict
    assert verdict.decision == "not-enough-evidence"
    assert "healthy" not in verdict.kinds


def test_without_reward_and_validation_nobody_can_tell() -> None:
    columns = {"grad_norm": np.ones(100), "entropy": np.full(100, 0.5)}
    assert Engine().advance(FakeRun(columns).grow()).verdict.decision == "not-enough-evidence"


def test_nan_beats_everything() -> None:
    columns = dict(learning_run(0, N)) | {"score_mean": np.zeros(N), "pg_loss": [0.1] * 200 + [float("nan")] * 200}
    verdict = Engine().advance(FakeRun(columns).grow()).verdict
    assert verdict.decision == "abort-now"
    assert verdict.because[0] == "nonfinite-values"


def test_a_solved_task_is_a_stop_not_a_fault() -> None:
    solved = np.clip(np.arange(N) / 100, 0.2, 1.0)
    columns = dict(learning_run(0, N)) | {
        "score_mean": solved,
        "frac_reward_zero_std": np.where(solved >= 1, 1.0, 0.2),
        "grad_norm": np.where(solved >= 1, 0.0, 0.5),
        "val_score": [None] * N,
    }
    d = Engine().advance(FakeRun(columns).grow())
    assert d.verdict.decision == "stop-use-best"
    assert next(f for f in d.findings if f.id == "no-learning-signal").root == "reward-saturated"


def test_rising_validation_overrules_a_falling_train_reward() -> None:
    rng = np.random.default_rng(1)
    up = np.minimum(1, np.arange(N) / 200)
    columns = dict(learning_run(0, N)) | {
        "score_mean": 0.5 + 0.2 * up - 0.25 * np.clip((np.arange(N) - 220) / 150, 0, 1) + 0.02 * noise(rng, N),
        "val_score": [0.2 + 0.4 * i / N if i % 10 == 0 else None for i in range(N)],
    }
    assert Engine().advance(FakeRun(columns).grow()).verdict.decision == "continue-watch"


def peaked(n: int = N) -> dict[str, object]:
    columns = dict(learning_run(0, n))
    t = np.arange(n)
    curve = 0.3 + 0.3 * np.minimum(1, t / 200) - 0.25 * np.clip((t - 220) / 100, 0, 1)
    rng = np.random.default_rng(2)
    columns["val_score"] = [float(curve[i] + 0.005 * rng.standard_normal()) if i % 10 == 0 else None for i in range(n)]
    return columns


def test_the_best_checkpoint_is_the_saved_one_at_the_peak() -> None:
    run = FakeRun(peaked()).grow()
    run.checkpoints = [Checkpoint(s, f"checkpoint-{s}", True) for s in (100, 200, 300, 400)]
    best = only(ASKED).advance(run).verdict.best_checkpoint
    assert best is not None
    assert (best.step, best.on_disk, best.metric) == (200, True, "val_score")
    assert best.se is not None
    assert 0.001 < best.se < 0.02


def test_an_incomplete_checkpoint_is_not_kept() -> None:
    run = FakeRun(peaked()).grow()
    run.checkpoints = [Checkpoint(100, "a", True), Checkpoint(200, "b", False)]
    best = only(ASKED).advance(run).verdict.best_checkpoint
    assert best is not None
    assert best.step == 100


def test_without_checkpoints_in_sight_nobody_can_tell_whether_it_is_on_disk() -> None:
    best = only(ASKED).advance(FakeRun(peaked()).grow()).verdict.best_checkpoint
    assert best is not None
    assert best.on_disk is None
    assert best.path is None
    assert 180 <= best.step <= 235


def test_nothing_after_the_break_is_kept() -> None:
    columns = dict(learning_run(0, N))
    columns["pg_loss"] = np.where(np.arange(N) >= 250, np.nan, 0.1)
    run = FakeRun(columns).grow()
    run.checkpoints = [Checkpoint(s, str(s), None) for s in (100, 200, 300)]
    best = only(ASKED).advance(run).verdict.best_checkpoint
    assert best is not None
    assert (best.step, best.on_disk) == (200, None)


def test_stages_fail_where_the_fault_is_and_spoil_what_follows() -> None:
    columns = dict(learning_run(0, N)) | {"score_mean": np.zeros(N)}
    stages = {s.stage: s for s in Engine().advance(FakeRun(columns).grow()).pipeline}
    assert stages["reward"].status == "fail"
    assert stages["generation"].status == "pass"
    assert "provisional" in stages["generation"].because


def test_a_stage_that_nothing_logs_is_unknown() -> None:
    columns = {k: v for k, v in learning_run(0, N).items() if k in ("score_mean", "grad_norm")}
    stages = {s.stage: s.status for s in Engine().advance(FakeRun(columns).grow()).pipeline}
    assert stages["log-probs"] == "unknown"
    assert stages["generation"] == "unknown"
    assert stages["reward"] == "pass"


def test_two_independent_warnings_raise_the_level_and_two_of_one_rule_do_not() -> None:
    """Two dead reward parts are one thing to look at; a dead part and invalid tool calls are two."""
    parts = {f"reward_component_mean:{name}": np.zeros(N) for name in ("strict", "soft")}
    score = np.asarray(learning_run(0, N)["score_mean"])
    columns = dict(learning_run(0, N)) | parts | {"reward_component_mean:accuracy": score, "val_score": [None] * N}
    d = Engine().advance(FakeRun(columns).grow())
    loud = [f for f in d.findings if f.severity == "warning"]
    assert [f.id for f in loud] == ["reward-component-dead"] * 2
    assert d.verdict.decision == "continue-watch"
    stuck = {"score_mean": 0.5 + 0.02 * noise(np.random.default_rng(1), N), "tool_failure_rate": np.full(N, 0.4)}
    d = Engine().advance(FakeRun(columns | stuck).grow())
    assert {f.id for f in d.findings if f.severity in ("warning", "critical")} >= {
        "reward-component-dead",
        "tool-call-invalid",
    }
    assert d.verdict.decision == "stop-use-best"


def test_where_only_validation_speaks_for_going_on_its_end_would_stop_the_run() -> None:
    rng = np.random.default_rng(1)
    up = np.minimum(1, np.arange(N) / 200)
    columns = dict(learning_run(0, N)) | {
        "score_mean": 0.5 + 0.2 * up - 0.25 * np.clip((np.arange(N) - 220) / 150, 0, 1) + 0.02 * noise(rng, N),
        "val_score": [0.2 + 0.4 * i / N if i % 10 == 0 else None for i in range(N)],
    }
    verdict = Engine().advance(FakeRun(columns).grow()).verdict
    assert verdict.would_change.startswith("It would become a stop once validation falls or no longer rises")


@pytest.mark.parametrize(("state", "decision"), [("running", "abort-now"), ("finished", "stop-use-best")])
def test_validation_below_its_start_and_still_falling_ends_a_run_at_once(state: str, decision: str) -> None:
    rng = np.random.default_rng(4)
    down = 0.6 - 0.4 * np.arange(N) / N
    columns = dict(learning_run(0, N)) | {
        "score_mean": 0.5 + 0.02 * noise(rng, N),
        "val_score": [float(v) + 0.005 * rng.standard_normal() if i % 10 == 0 else None for i, v in enumerate(down)],
    }
    run = FakeRun(columns, state=RunState(state, "")).grow()
    verdict = Engine().advance(run).verdict
    assert verdict.decision == decision
    assert "val-regression" in verdict.because or "train-val-divergence" in verdict.because


def test_errors_of_the_environment_in_most_rollouts_are_a_fault_to_fix() -> None:
    columns = dict(learning_run(0, N)) | {"error_rate": np.full(N, 0.4)}
    verdict = Engine().advance(FakeRun(columns).grow()).verdict
    assert (verdict.decision, verdict.because[0]) == ("pause-and-fix", "env-errors-contaminate")


@pytest.mark.parametrize(("gap", "leads"), [(0.13, True), (0.004, False)])
def test_a_critical_root_that_began_before_leads_the_milder_reason_to_stop(gap: float, leads: bool) -> None:
    rng = np.random.default_rng(3)
    late = np.clip((np.arange(N) - 200) / 200, 0, 1)
    columns = dict(learning_run(0, N)) | {
        "score_mean": 0.3 + 0.3 * np.minimum(1, np.arange(N) / 200) - 0.05 * late + 0.01 * noise(rng, N),
        "kl_ref": 0.01 + 0.3 * late + 0.002 * np.abs(noise(rng, N)),
        "rollout_train_logprob_diff": np.where(np.arange(N) < 195, 0.004, gap) * (1 + 0.05 * noise(rng, N)),
        "val_score": [None] * N,
    }
    verdict = Engine().advance(FakeRun(columns).grow()).verdict
    assert verdict.decision == "stop-use-best"
    assert (verdict.because[0] == "mismatch-high") == leads
    assert len(verdict.because) > leads


@pytest.mark.parametrize("open_since", [300, None])
def test_no_open_critical_is_left_out_of_the_headline(open_since: int | None) -> None:
    rng = np.random.default_rng(5)
    rows = np.arange(N)
    late = np.clip((rows - 200) / 200, 0, 1)
    columns = dict(learning_run(0, N)) | {
        "score_mean": 0.3
        + 0.3 * np.minimum(1, rows / 150)
        - 0.25 * np.clip((rows - 150) / 240, 0, 1)
        + 0.01 * noise(rng, N),
        "kl_ref": 0.01 + 0.3 * late + 0.002 * np.abs(noise(rng, N)),
        "rollout_train_logprob_diff": np.where(rows < (open_since or N), 0.004, 0.13) * (1 + 0.05 * noise(rng, N)),
        "val_score": [None] * N,
    }
    told = Engine().advance(FakeRun(columns).grow())
    critical = {f.id for f in told.findings if f.status == "active" and f.severity == "critical" and f.root is None}
    assert critical <= {*told.verdict.because}
    assert ("mismatch-high" in critical) == (open_since is not None)
    if open_since is not None:
        assert "trainer and sampler disagree" in told.verdict.text.lower()
