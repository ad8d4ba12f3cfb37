"""One number for one fact: the same in JSON, Markdown, header and decision screen, on runs that are written here."""

from __future__ import annotations

import json
import math
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.plots.numbers import duration
from rltui.tui.app import RltuiApp
from tests.moments import age_of, judged_after
from tests.unit.tui.conftest import SampleOpener, is_read, screen_text, wait_for

Row = dict[str, float]


def write(folder: Path, rows: list[Row], total: int, last_at: float | None = None, step_s: float = 10.0) -> Path:
    """A run with a log of JSON rows, `step_s` apart, and a config that plans `total` steps."""
    folder.mkdir()
    end = time.time() if last_at is None else last_at
    lines = [
        json.dumps({"step": i + 1, "timestamp": end - step_s * (len(rows) - 1 - i), **row})
        for i, row in enumerate(rows)
    ]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "config.json").write_text(json.dumps({"max_steps": total, "loss_type": "grpo", "num_generations": 8}))
    return folder


def run_json(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert main(["report", str(path), "--format", "json", *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def run_markdown(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["report", str(path), "--long"]) == 0
    return capsys.readouterr().out


def sentences(report: dict[str, Any]) -> Iterator[str]:
    yield report["verdict"]["text"]
    for finding in report["findings"]:
        if finding["status"] == "active":
            yield finding["summary"]
            yield from (one["text"] for one in finding["evidence"])


def base_row(i: int, n: int, chance: random.Random) -> Row:
    t = i / n
    return {
        "reward": 0.2 + 0.5 * t + chance.gauss(0, 0.02),
        "entropy": 0.9 - 0.3 * t,
        "kl": 0.02 + 0.05 * t,
        "grad_norm": 0.4 + chance.gauss(0, 0.02),
        "response_length": 300 + chance.gauss(0, 5),
        "loss": 0.01 + chance.gauss(0, 0.002),
        "lr": 1e-6,
        "frac_reward_zero_std": 0.2,
    }


async def shown(path: Path) -> tuple[str, str]:
    """Main and decision screen."""
    app = RltuiApp(SampleOpener(path), target="here", clock=time.time)
    async with app.run_test(size=(160, 50)) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.pause()
        head = screen_text(app)
        await pilot.press("D")
        await wait_for(pilot, lambda: "WHAT MUST HOLD" in screen_text(app), "the decision")
        return head, screen_text(app)


async def test_time_left_is_one_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trainer times only its own part of a step: rows come three times as slowly as its timer says (V6)."""
    chance = random.Random(1)
    rows = [base_row(i, 120, chance) | {"step_time": 10.0 + chance.random()} for i in range(120)]
    path = write(tmp_path / "slow", rows, 4000, step_s=30.0)
    report = run_json(path, capsys)
    assert report["run"]["state"] == "running"
    eta = report["run"]["eta_s"]
    assert eta == pytest.approx(30.0 * 3880, rel=0.01)
    assert [f["at"] for f in report["outlook"]["forecasts"] if f["what"] == "end"] == [eta]
    assert report["facts"]["pace"]["left_s"] == eta
    words = duration(eta)
    page = run_markdown(path, capsys)
    assert f"Time left: {words}" in page
    assert f"3880 steps left, {words} (±" in page
    head, decision = await shown(path)
    assert f"ETA {words}" in head
    assert f"3880 steps left, {words} (±" in decision


def test_a_run_that_is_over_has_no_time_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(2)
    path = write(tmp_path / "ended", [base_row(i, 120, chance) for i in range(120)], 4000, time.time() - 86400)
    (path / "train.log").write_text("Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory.\n")
    report = run_json(path, capsys)
    if report["run"]["state"] not in ("finished", "crashed"):
        pytest.fail(f"the run is {report['run']['state']}")
    assert report["run"]["eta_s"] is None
    assert report["outlook"]["forecasts"] == []


@pytest.mark.parametrize("container", ["one group a row", "two groups a row"])
def test_the_share_of_dead_groups_is_one_number(
    container: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a batch of one or two groups the median share is 0, 1/2 or 1; every sentence tells the mean (V6)."""
    chance, rows = random.Random(3), []
    for i in range(150):
        groups = 1 if container.startswith("one") else 2
        dead = sum(chance.random() < 0.8 for _ in range(groups)) / groups
        row = base_row(i, 150, chance) | {"frac_reward_zero_std": dead, "reward": 0.5 + chance.gauss(0, 0.02)}
        rows.append(
            row | {"entropy": 0.9 * math.exp(-5 * i / 150), "grad_norm": 0.0 if chance.random() < 0.97 else 0.3}
        )
    report = run_json(write(tmp_path / "dead", rows, 400), capsys)
    mean = sum(row["frac_reward_zero_std"] for row in rows[-15:]) / 15  # a tenth of the run
    assert report["facts"]["dead_groups"]["value"] == pytest.approx(mean)
    told = [
        share
        for text in sentences(report)
        for share in re.findall(r"(\d+) % of the groups(?: of the last 20 rows)? (?:have no|without|agree)", text)
    ]
    assert len(told) >= 2
    assert set(told) == {f"{100 * mean:.0f}"}


def test_a_reward_above_its_start_did_not_fall(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Up from .2 to .8, down to .5, entropy gone wild meanwhile: nowhere "the reward fell" as if it were below its
    start; where it stands against start and best is told with its numbers (V6)."""
    chance, rows = random.Random(4), []
    for i in range(200):
        t = i / 200
        reward = 0.2 + 1.2 * min(t, 0.5) - 0.6 * max(0.0, t - 0.5)
        entropy = 0.5 + 6.0 * max(0.0, t - 0.6)
        rows.append(base_row(i, 200, chance) | {"reward": reward + chance.gauss(0, 0.02), "entropy": entropy})
    report = run_json(write(tmp_path / "peak", rows, 400), capsys)
    course = report["facts"]["score"]
    assert course["since_start"]["direction"] == 1
    assert course["since_peak"]["direction"] == -1
    told = " ".join(sentences(report))
    assert not re.search(r"(?<!in which the )\breward fell[.,;]", told, re.I)
    [risen] = [f for f in report["findings"] if f["id"] == "entropy-explosion"]
    assert re.search(
        r"Reward rose 0\.\d+ → 0\.\d+, lately 0\.\d+, below its best of 0\.\d+ at step \d+", risen["summary"]
    )


def test_a_reward_with_a_penalty_is_not_called_by_the_score_s_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The score rises, the reward with the KL penalty taken off falls: a number called reward is the reward's (V7)."""
    path, chance = tmp_path / "penalty", random.Random(5)
    path.mkdir()
    lines = []
    for i in range(160):
        score, penalty = 0.19 + 0.1 * i / 160 + chance.gauss(0, 0.02), 0.45 * i / 160
        cells = {
            "critic/score/mean": score,
            "critic/rewards/mean": score - penalty,
            "actor/entropy": 0.8 - 0.1 * i / 160,
            "actor/grad_norm": 0.3 + chance.gauss(0, 0.02),
            "actor/pg_loss": 0.01,
            "response_length/mean": 300 + chance.gauss(0, 5),
            "response_length/clip_ratio": 0.01,
            "actor/lr": 1e-6,
        }
        lines.append(f"step:{i + 1} - " + " - ".join(f"{key}:{value:.5f}" for key, value in cells.items()))
    (path / "train.log").write_text("\n".join(lines) + "\n")
    report = run_json(path, capsys)
    facts, table = report["facts"], report["metrics"]
    assert (facts["score"]["metric"], facts["reward"]["metric"]) == ("score_mean", "reward_mean")
    assert (facts["score"]["since_start"]["direction"], facts["reward"]["since_start"]["direction"]) == (1, -1)
    assert facts["reward"]["first"] == pytest.approx(table["reward_mean"]["first"])
    assert facts["score"]["last"] == pytest.approx(table["score_mean"]["last"])
    for text in sentences(report):
        for first, last in re.findall(r"[Rr]eward(?: rose| fell)? (-?[\d.]+) → (-?[\d.]+)", text):
            assert float(first) == pytest.approx(table["reward_mean"]["first"], abs=0.01), text
            assert float(last) == pytest.approx(table["reward_mean"]["last"], abs=0.01), text


def test_a_page_of_a_quiet_run_names_score_and_reward(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With nothing to complain of the verdict gives both courses, each under its name (V7)."""
    path, chance = tmp_path / "quiet", random.Random(6)
    path.mkdir()
    lines = []
    for i in range(120):
        score = 0.2 + 0.4 * i / 120 + chance.gauss(0, 0.02)
        cells = {"critic/score/mean": score, "critic/rewards/mean": score - 0.05, "actor/grad_norm": 0.3}
        cells |= {"actor/entropy": 0.8, "actor/kl_loss": 0.01 + 0.02 * i / 120, "response_length/mean": 300 + i % 7}
        cells["actor/grad_norm"] += chance.gauss(0, 0.02)
        cells["actor/entropy"] += chance.gauss(0, 0.01)
        lines.append(f"step:{i + 1} - " + " - ".join(f"{key}:{value:.5f}" for key, value in cells.items()))
    (path / "train.log").write_text("\n".join(lines) + "\n")
    report = run_json(path, capsys)
    score, reward = report["facts"]["score"], report["facts"]["reward"]
    assert report["verdict"]["because"] == [], report["verdict"]["text"]
    assert f"Score rose {score['first']:.3g} → {score['last']:.3g}" in report["verdict"]["text"]
    assert f"Reward rose {reward['first']:.3g} → {reward['last']:.3g}" in report["verdict"]["text"]


def test_the_best_step_of_a_sentence_is_that_of_the_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By train reward alone, without checkpoints: the sentence about the fall and the card name one step and value."""
    chance, rows = random.Random(7), []
    for i in range(300):
        reward = 0.2 + 0.6 * math.sin(math.pi * min(1.0, i / 240)) + chance.gauss(0, 0.02)
        rows.append(base_row(i, 300, chance) | {"reward": reward})
    report = run_json(write(tmp_path / "best", rows, 600), capsys)
    best = report["verdict"]["best_checkpoint"]
    peak = report["facts"]["score"]["peak"]
    assert (best["step"], best["value"]) == (peak["step"], peak["value"])
    named = re.compile(r"best(?: of [\d.]+)? (?:around|at) step (\d+)")
    told = {step for text in sentences(report) for step in named.findall(text)}
    assert told == {str(best["step"])}, list(sentences(report))


SAMPLE = 16


@pytest.mark.whole
def test_labelled_runs_agree_with_themselves(runs_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Facts, tables, forecasts and page of runs of others: one number each."""
    runs = sorted((runs_dir / "zoo").iterdir())[::SAMPLE]
    assert runs
    for path in runs:
        with judged_after(path, age_of(path.name)):
            report = run_json(path, capsys)
        facts, table = report["facts"], report["metrics"]
        if facts is None:
            continue
        for name in ("score", "reward"):
            course = facts[name]
            if course is not None and course["metric"] in table and table[course["metric"]]["key"] == course["key"]:
                row = table[course["metric"]]
                assert (course["first"], course["last"]) == pytest.approx((row["first"], row["last"])), path
        ends = [f["at"] for f in report["outlook"]["forecasts"] if f["what"] == "end"]
        assert all(end == facts["pace"]["left_s"] for end in ends), path
        dead = {
            s
            for t in sentences(report)
            for s in re.findall(r"(\d+) % of the groups(?: of the last 20 rows)? (?:have no|without|agree)", t)
        }
        assert dead <= {f"{100 * facts['dead_groups']['value']:.0f}"} if facts["dead_groups"] else not dead, path


def test_a_rising_reward_did_not_fall_because_validation_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers shrink and validation falls while the reward rises: no sentence says that the reward fell (V6)."""
    chance, rows = random.Random(8), []
    for i in range(160):
        row = base_row(i, 160, chance) | {"response_length": 300 * math.exp(-2.0 * i / 160) + chance.gauss(0, 3)}
        if i % 10 == 9:
            row["val_score"] = 0.6 - 0.3 * i / 160 + chance.gauss(0, 0.005)
        rows.append(row)
    report = run_json(write(tmp_path / "short", rows, 400), capsys)
    assert report["facts"]["score"]["since_start"]["direction"] == 1
    assert report["facts"]["validation"]["since_peak"]["direction"] == -1
    [shrunk] = [f for f in report["findings"] if f["id"] == "length-collapse"]
    assert "Reward rose 0." in shrunk["summary"]
    assert "reward fell" not in " ".join(sentences(report)).lower()
