"""Something was changed at one step of a home-made loop: which step, and what it was, as far as the metrics tell."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.draws import some
from tests.unit.reported import told

Row = dict[str, Any]
ROWS, AT = 240, 130
CONFIG = {"algorithm": "grpo", "learning_rate": 2e-5, "kl_coef": 0.02, "group_size": 8, "total_steps": ROWS}


def learnt(n: int, draw: random.Random) -> Row:
    """A row of a run that learns, by names of its own."""

    def near(level: float) -> float:
        return level * (1 + draw.gauss(0, 0.04))

    row = {"step": n, "reward/mean": 0.55 + 0.35 * n / ROWS + draw.gauss(0, 0.01), "reward/std": near(0.4)}
    row |= {"actor/kl": near(0.0004 * n), "actor/entropy": near(0.5 - 0.001 * n), "actor/grad_norm": near(0.22)}
    row |= {"actor/clip_frac": near(0.001), "response_length/mean": near(8 + n / 60), "actor/lr": 2e-5}
    return row | {"gap/logprob_diff": 0.0}


def run(folder: Path, seed: int = 1, **changed: float) -> Row:
    """The report of a run some of whose metrics are so many times what they were from one step on."""
    draw, rows = random.Random(seed), []
    for n in range(1, ROWS + 1):
        row = learnt(n, draw)
        if n >= AT:
            row = {key: v * changed.get(key.replace("/", "_"), 1.0) if key != "step" else v for key, v in row.items()}
        rows.append(row)
    return report(folder, rows)[2]


def report(folder: Path, rows: list[Row], config: Row | None = CONFIG) -> tuple[str, str, Row]:
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return told(folder)


def found(told: Row, rule: str) -> Row | None:
    return next((f for f in told["findings"] if f["id"] == rule), None)


def test_a_run_that_only_learns_has_no_such_step(tmp_path: Path) -> None:
    assert found(run(tmp_path), "sudden-change") is None


@pytest.mark.parametrize("seed", some(range(3)))
def test_another_mask_in_the_loss_is_dated_and_named(seed: int, tmp_path: Path) -> None:
    """As in a training whose loss counted padding from one step on: reward and validation hardly showed it."""
    page = run(tmp_path, seed, actor_kl=9.0, actor_grad_norm=6.0, actor_clip_frac=20.0, actor_entropy=1.3)
    change = found(page, "sudden-change")
    assert change is not None
    assert (change["severity"], change["onset_step"]) == ("warning", AT)
    assert change["causes"][0]["text"].startswith("The loss changed")
    assert change["causes"][0]["status"] == "supported"
    assert page["verdict"]["decision"] != "continue"


def test_weights_that_are_those_of_the_reference_again(tmp_path: Path) -> None:
    draw, again = random.Random(2), random.Random(3)
    rows = [learnt(n, draw) for n in range(1, AT)]
    rows += [{**learnt(n - AT + 1, again), "step": n} for n in range(AT, AT + 60)]
    causes = [f["causes"][0] for f in report(tmp_path, rows)[2]["findings"] if f["id"] == "sudden-change"]
    assert causes
    assert "weights of its reference again" in causes[0]["text"]
    assert causes[0]["status"] == "supported"


@pytest.mark.parametrize(
    "changed",
    [
        {"actor_grad_norm": 6.0},
        {"response_length_mean": 1.6, "actor_entropy": 0.7},
        {"actor_kl": 1.1, "actor_grad_norm": 1.1, "actor_entropy": 1.1},
    ],
    ids=["one metric", "two kinds", "hardly"],
)
def test_less_than_three_kinds_of_metrics_or_hardly_is_no_such_step(changed: dict[str, float], tmp_path: Path) -> None:
    assert found(run(tmp_path, **changed), "sudden-change") is None


def test_three_metrics_that_change_one_after_another_are_no_such_step(tmp_path: Path) -> None:
    draw, rows = random.Random(5), []
    for n in range(1, ROWS + 1):
        row = learnt(n, draw)
        for at, key, times in ((100, "actor/kl", 4.0), (130, "actor/grad_norm", 4.0), (160, "actor/entropy", 1.6)):
            row[key] *= times if n >= at else 1.0
        rows.append(row)
    assert found(report(tmp_path, rows)[2], "sudden-change") is None


def test_a_change_for_the_better_is_a_note(tmp_path: Path) -> None:
    page = run(tmp_path, reward_mean=1.4, actor_entropy=0.6, response_length_mean=0.5)
    change = found(page, "sudden-change")
    assert change is not None
    assert change["severity"] == "info"


def test_a_change_that_is_taken_back_is_over(tmp_path: Path) -> None:
    draw, rows = random.Random(6), []
    for n in range(1, ROWS + 1):
        row = learnt(n, draw)
        for key in ("actor/kl", "actor/grad_norm", "actor/clip_frac"):
            row[key] *= 6.0 if AT <= n < AT + 50 else 1.0
        rows.append(row)
    change = found(report(tmp_path, rows)[2], "sudden-change")
    assert change is not None
    assert (change["status"], change["onset_step"]) == ("resolved", AT)


@pytest.mark.parametrize("grows", [True, False])
def test_a_gap_of_zero_that_opens(grows: bool, tmp_path: Path) -> None:
    """The sampler keeps the weights of one step: until then both sides agreed to the last digit."""
    draw, rows = random.Random(7), []
    for n in range(1, ROWS + 1):
        row = learnt(min(n, AT), draw) | {"step": n}
        apart = 0.001 * (n - AT + 1) if grows else 0.004
        row["rollout_train_logprob_diff"] = apart * (1 + draw.gauss(0, 0.05)) if n >= AT else 0.0
        rows.append(row)
    text, _, page = report(tmp_path, rows)
    gap = found(page, "mismatch-growing")
    assert gap is not None
    assert gap["onset_step"] == AT
    assert gap["severity"] == ("critical" if grows else "info")
    if grows:
        assert page["verdict"]["decision"] == "pause-and-fix"
        assert gap["causes"][0]["text"].startswith("New weights no longer reach the sampler")
        assert f"agreed to the last digit until step {AT}" in text


def test_a_rate_that_is_not_the_one_that_is_set(tmp_path: Path) -> None:
    draw = random.Random(8)
    rows = [learnt(n, draw) | {"actor/lr": 6e-4} for n in range(1, ROWS + 1)]
    rate = found(report(tmp_path, rows)[2], "cfg-lr-too-high")
    assert rate is not None
    assert (rate["severity"], rate["onset_step"]) == ("warning", 1)
    assert "30 times the 2e-5 that is set" in rate["summary"]
    assert rate["causes"][0]["text"] == "The learning rate in use is not the one that was set"
    assert rate["causes"][0]["status"] == "supported"


@pytest.mark.parametrize("schedule", ["warm-up", "decay", "rounded"])
def test_a_schedule_below_the_rate_that_is_set_is_the_one_that_is_set(schedule: str, tmp_path: Path) -> None:
    def rate(n: int) -> float:
        return {"warm-up": 2e-5 * min(1.0, n / 30), "decay": 2e-5 * (1 - n / 300), "rounded": 3e-5}[schedule]

    draw = random.Random(9)
    rows = [learnt(n, draw) | {"actor/lr": rate(n)} for n in range(1, ROWS + 1)]
    page = report(tmp_path, rows)[2]
    assert not any("that is set" in f["summary"] for f in page["findings"])


def test_no_cause_is_about_what_this_training_has_not(tmp_path: Path) -> None:
    """GRPO has no critic, and nothing speaks of several turns: neither may lead, or stay open."""
    draw, rows = random.Random(10), []
    for n in range(1, ROWS + 1):
        row = learnt(n, draw)
        if n in (150, 170, 190, 205, 215, 225, 235):
            row["actor/grad_norm"] *= 60.0
            row["actor/kl"] *= 60.0
        rows.append(row)
    page = report(tmp_path, rows)[2]
    causes = [cause for f in page["findings"] for cause in f["causes"]]
    assert causes
    for cause in causes:
        if "critic" in cause["text"].lower() or "multi-turn" in cause["text"].lower():
            assert cause["status"] == "contradicted", cause


def test_names_that_a_framework_also_has_do_not_make_it_the_framework(tmp_path: Path) -> None:
    draw = random.Random(11)
    text, _, page = report(tmp_path, [learnt(n, draw) for n in range(1, 60)])
    assert "Framework: not recognised" in text
    assert page["run"]["framework"] is None


def test_a_bonus_that_is_learnt_within_a_few_rows_is_dated_by_its_leap(tmp_path: Path) -> None:
    """At a high learning rate the policy follows the new reward within four rows: its first row is of the old one."""
    draw, rows = random.Random(12), []
    for n in range(1, ROWS + 1):
        row, since = learnt(n, draw), max(0, n - AT + 1)
        if since:
            row["reward/mean"] += 0.9 + 0.05 * min(since, 40)
            for key, by in (("response_length/mean", 0.04), ("actor/kl", 0.12), ("actor/entropy", -0.02)):
                row[key] *= 1 + by * min(since - 1, 40)
        rows.append(row)
    leap = found(report(tmp_path, rows)[2], "reward-scale-shift")
    assert leap is not None
    assert leap["onset_step"] == AT
    assert "at once at step 130, beyond all values before" in leap["summary"]


@pytest.mark.parametrize("told", [True, False], ids=["with a config", "without one"])
def test_a_rate_that_rises_on_the_way(told: bool, tmp_path: Path) -> None:
    """Without a config nobody knows what was set: it is said that something raised it, and in one format."""
    draw = random.Random(9)
    rows = [learnt(n, draw) | {"actor/lr": 1e-6 if n < AT else 3e-5} for n in range(1, ROWS + 1)]
    text, _, page = report(tmp_path, rows, CONFIG if told else None)
    rate = found(page, "cfg-lr-too-high")
    assert rate is not None
    assert ("is not the one that was set" in rate["causes"][0]["text"]) == told
    assert ("Something raised the learning rate" in rate["causes"][0]["text"]) == (not told)
    assert "1e-6 to 3e-5" in text
    assert "0.00003" not in text
