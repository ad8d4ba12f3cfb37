"""Reports read as their users would: what is to be done follows from what is proven, lists read at once, and no
sentence speaks against another."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.diagnosis.kl_reward import table
from rltui.frameworks.load import dialect
from rltui.report.markdown_brief import _whole
from rltui.rules.catalogue import rules
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import learning, write
from tests.unit.reported import told

Row = dict[str, float]
ROWS = 150
SETTINGS: dict[str, Any] = {
    "trainer": "GRPOTrainer",
    "learning_rate": 1e-6,
    "num_generations": 8,
    "beta": 0.01,
    "max_completion_length": 1024,
    "epsilon": 0.2,
    "save_steps": 50,
    "max_steps": ROWS,
}
UNPROVEN = "No cause is proven"


def scored(row: Row, value: float) -> None:
    row["reward"] = row["rewards/accuracy/mean"] = min(max(value, 0.0), 1.0)


def trained(
    folder: Path, change: Callable[[int, Row], None], rows: int = ROWS, end: str = "", **settings: Any
) -> dict[str, Any]:
    """What is reported of a TRL run that learns, with a fault in it. `end`: how its log ends."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SETTINGS | settings))
    chance, lines = random.Random(7), []
    for step in range(1, rows + 1):
        solved = 0.25 + 0.4 * (1 - math.exp(-step / 60))
        row: Row = {
            "step": step,
            "loss": chance.gauss(0, 0.01),
            "learning_rate": 1e-6,
            "grad_norm": abs(chance.gauss(0.4, 0.06)),
            "reward_std": chance.gauss(0.33, 0.02),
            "frac_reward_zero_std": abs(chance.gauss(0.2, 0.03)),
            "entropy": chance.gauss(0.55 - 0.0008 * step, 0.015),
            "kl": abs(chance.gauss(0.0003 * step, 0.001)),
            "completions/mean_length": chance.gauss(340, 12),
            "completions/max_length": 800,
            "completions/clipped_ratio": abs(chance.gauss(0.01, 0.004)),
            "clip_ratio/region_mean": abs(chance.gauss(0.004, 0.001)),
        }
        scored(row, chance.gauss(solved, 0.035))
        if step % 10 == 0:
            row["eval_reward"] = chance.gauss(solved - 0.02, 0.012)
        change(step, row)
        lines.append(json.dumps({key: value for key, value in row.items() if value is not None}))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    if end:
        (folder / "train.log").write_text(end)
    for step in range(50, rows + 1, 50):
        saved = folder / f"checkpoint-{step}"
        saved.mkdir()
        (saved / "trainer_state.json").write_text(json.dumps({"global_step": step}))
        (saved / "model.safetensors").write_bytes(b"x" * 2000)
    page, long, data = told(folder)
    return data | {"page": page, "long": long}


def faster(step: int, row: Row) -> None:
    """The learning rate leaps, which the config does not say, and breaks the policy."""
    if step >= 80:
        since = step - 80
        row["learning_rate"] = 2e-5
        row["grad_norm"] *= 1 + min(since, 25) / 2
        row["kl"] += 0.03 * since
        row["entropy"] += 0.02 * since
        scored(row, row["reward"] * math.exp(-since / 14))
        if "eval_reward" in row:
            row["eval_reward"] *= math.exp(-since / 14)


def paid_for_length(step: int, row: Row) -> None:
    row["completions/mean_length"] += 4 * step
    row["completions/clipped_ratio"] = max(0.0, (row["completions/mean_length"] - 600) / 900)
    task, bonus = 0.35 - 0.0018 * max(0, step - 50) + row["loss"], row["completions/mean_length"] / 1024
    row |= {"reward": task + bonus, "rewards/accuracy/mean": task, "rewards/length_bonus/mean": bonus}
    if "eval_reward" in row:
        row |= {"eval_reward": task + bonus, "eval_rewards/accuracy/mean": task}


def collapsed(step: int, row: Row, gone: int = 200) -> None:
    """Entropy is gone long before validation falls beside a reward that rises. `gone`: from when on it loses what it
    gained."""
    row["entropy"] *= 1 if step < 40 else max(0.02, math.exp(-(step - 40) / 12))
    if step > 60:
        up = min(step, gone) - 60 - min(gone - 65, 2 * max(0, step - gone))
        scored(row, 0.45 + 0.002 * up + row["loss"])
        if "eval_reward" in row:
            row["eval_reward"] = 0.43 - 0.001 * (step - 60) + row["loss"] / 2


def cut_off(step: int, row: Row) -> None:
    row["completions/clipped_ratio"] = 0.72
    row |= {"completions/mean_length": 238.0, "completions/max_length": 256}
    scored(row, 0.12 + row["loss"])
    if "eval_reward" in row:
        row["eval_reward"] = 0.12 + row["loss"]


def never_ends(step: int, row: Row) -> None:
    """Answers that end are short, all others run into the limit; entropy is not logged."""
    del row["entropy"]
    row |= {
        "completions/clipped_ratio": 0.98,
        "completions/mean_length": 1000.0,
        "completions/mean_terminated_length": 60.0,
        "completions/max_length": 1024,
    }
    scored(row, 0.05 + row["loss"] / 3)


