"""What is said of a gain, of its want and of what was lost: headline, badge, date and best step agree."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

Cells = dict[str, float]


def reported(run: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["report", str(run), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def written(
    folder: Path, rows: int, cells: Callable[[float, random.Random], Cells], every: int = 0, **val: Any
) -> Path:
    """A console log of verl that reaches its plan. `score`: of an evaluation each `every` steps."""
    chance = random.Random(5)
    lines = []
    for step in range(1, rows + 1):
        t = step / rows
        row = {"actor/entropy": 0.4 - 0.1 * t + chance.gauss(0, 0.01), "response_length/mean": 300 + chance.gauss(0, 5)}
        row["actor/grad_norm"] = 0.3 + chance.gauss(0, 0.02)
        if every and step % every == 0:
            row["val-core/gsm8k/reward/mean@1"] = val["score"](t) + chance.gauss(0, 0.006)
        row |= cells(t, chance)
        lines.append(f"step:{step} - " + " - ".join(f"{key}:{value:.5f}" for key, value in row.items()))
        lines.append(f"Training Progress: {100 * step // rows}%|#| {step}/{rows} [00:10<00:10, 1.00s/it]")
    folder.mkdir(exist_ok=True)
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    return folder


def gains(t: float, chance: random.Random) -> Cells:
    return {"critic/score/mean": 0.25 + 0.45 * t + chance.gauss(0, 0.02), "actor/kl_loss": 0.03 * t}


def stands(t: float, chance: random.Random) -> Cells:
    return {"critic/score/mean": 0.4 + chance.gauss(0, 0.02), "actor/kl_loss": 0.01 * t + chance.gauss(0, 0.0001)}


@pytest.mark.parametrize(("course", "glyph"), [(gains, "✓"), (stands, "?")])
def test_an_end_is_shown_as_good_only_if_something_was_gained(
    course: Callable[[float, random.Random], Cells], glyph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = written(tmp_path / "run", 120, course)
    assert main(["report", str(run)]) == 0
    assert f"**{glyph} DONE**" in capsys.readouterr().out


def test_many_steps_for_nothing_ask_for_a_look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing says what is wrong, and going on without a word would be no advice."""
    told = reported(written(tmp_path / "run", 320, stands), capsys)
    assert told["verdict"]["decision"] == "continue-watch"
    assert told["verdict"]["kinds"] == ["not-learning"]
    assert "reward has not risen from its start" in told["answer"]["what"]
    assert [f["id"] for f in told["findings"] if f["severity"] != "info"] == []
    slow = reported(
        written(
            tmp_path / "slow",
            320,
            lambda t, chance: stands(t, chance) | {"critic/score/mean": 0.4 + 0.1 * t + chance.gauss(0, 0.02)},
        ),
        capsys,
    )
    assert slow["verdict"]["decision"] == "continue"


