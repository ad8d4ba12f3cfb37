"""Faults that the log shows plainly and that once were told late, quietly or with another cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import ACTOR, CONFIG
from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS = 100
OVERFLOW = (
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
)


def report(folder: Path, **columns: np.ndarray) -> dict[str, Any]:
    return told(write(folder, learning(ROWS) | columns))[2]


@pytest.mark.parametrize("line", [*OVERFLOW, ""])
def test_steps_that_overflow_and_are_skipped_are_the_cause_of_an_infinite_gradient(line: str, tmp_path: Path) -> None:
    grad = wave(0.5, 0.05, ROWS, 4)
    grad[60:] = np.inf
    folder = write(tmp_path / "run", learning(ROWS) | {"grad": grad})
    (folder / "train.log").write_text(f"***** Running training *****\n{line}\n", encoding="utf-8")
    found = told(folder)[2]
    assert "nonfinite-values" in found["verdict"]["because"]
    assert ("Numbers overflow, and" in found["answer"]["why"]) == bool(line), found["answer"]["why"]


def test_a_few_skipped_steps_of_a_healthy_run_are_no_fault(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", learning(ROWS))
    (folder / "train.log").write_text("\n".join(OVERFLOW) + "\n", encoding="utf-8")
    assert told(folder)[2]["verdict"]["text"].startswith("All clear")


def test_a_rate_next_to_nothing_needs_no_hundred_rows(tmp_path: Path) -> None:
    still = {"score": wave(0.3, 0.02, ROWS, 1), "kl": np.abs(wave(2e-6, 1e-6, ROWS, 2))}
    found = report(tmp_path / "run", lr=np.full(ROWS, 1e-9), **still)
    assert found["verdict"]["decision"] == "continue-watch"
    assert found["answer"]["why"].startswith("Learning rate too low. Proof: learning rate is 1e-9")


@pytest.mark.parametrize("rate", [0.0, 1e-6])
def test_a_flat_start_at_a_rate_that_acts_or_is_cut_off_is_waited_for(rate: float, tmp_path: Path) -> None:
    still = {"score": wave(0.3, 0.02, ROWS, 1), "kl": 1e-3 * np.arange(ROWS) / ROWS}
    assert report(tmp_path / "run", lr=np.full(ROWS, rate), **still)["verdict"]["decision"] == "continue"


def exploding(falls: bool, tenfold: float = 3.5) -> dict[str, np.ndarray]:
    """A gradient that clipping hides: it grows by powers of ten from step 46 on, KL and reward follow."""
    rows = np.arange(ROWS)
    late = np.clip((rows - 45) / 30, 0, 1)
    score = 0.25 + 0.4 * (1 - np.exp(-rows / 35))
    return {
        "grad": 0.3 * 10 ** (tenfold * late + wave(0, 0.1, ROWS, 4)),
        "kl": 0.001 + 0.0004 * rows + 0.4 * late * falls,
        "score": score * (1 - 0.55 * np.clip((rows - 55) / 40, 0, 1) * falls) + wave(0, 0.02, ROWS, 1),
    }


def test_a_gradient_that_grows_by_powers_of_ten_leads_what_it_does(tmp_path: Path) -> None:
    found = report(tmp_path / "run", **exploding(True))
    assert found["verdict"]["because"][0] == "grad-norm-ramp"
    onset = next(f["onset_step"] for f in found["findings"] if f["id"] == "grad-norm-ramp")
    assert 40 <= onset <= 55, onset


def test_a_gradient_that_grows_while_the_reward_rises_stops_nothing(tmp_path: Path) -> None:
    found = report(tmp_path / "run", **exploding(False, 1.7))
    assert found["verdict"]["decision"] in ("continue", "continue-watch")
    assert not [f["id"] for f in found["findings"] if f["severity"] == "critical"]


def pulled(folder: Path, kl_falls: bool, logged: bool = True) -> str:
    """The first answer to "why" of a run that loses its gain after the KL coefficient was raised at step 58."""
    rows = np.arange(120)
    back = 1 - np.exp(-np.maximum(rows - 60, 0) / 10)
    kl = (0.001 + 0.03 * (1 - np.exp(-rows / 30))) * ((1 - 0.93 * back) if kl_falls else (1 + 4 * back))
    score = 0.3 + 0.4 * (1 - np.exp(-rows / 20)) * (1 - 0.85 * back) + wave(0, 0.02, 120, 1)
    columns = learning(120) | {"kl": kl, "score": score}
    if logged:
        columns["actor/kl_coef"] = np.where(rows >= 57, 0.05, 0.001)
    return str(told(write(folder, columns))[2]["answer"]["why"])


def test_a_policy_that_a_raised_penalty_pulls_back_is_told_so(tmp_path: Path) -> None:
    why = pulled(tmp_path / "run", kl_falls=True)
    assert why.startswith("The policy is pulled back to its reference: the KL penalty was raised. Proof: KL"), why
    assert "0.001 → 0.05" in why


@pytest.mark.parametrize(("kl_falls", "logged"), [(False, True), (True, False)])
def test_a_penalty_that_rises_with_the_distance_or_is_not_logged_pulls_nobody(
    kl_falls: bool, logged: bool, tmp_path: Path
) -> None:
    assert "Proof" not in pulled(tmp_path / "run", kl_falls, logged).partition("pulled back")[2]
    assert not pulled(tmp_path / "other", kl_falls, logged).startswith("The policy is pulled back")


def unlearnt(folder: Path, course: str, rate: float | None = 1e-6) -> str:
    """The first answer to "why" of a run that ends at nothing: it fell from its first rows on ("unlearnt"), rose before
    ("risen") or fell at once ("broken")."""
    rows = np.arange(80)
    score = {
        "unlearnt": 0.42 * np.exp(-rows / 16),
        "risen": 0.3 + 0.3 * np.minimum(rows, 30) / 30 - 0.6 * np.clip((rows - 30) / 30, 0, 1),
        "broken": np.where(rows < 12, 0.4, 0.01),
    }[course]
    columns = learning(80) | {
        "score": np.clip(score + wave(0, 0.015, 80, 1), 0, 1),
        "kl": 0.0006 + 0.5 * (1 - np.exp(-rows / 30)) + np.abs(wave(0, 0.004, 80, 2)),
        "entropy": 0.8 + 1.2 * (1 - np.exp(-rows / 30)) + wave(0, 0.02, 80, 3),
    }
    if rate is not None:
        columns["lr"] = np.full(80, rate)
    return str(told(write(folder, columns))[2]["answer"]["why"])


def test_what_is_unlearnt_from_the_first_step_on_points_at_a_sign(tmp_path: Path) -> None:
    why = unlearnt(tmp_path / "run", "unlearnt")
    assert why.startswith("What is right is unlearnt from the first step on"), why
    assert "fell from its first rows on" in why


@pytest.mark.parametrize(
    ("course", "rate"), [("risen", 1e-6), ("broken", 1e-6), ("unlearnt", 3e-4), ("unlearnt", None)]
)
def test_another_fall_or_a_rate_that_may_be_too_high_does_not(course: str, rate: float | None, tmp_path: Path) -> None:
    assert not unlearnt(tmp_path / "run", course, rate).startswith("What is right is unlearnt")


def pairs(folder: Path, learnt: float, held_out: float, until: int = 40) -> dict[str, Any]:
    """A DPO run whose accuracy rises by `learnt` and then stands; that of held-out pairs stands at `held_out`."""
    draw, lines = np.random.default_rng(7), []
    for n in range(120):
        rise = 1 - np.exp(-n / until)
        margin, right = 0.25 * rise + draw.normal(0, 0.03), 0.5 + learnt * rise + draw.normal(0, 0.025)
        row = {"loss": 0.693 - margin / 4, "grad_norm": 8.0 + draw.normal(0, 0.5), "learning_rate": 5e-7}
        row |= {"rewards/chosen": margin / 2, "rewards/rejected": -margin / 2, "rewards/accuracies": right}
        lines.append(str({**row, "rewards/margins": margin, "epoch": n / 120}))
        if n % 20 == 19:
            lines.append(str({"eval_rewards/accuracies": held_out + draw.normal(0, 0.005), "epoch": n / 120}))
        lines.append(f"{n + 1}/120 [{n:02}:00<10:00,  7.00s/it]")
    folder.mkdir()
    (folder / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return told(folder)[2]


def test_pairs_that_are_hardly_told_apart_are_told(tmp_path: Path) -> None:
    found = pairs(tmp_path / "run", 0.075, 0.515)
    assert found["verdict"]["because"][0] == "dpo-no-signal-or-saturated"
    assert found["answer"]["why"].startswith("The labels of the pairs are close to random")
    assert "half that guessing gives" in found["answer"]["what"]
    assert "validation pairs" in found["answer"]["what"]


@pytest.mark.parametrize(("learnt", "held_out", "until"), [(0.25, 0.7, 40), (0.2, 0.56, 150)])
def test_pairs_that_are_told_apart_or_more_and_more_are_not(
    learnt: float, held_out: float, until: int, tmp_path: Path
) -> None:
    found = pairs(tmp_path / "run", learnt, held_out, until)
    assert "dpo-no-signal-or-saturated" not in [f["id"] for f in found["findings"] if f["severity"] != "info"]
    assert found["verdict"]["decision"] == "continue"


def flat(folder: Path, config: dict[str, object], entropy: float = 0.8, kl: float = 8e-4) -> dict[str, Any]:
    """A run of 120 rows whose reward does not rise, in verl's words."""
    columns = learning(120) | {
        "score": wave(0.3 if entropy < 2 else 0.06, 0.012, 120, 1),
        "entropy": wave(entropy, 0.02, 120, 2),
        "kl": np.abs(wave(kl, kl / 5, 120, 3)),
        "lr": np.full(120, 1e-6),
    }
    return told(verl(folder, columns, dict(CONFIG) | config))[2]


