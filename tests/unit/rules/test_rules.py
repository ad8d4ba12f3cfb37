"""Planted faults are found, with their onset; a run that learns stays quiet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Diagnosis, Finding
from tests.draws import some
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.rules.asked import near

N = 400
FEW = 60
"""Rows that are enough where the question is what can be judged at all."""
Columns = dict[str, object]


def ramp(start: int, length: int, n: int = N) -> np.ndarray:
    """0 before `start`, 1 from `start + length` on."""
    return np.clip((np.arange(n) - start) / max(1, length), 0, 1)


def diagnose(columns: Columns, **kwargs: object) -> Diagnosis:
    return Engine().advance(FakeRun(columns, **kwargs).grow())  # type: ignore[arg-type]


def found(d: Diagnosis, rule: str) -> Finding:
    return next(f for f in d.findings if f.id == rule)


def told_of(rule: str, columns: Columns, **kwargs: object) -> Finding:
    """What the rule says where it and its relatives are asked."""
    return found(near(rule).advance(FakeRun(columns, **kwargs).grow()), rule)  # type: ignore[arg-type]


def level(x: float, n: int = N, sd: float = 0.02, seed: int = 0) -> np.ndarray:
    return x * (1 + sd * noise(np.random.default_rng(seed), n))


def nan_loss(c: Columns) -> None:
    c["pg_loss"] = np.where(np.arange(N) >= 300, np.nan, c["pg_loss"])  # type: ignore[arg-type]


def truncation(c: Columns) -> None:
    c["response_clip_ratio"] = 0.01 + 0.7 * ramp(200, 60)


def dead_gradient(c: Columns) -> None:
    c["grad_norm"] = np.where(np.arange(N) >= 250, 0.0, c["grad_norm"])  # type: ignore[arg-type]


def dead_groups(c: Columns) -> None:
    c["frac_reward_zero_std"] = np.clip(level(0.2) + 0.75 * ramp(200, 20), 0, 1)
    c["score_mean"] = level(0.5, sd=0.05)


def floor(c: Columns) -> None:
    c["score_mean"] = np.zeros(N)


def saturated(c: Columns) -> None:
    c["score_mean"] = np.minimum(1.0, 0.3 + 0.7 * ramp(0, 150))
    c["frac_reward_zero_std"] = 0.2 + 0.75 * ramp(100, 60)


def collapse(c: Columns) -> None:
    c["score_mean"] = np.array(c["score_mean"]) * (1 - 0.97 * ramp(300, 10))


def decline(c: Columns) -> None:
    c["score_mean"] = 0.3 + 0.4 * ramp(0, 150) - 0.25 * ramp(180, 200) + 0.02 * noise(np.random.default_rng(1), N)
    c["val_score"] = [None] * N  # one that rises all the while says that the prompts became harder


def drift(c: Columns) -> None:
    c["score_mean"] = level(0.5, sd=0.03)
    c["val_score"] = [None] * N
    c["kl_ref"] = 0.02 + 0.35 * ramp(200, 200) + 0.001 * np.abs(noise(np.random.default_rng(2), N))


def runaway(c: Columns) -> None:
    c["score_mean"] = level(0.5, sd=0.03)
    c["val_score"] = [None] * N
    c["kl_ref"] = 0.02 * np.exp(5 * ramp(250, 150)) * (1 + 0.05 * noise(np.random.default_rng(3), N))


def entropy_down(c: Columns) -> None:
    c["entropy"] = 0.9 * (1 - 0.97 * ramp(150, 100))
    c["frac_reward_zero_std"] = 0.2 + 0.7 * ramp(180, 80)
    c["score_mean"] = level(0.5, sd=0.03)
    c["val_score"] = [None] * N


def entropy_up(c: Columns) -> None:
    c["entropy"] = 0.6 + 3.0 * ramp(220, 120) + 0.02 * noise(np.random.default_rng(4), N)
    c["score_mean"] = np.array(c["score_mean"]) * (1 - 0.9 * ramp(280, 60))


def length_down(c: Columns) -> None:
    c["response_length_mean"] = 300 * (1 - 0.9 * ramp(150, 80)) * (1 + 0.03 * noise(np.random.default_rng(5), N))
    c["score_mean"] = 0.5 - 0.15 * ramp(150, 80) + 0.02 * noise(np.random.default_rng(6), N)
    c["val_score"] = [None] * N


def length_up(c: Columns) -> None:
    c["response_length_mean"] = 300 * np.exp(2 * ramp(200, 180)) * (1 + 0.03 * noise(np.random.default_rng(7), N))
    c["score_mean"] = level(0.5, sd=0.03)
    c["val_score"] = [None] * N


def spikes(c: Columns) -> None:
    gradient = np.array(c["grad_norm"])
    gradient[[380, 386, 392]] = 80.0
    c["grad_norm"] = gradient


def slow(c: Columns) -> None:
    c["time_per_step_s"] = level(60, sd=0.05) * (1 + 1.2 * ramp(300, 1))


def farming(c: Columns) -> None:
    c["reward_component_mean:accuracy_reward"] = 0.5 - 0.4 * ramp(150, 100) + 0.02 * noise(np.random.default_rng(8), N)
    c["reward_component_mean:format_reward"] = 0.2 + 0.8 * ramp(150, 100)


def over_trained(c: Columns) -> None:
    rise = 0.3 + 0.3 * ramp(0, 180) - 0.2 * ramp(200, 150)
    c["val_score"] = [float(v) if i % 10 == 0 else None for i, v in enumerate(rise + 0.01 * level(1.0, sd=1.0))]


def one_sample(c: Columns) -> None:
    low = np.random.default_rng(9).uniform(-1, 0, N)
    c |= {"score_min": low, "score_max": low + 1, "advantage_min": low, "advantage_max": low + 1}


FAULTS: list[tuple[Callable[[Columns], None], str, str, int, int]] = [
    (nan_loss, "nonfinite-values", "critical", 301, 0),
    (truncation, "truncation-high", "critical", 200, 30),
    (dead_gradient, "no-learning-signal", "critical", 250, 12),
    (dead_groups, "zero-variance-groups", "critical", 205, 20),
    (floor, "reward-floor", "critical", 1, 0),
    (saturated, "reward-saturated", "warning", 140, 15),
    (collapse, "reward-collapse", "critical", 301, 12),
    (decline, "reward-peak-decline", "warning", 220, 50),
    (drift, "kl-up-reward-flat", "warning", 200, 40),
    (runaway, "kl-runaway", "critical", 250, 60),
    (entropy_down, "entropy-collapse", "critical", 150, 50),
    (entropy_up, "entropy-explosion", "critical", 220, 30),
    (length_down, "length-collapse", "critical", 150, 40),
    (length_up, "length-explosion", "warning", 200, 50),
    (spikes, "grad-norm-explosion", "warning", 381, 2),
    (slow, "step-time-regression", "warning", 301, 5),
    (farming, "reward-component-decoupling", "critical", 150, 60),
    (over_trained, "val-regression", "warning", 200, 50),
    (one_sample, "cfg-group-size-degenerate", "critical", 1, 0),
]


@pytest.mark.parametrize(("plant", "rule", "severity", "onset", "tolerance"), FAULTS, ids=[f[1] for f in FAULTS])
def test_planted_fault(plant: Callable[[Columns], None], rule: str, severity: str, onset: int, tolerance: int) -> None:
    columns = dict(learning_run(0, N))
    plant(columns)
    d = near(rule).advance(FakeRun(columns).grow())  # type: ignore[arg-type]
    finding = found(d, rule)
    assert finding.severity == severity
    assert finding.status == "active"
    assert finding.onset_step is not None
    assert abs(finding.onset_step - onset) <= tolerance
    assert finding.summary
    assert finding.evidence
    assert finding.causes
    assert finding.refute
    assert d.verdict.decision not in ("continue", "not-enough-evidence")


def test_fast_steps_between_slow_ones_make_no_slow_run() -> None:
    """Steps that take as long as in the beginning are the usual ones; those that never did are slow."""
    columns = dict(learning_run(0, N))
    seconds = level(60, sd=0.05)
    columns["time_per_step_s"] = np.where((np.arange(N) >= 100) & (np.arange(N) < 250), seconds, 5 * seconds)
    as_before = found(near("step-time-regression").advance(FakeRun(columns).grow()), "step-time-regression")
    assert (as_before.severity, as_before.peak_severity) == ("info", "info")
    columns["time_per_step_s"] = np.where(np.arange(N) < 250, seconds, 5 * seconds)
    slowed = found(near("step-time-regression").advance(FakeRun(columns).grow()), "step-time-regression")
    assert slowed.severity == "critical"


@pytest.mark.parametrize("seed", some(range(5), 2))
def test_a_run_that_learns_stays_quiet(seed: int) -> None:
    d = diagnose(learning_run(seed))
    assert [f.id for f in d.findings if f.peak_severity != "info"] == []
    assert d.verdict.decision == "continue"
    assert d.verdict.kinds == ("healthy",)


def test_a_level_without_damage_is_a_notice() -> None:
    columns = dict(learning_run(0, N))
    columns["kl_ref"] = 0.001 + 0.5 * ramp(0, 350)
    columns["entropy"] = 0.9 * (1 - 0.9 * ramp(0, 350))
    columns["response_length_mean"] = 300 - 250 * ramp(0, 350)
    d = diagnose(columns)
    quiet = {f.id for f in d.findings if f.severity == "info"}
    assert {"kl-runaway", "entropy-collapse", "length-collapse"} <= quiet
    assert d.verdict.decision == "continue"


def test_a_constant_zero_is_not_a_measurement() -> None:
    columns = dict(learning_run(0, FEW)) | {"entropy": np.zeros(FEW), "kl_ref": np.zeros(FEW)}
    d = diagnose(columns)
    assert {"entropy-collapse", "kl-runaway"} <= {x.id for x in d.not_evaluable}
    assert {"entropy", "kl_ref"} <= {m.metric for m in d.coverage.missing}


def test_a_missing_metric_is_not_evaluable_and_says_how_to_log_it() -> None:
    columns = {k: v for k, v in learning_run(0, FEW).items() if k != "frac_reward_zero_std"}
    d = diagnose(columns, framework="verl")
    skipped = next(x for x in d.not_evaluable if x.id == "zero-variance-groups")
    assert "trainer.rollout_data_dir" in skipped.enable
    missing = next(m for m in d.coverage.missing if m.metric == "frac_reward_zero_std")
    assert "zero-variance-groups" in missing.blocks


@pytest.mark.parametrize("name", ["entropy", "val_score", "pg_loss", "response_clip_ratio"])
def test_a_missing_metric_names_the_rules_that_it_alone_keeps_from_running(name: str) -> None:
    columns = dict(learning_run(0, FEW))
    columns |= {"val_score": columns["score_mean"], "pg_loss": 0.1 + columns["entropy"]}
    columns |= {"response_clip_ratio": np.full(FEW, 0.01)}
    with_it, without = diagnose(columns), diagnose({key: x for key, x in columns.items() if key != name})
    blocked = {x.id for x in without.not_evaluable} - {x.id for x in with_it.not_evaluable}
    missing = next(m for m in without.coverage.missing if m.metric == name)
    assert blocked
    assert set(missing.blocks) >= blocked
    assert set(missing.blocks) - blocked <= {x.id for x in with_it.not_evaluable}, "they lack something else as well"


def test_a_rule_for_another_kind_of_run_is_no_gap() -> None:
    d = diagnose(dict(learning_run(0, FEW)))
    reasons = {x.id: x.needs for x in d.not_applicable}
    assert reasons["critic-uninformative"] == "the algorithm has no critic"
    assert {"dpo-no-signal-or-saturated", "tool-call-invalid", "staleness-high"} <= set(reasons)
    assert not set(reasons) & {x.id for x in d.not_evaluable}


def test_what_is_logged_is_judged_whatever_the_kind_of_run() -> None:
    d = diagnose(dict(learning_run(0, FEW)) | {"vf_loss": np.full(FEW, 0.1), "num_turns_mean": np.full(FEW, 3.0)})
    assert not {"value-loss-explosion", "tool-use-collapse", "tool-call-invalid"} & {x.id for x in d.not_applicable}
    assert "tool-call-invalid" in {x.id for x in d.not_evaluable}  # there are turns, but nothing counts their failures


def test_a_short_spike_of_reward_is_no_peak() -> None:
    columns = dict(learning_run(0, N))
    score = np.array(columns["score_mean"])
    score[120:126] = 5.0
    columns["score_mean"] = score
    told = near("reward-collapse", "reward-peak-decline").advance(FakeRun(columns).grow())  # type: ignore[arg-type]
    assert not [f for f in told.findings if f.id in ("reward-collapse", "reward-peak-decline")]


def test_a_dip_that_recovers_is_resolved() -> None:
    columns = dict(learning_run(0, N))
    columns["score_mean"] = np.array(columns["score_mean"]) * (1 - 0.6 * ramp(150, 10) + 0.6 * ramp(190, 10))
    finding = told_of("reward-collapse", columns)
    assert finding.status == "resolved"
    assert finding.severity == "info"
    assert finding.peak_severity == "warning"
    assert finding.episodes[0].end_step is not None
    assert 180 <= finding.episodes[0].end_step <= 215


def test_config_stands_behind_the_cause_and_the_fix() -> None:
    columns = {**learning_run(0, N), "lr": np.full(N, 1e-5)}
    runaway(columns)
    finding = found(diagnose(columns, config={"lr": 1e-5, "kl_coef_loss": 1e-4}, framework="verl"), "kl-runaway")
    of_config = {c.config_key: (c.value, c.status) for c in finding.causes if c.config_key}
    assert of_config["kl_coef_loss"] == (1e-4, "supported")
    assert of_config["lr"] == (1e-5, "untestable")  # it did no harm for many steps
    assert ("kl_coef_loss", 1e-4, 1e-3) in [(f.config_key, f.value, f.to) for f in finding.fixes]
    assert len(finding.fixes) <= 3


@pytest.mark.parametrize(
    ("scale", "top", "severity"), [(1.0, None, "warning"), (20.0, None, "info"), (20.0, 20.0, "warning")]
)
def test_half_dead_groups_at_a_plateau_are_loud_where_there_is_more_to_gain(
    scale: float, top: float | None, severity: str
) -> None:
    """Far below the ceiling the dead half are groups that never succeed; where no ceiling is known (a reward model's
    scores without their maximum) the same plateau may be the top."""
    score = scale * (0.05 + 0.25 * ramp(0, 120)) * (1 + 0.03 * noise(np.random.default_rng(5), N))
    columns: Columns = learning_run(0, N) | {"score_mean": score, "frac_reward_zero_std": level(0.55)}
    columns |= {"val_score": [None] * N}
    if top is not None:
        columns |= {"score_max": np.full(N, top), "score_min": np.zeros(N)}
    d = near("reward-plateau", "zero-variance-groups").advance(FakeRun(columns).grow())  # type: ignore[arg-type]
    assert found(d, "reward-plateau").status == "active"
    assert found(d, "zero-variance-groups").severity == severity


def test_a_kl_that_comes_back_is_told_no_more() -> None:
    flat = {"score_mean": level(0.5, sd=0.05, seed=1)}
    far = 0.02 + 0.35 * ramp(100, 100) + 0.002 * noise(np.random.default_rng(2), N)
    stays = told_of("kl-up-reward-flat", {**flat, "kl_ref": far})
    assert (stays.status, stays.severity) == ("active", "warning"), "what was left and bought nothing is told"
    back = far - 0.25 * ramp(230, 150)
    over = told_of("kl-up-reward-flat", {**flat, "kl_ref": back})
    assert (over.status, over.peak_severity) == ("resolved", "warning")


@pytest.mark.parametrize("times", [1, 8])
@pytest.mark.parametrize("pays", [True, False])
def test_length_that_paid_for_itself_stays_paid_however_long_the_run_goes_on(times: int, pays: bool) -> None:
    n = 150 * times
    gain = 0.4 * ramp(n // 10, n // 2, n) if pays else 0.0
    columns: Columns = {
        "score_mean": level(0.4, n, sd=0.05, seed=3) + gain,
        "response_length_mean": level(200.0, n, seed=4) * np.exp(1.2 * ramp(n // 10, n // 2, n)),
    }
    told = told_of("length-explosion", columns)
    assert told.peak_severity == ("info" if pays else "warning")


def test_saves_are_slow_since_they_became_slow() -> None:
    step = np.arange(1, N + 1)
    odd = np.where(step == 40, 5.0, 1.0)  # one slow save is no onset
    took = np.where(step % 20 == 0, np.where(step >= 260, 30.0, 0.1) * odd, 0.0)
    columns: Columns = {"time_per_step_s": level(2.0), "phase:save_checkpoint": took}
    slow = told_of("checkpoint-slow", columns)
    assert slow.onset_step == 260
    always = {**columns, "phase:save_checkpoint": np.where(step % 20 == 0, 30.0, 0.0)}
    assert told_of("checkpoint-slow", always).onset_step == 20