def found(data: dict[str, Any], rule: str) -> dict[str, Any]:
    return next(one for one in data["findings"] if one["id"] == rule)


def supported(finding: dict[str, Any]) -> list[str]:
    return [one["text"] for one in finding["causes"] if one["status"] == "supported"]


def texts(finding: dict[str, Any]) -> list[str]:
    return [one["text"] for one in finding["fixes"]]


def test_titles_with_a_comma_are_quoted_in_a_list(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", paid_for_length, reward_funcs=["accuracy", "length_bonus"])
    also = run["verdict"]["text"].split("Also open: ")[1]
    assert "“train reward up, validation not”" in also


def test_without_a_proven_cause_the_first_thing_is_to_find_one(tmp_path: Path) -> None:
    drift = learning() | {"kl": [0.001 + max(0, step - 40) * 0.02 for step in range(120)]}
    finding = found(told(write(tmp_path / "run", drift))[2], "kl-runaway")
    assert not supported(finding)
    assert texts(finding)[0].startswith("Look first at ")
    assert [text for text in texts(finding) if text.endswith(UNPROVEN)] == texts(finding)[:1]
    assert len(finding["fixes"]) <= 3


@pytest.mark.parametrize("change", [faster, paid_for_length, cut_off, never_ends])
def test_a_proven_cause_needs_no_search(change: Callable[[int, Row], None], tmp_path: Path) -> None:
    for finding in trained(tmp_path / "run", change)["findings"]:
        if supported(finding):
            assert not any(UNPROVEN in text for text in texts(finding)), finding["id"]


def test_what_a_log_names_is_proven(tmp_path: Path) -> None:
    end = "Traceback (most recent call last):\n  _save_checkpoint\nOSError: [Errno 28] No space left on device\n"
    run = trained(tmp_path / "run", lambda step, row: None, rows=100, end=end)
    assert not any(UNPROVEN in text for text in texts(found(run, "run-crashed")))


def test_a_checkpoint_that_was_being_saved_is_to_be_checked(tmp_path: Path) -> None:
    end = (
        "Traceback (most recent call last):\n"
        '  File "/opt/transformers/trainer.py", line 3400, in _save_checkpoint\n'
        "    self._save_optimizer_and_scheduler(output_dir)\n"
        "OSError: [Errno 28] No space left on device\n"
    )
    run = trained(tmp_path / "run", lambda step, row: None, rows=100, end=end)
    assert run["answer"]["keep"].startswith("the checkpoint of step 100 ")
    assert run["answer"]["keep"].endswith("check that it loads.")


def test_to_find_what_changed_a_setting_is_said_once(tmp_path: Path) -> None:
    told_of = texts(found(trained(tmp_path / "run", faster), "cfg-lr-too-high"))
    assert told_of[0].startswith("Find what makes the learning rate 2e-5")
    assert not any("logged learning rate" in text or "warm-up" in text for text in told_of)


def test_a_step_between_two_saves_was_not_deleted(tmp_path: Path) -> None:
    def steep(step: int, row: Row) -> None:
        solved = 0.2 + 0.007 * min(step, 80) - 0.006 * max(0, step - 80)
        scored(row, solved + row["loss"])
        if "eval_reward" in row:
            row["eval_reward"] = solved + row["loss"] / 3

    finding = found(trained(tmp_path / "run", steep), "best-checkpoint-unavailable")
    assert supported(finding) == ["It was never saved: saves and validation come at different steps"]
    assert "save_steps = 50" in finding["causes"][0]["because"]
    rotated = next(one for one in finding["causes"] if one["text"].startswith("Rotation"))
    assert rotated["status"] == "contradicted"


def test_nothing_is_lost_if_no_step_beats_the_start(tmp_path: Path) -> None:
    def declines(step: int, row: Row) -> None:
        cut_off(step, row)
        if "eval_reward" in row:
            row["eval_reward"] = 0.1 + 0.06 * math.exp(-step / 30) + row["loss"] / 5

    run = trained(tmp_path / "run", declines, max_completion_length=256)
    assert not any(one["id"] == "best-checkpoint-unavailable" for one in run["findings"])
    assert run["answer"]["keep"].startswith("nothing saved beats the start")


def test_no_slope_of_0_beside_means(tmp_path: Path) -> None:
    def dead(step: int, row: Row) -> None:
        scored(row, 0.0)
        row |= {"grad_norm": 0.0 if step > 20 else row["grad_norm"], "frac_reward_zero_std": 1.0, "reward_std": 0.0}

    run = trained(tmp_path / "run", dead)
    for page in (run["page"], run["long"]):
        assert "No learning signal" in page
        assert " 0.000 per 100 steps" not in page


def test_what_is_far_from_the_reference_is_not_called_close() -> None:
    for row in table():
        assert "high" not in row.kl or "close to" not in row.reading, row.id
        assert "high" not in row.kl or "efficient" not in row.reading, row.id


def test_a_cut_leaves_no_bracket_open() -> None:
    text = "reference takes 57 % of the step, as from the start (usual in training that waits: up to 30 %)"
    for words in range(5, 20):
        short = _whole(text, words)
        assert short.count("(") == short.count(")"), short


def test_a_cause_that_says_less_is_left_out_beside_one_that_says_which(tmp_path: Path) -> None:
    finding = found(trained(tmp_path / "run", never_ends), "truncation-high")
    assert finding["causes"][0]["text"].startswith("Responses never end")
    assert not any("nothing that is logged tells which" in one["text"] for one in finding["causes"])
    assert not any("entropy" in text for text in texts(finding))  # which is not logged


def test_the_key_that_is_named_first_is_the_one_to_change() -> None:
    assert dialect("trl").levers["clip_range_upper"].split(", ")[0] == "epsilon_high"


def test_a_level_reward_is_not_said_to_have_risen(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", lambda step, row: collapsed(step, row, gone=110))
    summary = found(run, "train-val-divergence")["summary"]
    assert "Train reward kept its level, " in summary, summary


def test_what_shows_long_after_does_not_lead(tmp_path: Path) -> None:
    finding = found(trained(tmp_path / "run", collapsed), "entropy-collapse")
    assert not finding["causes"][0]["text"].startswith("One pattern pays more")


def test_a_switch_that_is_off_by_default_proves_nothing_without_a_kl(tmp_path: Path) -> None:
    columns = learning() | {"val": [0.6 - 0.003 * max(0, step - 40) for step in range(120)]}
    del columns["kl"], columns["ppo_kl"]
    config = {**CONFIG, "actor_rollout_ref.actor.use_kl_loss": False, "actor_rollout_ref.actor.kl_loss_coef": 0.001}
    folder = write(tmp_path / "run", columns, every={"val": 5})
    (folder / "config.json").write_text(json.dumps(config))
    finding = found(told(folder)[2], "val-regression")
    assert not any("path that would use it is switched off" in text for text in supported(finding))


def test_a_gradient_that_is_often_0_changes_weights_all_the_same(tmp_path: Path) -> None:
    def seldom(step: int, row: Row) -> None:
        scored(row, 0.3 + row["loss"])
        row["grad_norm"] *= step % 5 == 0
        row.pop("eval_reward", None)

    finding = found(trained(tmp_path / "run", seldom), "reward-flat-from-start")
    assert not any("Weights do not change" in text for text in supported(finding))


def test_what_is_over_is_told_in_sentences(tmp_path: Path) -> None:
    def down(step: int, row: Row) -> None:
        if 90 <= step < 110:
            scored(row, 0.0)
            row |= {"reward_std": 0.0, "frac_reward_zero_std": 1.0, "grad_norm": 0.0, "loss": 0.0}

    why = trained(tmp_path / "run", down)["answer"]["why"]
    assert why.startswith("“Reward function at fault” is over. Its cause: ")


def test_a_crash_before_the_first_row_is_told_in_one_clause(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SETTINGS))
    end = "Traceback (most recent call last):\n  load\nOSError: [Errno 28] No space left on device\n"
    (folder / "train.log").write_text(end)
    run = told(folder)[2]
    assert "the start, with 150 steps planned" in run["verdict"]["text"]


def test_what_to_look_at_can_be_read_alone() -> None:
    looks = {cause.look for rule in rules().values() for cause in rule.causes if cause.look}
    assert looks
    assert not [look for look in looks if "that part" in look or " its end" in look]


def test_the_reward_is_not_blamed_for_length_if_it_fell(tmp_path: Path) -> None:
    def longer(step: int, row: Row) -> None:
        never_ends(step, row)
        row["completions/mean_length"] = min(1000.0, 300.0 + 10 * step)
        row["completions/clipped_ratio"] = min(0.98, 0.3 + step / 100)
        scored(row, 0.3 - 0.0019 * step + row["loss"] / 9)

    finding = found(trained(tmp_path / "run", longer, loss_type="grpo"), "truncation-high")
    assert not any("pays for length" in text for text in texts(finding))


def test_a_step_within_the_noise_of_the_start_is_not_called_worse(tmp_path: Path) -> None:
    def level(step: int, row: Row) -> None:
        scored(row, 0.3 + row["loss"])
        if "eval_reward" in row:
            row["eval_reward"] = 0.33 if step == 10 else 0.3 + row["loss"]

    keep = trained(tmp_path / "run", level)["answer"]["keep"]
    assert "not distinguishable from the start" in keep, keep


@pytest.mark.parametrize(("before", "origin"), [(0, "the model that training began with"), (100, "at step 101")])
def test_a_log_that_goes_on_began_from_a_checkpoint(before: int, origin: str, tmp_path: Path) -> None:
    def falls(step: int, row: Row) -> None:
        row["step"] = step + before
        scored(row, max(0.02, 0.5 - 0.01 * step) + 0.02 * math.sin(step))
        row.pop("eval_reward", None)

    report = trained(tmp_path / "run", falls, max_steps=ROWS + before)
    again = [fix["text"] for one in report["findings"] for fix in one["fixes"] if "Start again from" in fix["text"]]
    assert again
    assert all(origin in text for text in again)