HEAT = "actor_rollout_ref.rollout.temperature"


def test_text_close_to_random_at_a_high_temperature_is_a_fault(tmp_path: Path) -> None:
    found = flat(tmp_path / "run", {HEAT: 1.6}, entropy=3.4, kl=0.03)
    assert found["verdict"]["decision"] == "continue-watch"
    assert found["answer"]["why"].startswith("The temperature is too high")
    assert "1.6 → 1" in found["answer"]["do"]


@pytest.mark.parametrize(("heat", "entropy"), [(1.6, 0.8), (1.0, 3.4)])
def test_a_high_temperature_or_a_high_entropy_alone_is_not(heat: float, entropy: float, tmp_path: Path) -> None:
    found = flat(tmp_path / "run", {HEAT: heat}, entropy=entropy, kl=0.03)
    assert "temperature is too high" not in found["answer"]["why"]
    assert found["verdict"]["decision"] == "continue"


@pytest.mark.parametrize(("weight", "cause"), [(0.5, "KL penalty too strong"), (0.005, "Learning rate too low")])
def test_a_policy_that_a_large_penalty_holds_needs_no_higher_rate(weight: float, cause: str, tmp_path: Path) -> None:
    found = flat(tmp_path / "run", {f"{ACTOR}.kl_loss_coef": weight})
    assert found["answer"]["why"].startswith(cause), found["answer"]["why"]


