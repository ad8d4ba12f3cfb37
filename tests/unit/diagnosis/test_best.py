"""Which checkpoint is kept, by what it is best, and what is said where the best is not on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.evidence.model import BestCheckpoint, Diagnosis, Finding
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from rltui.run.run import Checkpoint, RunState, State
from tests.draws import some
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run
from tests.unit.diagnosis.written import finding, learning, report, write
from tests.unit.rules.asked import only

N = 400
EVERY = 10
RULE = "best-checkpoint-unavailable"
ASKED = {RULE, *having(Trait.BREAKS_POLICY)}
"""The only rules that have a say in the choice: that of the best itself, and those after which no state is trusted."""


def evaluations(peak_at: int, height: float, seed: int, sd: float = 0.005) -> list[float | None]:
    """Validation every 10 steps: up to the peak, then down."""
    t = np.arange(N)
    curve = height * (1 - 0.6 * np.abs(t - peak_at) / N)
    noisy = curve + sd * height * np.random.default_rng(seed).standard_normal(N)
    return [float(v) if i % EVERY == 0 else None for i, v in enumerate(noisy)]


def diagnose(
    columns: Mapping[str, object],
    saved: Sequence[int],
    config: Mapping[str, object] | None = None,
    state: State = "running",
    forced: bool = False,
) -> Diagnosis:
    both: dict[str, Any] = {**learning_run(0, N), **columns}
    run = FakeRun(both, config=config, planned=2 * N, state=RunState(state, "test"))
    if forced:
        run.key_map = {"val_score": "val_score"}
    run.checkpoints = [Checkpoint(step, f"checkpoint-{step}", True) for step in saved]
    return only(ASKED).advance(run.grow())


def best(d: Diagnosis) -> BestCheckpoint:
    assert d.verdict.best_checkpoint is not None
    return d.verdict.best_checkpoint


def spoken(d: Diagnosis) -> Finding | None:
    return next((f for f in d.findings if f.id == RULE), None)


SAVES = range(40, 401, 40)


def test_several_sets_count_alike_whatever_their_scale() -> None:
    early, late = evaluations(120, 0.5, 1), evaluations(280, 50.0, 2)
    d = diagnose({"val_score": early, "val_score:late": late, "val_score:late again": evaluations(280, 9.0, 3)}, SAVES)
    assert best(d).step >= 200
    assert "val_score" in best(d).basis
    assert "late again" in best(d).basis
    assert best(d).metric == "val_score"
    assert best(d).value < 1  # of the set that the run is judged by, in its own unit


def test_a_set_that_the_user_names_decides_alone() -> None:
    columns = {"val_score": evaluations(120, 0.5, 1), "val_score:late": evaluations(280, 50.0, 2)}
    d = diagnose(columns, SAVES, forced=True)
    assert best(d).step == 120
    assert best(d).basis == "validation, val_score"


def test_a_set_that_was_hardly_evaluated_does_not_rank() -> None:
    rare: list[float | None] = [None] * N
    rare[300:360:EVERY] = [9.0] * 6
    d = diagnose({"val_score": evaluations(120, 0.5, 1), "val_score:rare": rare}, SAVES)
    assert best(d).step == 120


def test_train_reward_ranks_for_want_of_validation_and_says_so() -> None:
    d = diagnose({"val_score": [None] * N}, SAVES)
    assert "train reward only" in best(d).basis
    assert best(d).step >= 320


def test_a_spike_of_one_batch_is_no_best_state() -> None:
    score = np.array(learning_run(0, N)["score_mean"])
    score[119:121] = 100.0
    assert best(diagnose({"score_mean": score, "val_score": [None] * N}, SAVES)).step >= 320


def test_a_long_run_is_ranked_by_blocks() -> None:
    n = 5000
    score = 0.6 - 0.4 * np.abs(np.arange(n) - 3000) / n + 0.05 * np.random.default_rng(1).standard_normal(n)
    run = FakeRun({"score_mean": score})
    run.checkpoints = [Checkpoint(s, str(s), True) for s in range(500, n + 1, 500)]
    assert best(only(ASKED).advance(run.grow())).step == 3000


def test_a_gain_within_its_error_is_told() -> None:
    flat = [
        0.4 + 0.02 * float(v) if i % EVERY == 0 else None for i, v in enumerate(np.random.default_rng(4).normal(size=N))
    ]
    assert "not distinguishable from the start" in best(diagnose({"val_score": flat}, SAVES)).basis
    assert "not distinguishable" not in best(diagnose({"val_score": evaluations(200, 0.5, 1)}, SAVES)).basis


def test_a_state_saved_at_the_break_is_not_trusted() -> None:
    loss = np.where(np.arange(N) >= 199, np.nan, 0.1)
    assert best(diagnose({"pg_loss": loss, "val_score": [None] * N}, [100, 200, 300])).step == 100


@pytest.mark.parametrize(
    ("saved", "state", "severity"),
    [
        ([40, 400], "running", "warning"),
        ([40, 200, 400], "running", None),
        ([40, 120], "running", None),  # the next save is to come
        ([40, 120], "finished", "warning"),
    ],
)
def test_a_peak_between_the_saves(saved: list[int], state: State, severity: str | None) -> None:
    found = spoken(diagnose({"val_score": evaluations(200, 0.5, 1)}, saved, state=state))
    assert (found.severity if found else None) == severity
    if found is not None:
        assert found.onset_step is not None
        assert abs(found.onset_step - 200) <= 2 * EVERY


@pytest.mark.parametrize("seed", range(6))
def test_a_level_validation_loses_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    flat = [0.4 + 0.02 * float(v) if i % EVERY == 0 else None for i, v in enumerate(rng.normal(size=N))]
    found = spoken(diagnose({"val_score": flat}, [130, 260, 390], state="finished"))
    assert found is None or found.severity == "info"


def test_nothing_usable_before_the_break_is_critical() -> None:
    loss = np.where(np.arange(N) >= 250, np.nan, 0.1)
    found = spoken(diagnose({"pg_loss": loss}, [300, 400]))
    assert found is not None
    assert (found.severity, found.onset_step) == ("critical", 251)
    assert best(diagnose({"pg_loss": loss}, [300, 400])).on_disk is False
    before = spoken(diagnose({"pg_loss": loss}, [240, 300]))
    assert before is None or before.severity == "info"


def test_the_next_save_would_delete_the_best() -> None:
    columns = {"val_score": evaluations(200, 0.5, 1)}
    kept = spoken(diagnose(columns, [200, 300, 400], {"max_checkpoints": 3}))
    assert kept is not None
    assert kept.severity == "info"
    assert "next save deletes" in kept.summary
    assert spoken(diagnose(columns, [200, 300, 400], {"max_checkpoints": 5})) is None
    assert spoken(diagnose(columns, [200, 300, 400], {"max_checkpoints": 3}, "finished")) is None


def test_keeping_the_best_by_a_loss_is_told() -> None:
    found = spoken(diagnose({}, SAVES, {"best_metric": "eval_loss"}))
    assert found is not None
    assert "eval_loss" in found.summary
    assert spoken(diagnose({}, SAVES, {"best_metric": "eval_reward"})) is None


def test_without_checkpoints_in_sight_the_rule_cannot_run() -> None:
    assert any(n.id == RULE for n in diagnose({}, []).not_evaluable)
    assert not any(n.id == RULE for n in diagnose({}, SAVES).not_evaluable)


def test_by_reward_alone_the_earliest_of_those_that_cannot_be_told_apart() -> None:
    rng = np.random.default_rng(5)
    level = np.where(np.arange(N) < 150, np.arange(N) / 150, 1.0) * 0.4 + 0.3 + 0.02 * rng.standard_normal(N)
    columns = {"score_mean": level, "reward_mean": level, "val_score": [None] * N}
    found = best(diagnose(columns, SAVES))
    assert 150 <= found.step <= 240
    assert "low confidence" in found.basis


def test_a_best_that_does_not_beat_the_start_says_what_it_would_take() -> None:
    flat = np.full(N, 0.5) + 0.05 * np.random.default_rng(2).standard_normal(N)
    found = best(diagnose({"score_mean": flat, "val_score": [None] * N}, SAVES))
    assert not found.beats_start
    least = float(found.basis.rsplit(", where a mean of ", 1)[1].split()[0])
    assert found.value < least
    assert not found.worth_keeping


def test_a_score_that_never_varies_tells_no_error_of_its_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ({"step": i, "reward": 0.3, "eval_accuracy": 0.7} for i in range(1, 41))
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    best = json.loads(capsys.readouterr().out)["verdict"]["best_checkpoint"]
    assert (best["value"], best["se"]) == (pytest.approx(0.7), None)
    assert main(["report", str(tmp_path)]) == 0
    assert "±" not in capsys.readouterr().out


@pytest.mark.parametrize("better", [0.0, 0.12])
@pytest.mark.parametrize("seed", some([0, 4, 7]))
def test_a_step_is_told_as_better_than_what_was_saved_only_if_noise_does_not_make_it_so(
    better: float, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a run that stays at what it has learnt, one of forty evaluations always lies above the saved ones."""
    rng, at = np.random.default_rng(seed), np.arange(N)
    learnt = 0.4 + 0.15 * (1 - np.exp(-at / 80))
    columns = learning(N) | {
        "score": learnt + rng.normal(0, 0.02, N),
        "val": learnt + rng.normal(0, 0.02, N) + better * ((at >= 205) & (at < 245)),
    }
    run = write(tmp_path / "run", columns, {"val": EVERY})
    for step in range(50, N + 1, 50):
        saved = run / "checkpoints" / f"global_step_{step}"
        saved.mkdir(parents=True)
        (saved / "model.safetensors").write_bytes(b"x" * 10)
    told = finding(report(run, capsys), RULE)
    assert (told is not None) == bool(better)
    if told is not None:
        assert told["severity"] == "warning"
        assert told["summary"].startswith(("Step 21", "Step 22", "Step 23", "Step 24"))