def test_a_gain_that_validation_does_not_show_is_not_all_clear(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = reported(written(tmp_path / "run", 120, gains, every=5, score=lambda t: 0.5), capsys)["verdict"]["text"]
    assert "Reward rose" in told
    assert "Validation 0.5" in told
    assert "no sure gain on validation" in told
    assert "All clear" not in told


@pytest.mark.parametrize("gain", [0.0, 0.004, 0.008, 0.012, 0.016, 0.024])
def test_a_small_gain_is_told_or_not_and_never_both(
    gain: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def course(t: float, chance: random.Random) -> Cells:
        return {"critic/score/mean": 0.4 + gain * t + chance.gauss(0, 0.02), "actor/kl_loss": 0.01 * t}

    run = written(tmp_path / "run", 240, course)
    assert main(["report", str(run)]) == 0
    page = capsys.readouterr().out
    rose = "Reward rose" in page or "Score rose" in page
    denied = [w for w in ("no sure gain", "beyond its noise", "beats the start", "from the start of") if w in page]
    assert not (rose and denied)
    assert rose or denied


def at_once(t: float) -> float:
    return 0.55 - 0.55 * math.exp(-t / 0.04)


@pytest.mark.parametrize("score", [at_once, lambda t: 0.3 + at_once(t) / 1.5, lambda t: 0.9 * (t > 0.06)])
def test_what_validation_gains_at_once_is_a_gain(
    score: Callable[[float], float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = reported(written(tmp_path / "run", 200, gains, every=5, score=score), capsys)["verdict"]["text"]
    assert "no sure gain on validation" not in told
    assert "Validation rose" in told


def test_a_validation_set_that_falls_beside_one_that_rises_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def course(t: float, chance: random.Random) -> Cells:
        other = {} if round(120 * t) % 5 else {"val-core/math500/reward/mean@1": 0.5 - 0.3 * t + chance.gauss(0, 0.006)}
        return {**gains(t, chance), **other}

    report = reported(written(tmp_path / "run", 120, course, every=5, score=lambda t: 0.4 + 0.3 * t), capsys)
    assert "math500" in report["verdict"]["text"].split("fell 0.4")[0]
    assert "All clear" not in report["verdict"]["text"]
    assert "by 2 validation sets together" in report["answer"]["keep"]


def test_few_rows_are_not_said_to_have_gained_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = reported(written(tmp_path / "run", 14, gains), capsys)["verdict"]["text"]
    assert "too few rows to tell a gain" in told
    assert "no gain shown" not in told


def fallen(t: float) -> float:
    return 0.4 + 0.3 * t / 0.45 if t < 0.45 else 0.7 - 0.3 * (t - 0.45) / 0.55


def test_a_steady_rise_and_fall_of_few_evaluations_is_a_fall(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = reported(written(tmp_path / "run", 120, gains, every=12, score=fallen), capsys)
    assert "val-regression" in [f["id"] for f in report["findings"] if f["status"] == "active"]


def test_validation_falls_no_sooner_than_from_its_best_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(written(tmp_path / "run", 200, gains, every=10, score=fallen), capsys)
    best = report["verdict"]["best_checkpoint"]
    (found,) = (f for f in report["findings"] if f["id"] == "val-regression")
    assert found["onset_step"] >= best["step"]
    assert f"at step {best['step']}" in found["summary"]


def test_a_fall_at_once_with_the_policy_as_before_asks_for_the_grader_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = written(tmp_path / "run", 200, gains, every=5, score=lambda t: 0.6 if t < 0.4 else 0.42)
    report = reported(run, capsys)
    assert "grading changed" in report["answer"]["why"]
    assert "the validation file and grader of now" in report["answer"]["do"]


def test_kl_rises_in_vain_no_sooner_than_the_reward_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def course(t: float, chance: random.Random) -> Cells:
        reward = 0.2 + 0.5 * min(1.0, t / 0.5) + chance.gauss(0, 0.01)
        return {"critic/score/mean": reward, "actor/kl_loss": 0.8 * t + chance.gauss(0, 0.002)}

    report = reported(written(tmp_path / "run", 240, course), capsys)
    (found,) = (f for f in report["findings"] if f["id"] == "kl-up-reward-flat")
    assert 100 <= found["onset_step"] <= 200


def test_pairs_of_answers_are_judged_by_what_their_run_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(3)
    rows = [
        {
            "loss": 0.69 - 0.2 * n / 100 + chance.gauss(0, 0.01),
            "grad_norm": 5.0 + chance.gauss(0, 0.3),
            "rewards/chosen": 0.4 * n / 100,
            "rewards/rejected": -0.6 * n / 100,
            "rewards/accuracies": 0.5 + 0.25 * n / 100 + chance.gauss(0, 0.02),
            "rewards/margins": n / 100,
            "epoch": n / 100,
        }
        for n in range(1, 101)
    ]
    (tmp_path / "console.log").write_text("".join(f"{row}\n" for row in rows))
    report = reported(tmp_path, capsys)
    assert "Preference accuracy rose" in report["verdict"]["text"]
    assert "dpo_accuracy" in report["metrics"]
    assert report["verdict"]["best_checkpoint"]["metric"] == "rewards/accuracies"
    assert not {"score_mean", "kl_ref", "entropy", "clip_frac"} & {m["metric"] for m in report["coverage"]["missing"]}


def test_a_factor_is_that_of_the_levels_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def course(t: float, chance: random.Random) -> Cells:
        cells, times = gains(t, chance), 100.0 if t > 0.5 else 1.0
        spread = {"critic/score/max": times, "critic/score/min": 0.0}
        return {**cells, **spread, "critic/score/mean": times * cells["critic/score/mean"]}

    report = reported(written(tmp_path / "run", 200, course), capsys)
    (found,) = (f for f in report["findings"] if f["id"] == "reward-scale-shift")
    words = found["summary"].split()
    before, after = (float(words[words.index(mark) - 1].strip("(")) for mark in ("before,", "after),"))
    assert float(words[words.index("times") - 1]) == pytest.approx(after / before, rel=0.02)