def resumed(folder: Path, old: bool) -> str:
    """The first answer to "why" of a run that was resumed at step 70, with the weights of step 5 or with the newest."""
    rows = np.concatenate([np.arange(70), np.arange(5, 55)]) if old else np.arange(120)
    draw, lines = np.random.default_rng(3), []
    for n, at in enumerate(rows, 1):
        rise = 1 - np.exp(-at / 25)
        row = {"loss": draw.normal(0, 0.01), "grad_norm": 0.3 + draw.normal(0, 0.03), "learning_rate": 1e-6}
        row |= {"reward": 0.25 + 0.45 * rise + draw.normal(0, 0.02), "kl": 0.001 + 0.035 * rise + draw.normal(0, 0.001)}
        row |= {"entropy": 0.9 - 0.4 * rise + draw.normal(0, 0.01), "completions/mean_length": 400 + 90 * rise}
        lines += [
            str({k: float(v) for k, v in {**row, "epoch": n / 120}.items()}),
            f"{n}/120 [{n:02}:00<10:00,  7.00s/it]",
        ]
        lines += ["Resuming training from checkpoint-70"] if n == 70 else []
    folder.mkdir()
    (folder / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(told(folder)[2]["answer"]["why"])


def test_old_weights_at_a_resume_are_told(tmp_path: Path) -> None:
    why = resumed(tmp_path / "run", old=True)
    assert why.startswith("The policy is that of an earlier step: old weights were loaded. Proof"), why


def test_a_resume_with_the_newest_weights_is_not_told(tmp_path: Path) -> None:
    assert "old weights" not in resumed(tmp_path / "run", old=False)


@pytest.mark.parametrize("times", [1.45, 1.55, 1.62])
def test_steps_that_became_much_slower_are_never_called_clear(times: float, tmp_path: Path) -> None:
    """Neither a little below what a warning takes nor a little above it, before it has held for long enough."""
    found = report(tmp_path / "run", step_s=wave(30, 0.9, ROWS, 9) * np.where(np.arange(ROWS) < 50, 1, times))
    assert "All clear" not in found["verdict"]["text"]


def test_steps_that_are_a_little_slower_are(tmp_path: Path) -> None:
    found = report(tmp_path / "run", step_s=wave(30, 0.9, ROWS, 9) * np.where(np.arange(ROWS) < 50, 1, 1.12))
    assert found["verdict"]["text"].startswith("All clear")
