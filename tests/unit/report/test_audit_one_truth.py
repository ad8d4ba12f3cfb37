"""What the first release said of one run in two places, each of which contradicted the other. Each test writes a run,
asks the command line and needs nothing else of rltui, so that it can be tried on the first release, where it fails."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main

ROWS = 300
T = np.arange(ROWS) / ROWS
Column = Sequence[float] | np.ndarray
Told = Callable[..., Any]

VERL = {
    "score": "critic/score/mean",
    "score_min": "critic/score/min",
    "score_max": "critic/score/max",
    "kl": "actor/kl_loss",
    "entropy": "actor/entropy",
    "loss": "actor/pg_loss",
    "grad": "actor/grad_norm",
    "length": "response_length/mean",
    "cut": "response_length/clip_ratio",
    "lr": "actor/lr",
}


def noise(size: float, seed: int) -> np.ndarray:
    return size * np.random.default_rng(seed).standard_normal(ROWS)


def learning(**other: Column) -> dict[str, Column]:
    """A run that learns, but for what is given."""
    healthy: dict[str, Column] = {
        "score": 0.2 + 0.5 * (1 - np.exp(-3 * T)) + noise(0.015, 1),
        "kl": 0.001 + 0.029 * T,
        "entropy": 1.0 - 0.3 * T + noise(0.01, 2),
        "loss": noise(0.01, 3),
        "grad": 0.5 + noise(0.05, 4),
        "length": 300 + noise(5, 5),
        "cut": np.abs(0.01 + noise(0.002, 6)),
    }
    return healthy | other


def rows_of(columns: dict[str, Column]) -> list[dict[str, float]]:
    return [
        {"step": i + 1} | {VERL.get(name, name): float(column[i]) for name, column in columns.items()}
        for i in range(ROWS)
    ]


def written(folder: Path, rows: Sequence[dict[str, float]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    def ask(*words: str | Path) -> Any:
        capsys.readouterr()
        assert main([*map(str, words), "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    return ask


def by_id(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["id"]: finding for finding in report["findings"] if finding["status"] == "active"}


def stages(report: dict[str, Any]) -> dict[str, str]:
    return {stage["stage"]: stage["status"] for stage in report["pipeline"]}


# -- V1: several readers of one run --


def steps_of_verl(steps: range) -> list[str]:
    timers = " - ".join(f"timing_s/part_{k}:1.0" for k in range(12))
    return [f"step:{s} - critic/score/mean:{0.2 + s / 4000:.4f} - actor/grad_norm:0.4 - {timers}\n" for s in steps]


def test_the_list_of_runs_names_no_plan_that_a_later_launch_replaced(tmp_path: Path, told: Told) -> None:
    first = ["Total training steps: 500\n", *steps_of_verl(range(1, 501))]
    later = ["Total training steps: 3000\n", *steps_of_verl(range(501, 1501))]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "train.log").write_text("".join(first + later))
    report = told("report", tmp_path / "run")
    (row,) = told("runs", tmp_path)["runs"]
    assert report["run"]["steps"] | {"last": 1500, "total": 3000} == report["run"]["steps"]
    assert row["total_steps"] in (None, 3000)
    assert row["state"] in (None, "unknown", report["run"]["state"])


def test_the_list_of_runs_counts_the_steps_of_all_epochs_or_none(tmp_path: Path, told: Told) -> None:
    rows = [
        {"epoch": i // 500, "step": i % 500 + 1, "reward": 0.2 + i / 4000, "loss": 0.01, "grad_norm": 0.4}
        for i in range(1500)
    ]
    report = told("report", written(tmp_path / "run", rows))
    (row,) = told("runs", tmp_path)["runs"]
    assert report["run"]["steps"]["last"] == 1500
    assert row["last_step"] in (None, 1500)


def test_a_folder_of_runs_lists_each_that_can_be_opened(tmp_path: Path, told: Told) -> None:
    """Also one whose rows hold a long text, as a dump of samples does."""
    prompt = {"prompt": "What is 17 + 25? Think step by step. " * 12}
    rows = [{"step": i + 1, "reward": 0.2 + i / 900, "loss": 0.01} for i in range(100)]
    written(tmp_path / "with-text", [row | prompt for row in rows])  # type: ignore[list-item]
    written(tmp_path / "plain", rows)
    assert told("report", tmp_path / "with-text")["run"]["steps"]["last"] == 100
    assert {row["id"] for row in told("runs", tmp_path)["runs"]} == {"plain", "with-text"}


# -- V2: what nobody looked at is not ok; what is over makes no run ugly --


def test_a_run_to_be_stopped_is_not_listed_as_ok(tmp_path: Path, told: Told) -> None:
    run = written(tmp_path / "run", rows_of(learning(score=0.2 + 0.6 * np.sin(np.pi * T) + noise(0.02, 7))))
    assert told("report", run)["verdict"]["decision"] == "stop-use-best"
    assert told("runs", tmp_path)["runs"][0]["health"] != "ok"


def test_what_is_over_gives_no_flag(tmp_path: Path, told: Told) -> None:
    columns = learning()
    columns["kl"] = np.where((T > 0.3) & (T < 0.4), 3.0, columns["kl"])
    bad, good = written(tmp_path / "bad", rows_of(columns)), written(tmp_path / "good", rows_of(learning()))
    over = [f for f in told("report", bad)["findings"] if f["status"] == "resolved" and f["peak_severity"] != "info"]
    assert over
    assert {run["group"] for run in told("compare", bad, good)["runs"]}.isdisjoint({"ugly"})
    assert not any(run["flags"] for run in told("compare", bad, good)["runs"])


# -- V3: one judge of invariants, stages and verdict --


def test_a_stage_says_what_its_findings_say(tmp_path: Path, told: Told) -> None:
    score = np.where(T < 0.5, 0.6, 0.05) + noise(0.02, 2)
    fallen = told("report", written(tmp_path / "run", rows_of(learning(score=score))))
    assert by_id(fallen)["reward-collapse"]["severity"] == "critical"
    assert by_id(fallen)["reward-collapse"]["stage"] == "reward"
    assert stages(fallen)["reward"] == "fail"


def test_a_broken_invariant_is_a_finding_of_its_own_stage(
    tmp_path: Path, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    """Minimum ≤ mean ≤ maximum belongs to the reward; entropy below 0 to the generation."""
    wrong = {
        "reward": learning(score_min=0.9 + 0 * T, score_max=1.0 + 0 * T),
        "generation": learning(entropy=-0.5 + noise(0.01, 8)),
    }
    for stage, columns in wrong.items():
        run = written(tmp_path / stage, rows_of(columns))
        report = told("report", run)
        main(["verify", "--metrics", str(run / "metrics.jsonl")])
        marked = re.findall(r"^ *(!!|\?) ", capsys.readouterr().out, re.M)
        assert marked, stage
        loud = [f for f in by_id(report).values() if f["severity"] != "info"]
        assert [f["stage"] for f in loud] == [stage]
        assert stages(report)[stage] == ("fail" if "!!" in marked else "warn")
        assert report["verdict"]["decision"] != "continue"


# -- V4: root before child, and no child louder than its root --


def too_large_steps() -> dict[str, Column]:
    late = np.maximum(0.0, T - 0.5)
    return learning(
        kl=np.where(T > 0.5, 0.03 * np.exp(12 * late), 0.03),
        grad=np.where(T > 0.5, 0.5 * np.exp(8 * late), 0.5),
        score=np.where(T > 0.6, 0.7 - 1.5 * (T - 0.6), 0.2 + 0.8 * T) + noise(0.02, 9),
        lr=np.full(ROWS, 5e-4),
    )


def nan_at_once() -> dict[str, Column]:
    late = T >= 2 / 3
    columns = learning()
    return columns | {
        "grad": np.where(late, np.nan, columns["grad"]),
        "loss": np.where(late, np.nan, columns["loss"]),
        "score": np.where(late, 0.0, columns["score"]),
    }


@pytest.mark.parametrize("course", [too_large_steps, nan_at_once])
def test_a_root_is_open_as_loud_and_as_old_as_what_it_caused(
    course: Callable[[], dict[str, Column]], tmp_path: Path, told: Told
) -> None:
    loudness = {"info": 0, "warning": 1, "critical": 2}
    found = by_id(told("report", written(tmp_path / "run", rows_of(course()))))
    children = [f for f in found.values() if f["root"]]
    assert children
    for child in children:
        root = found[child["root"]]
        assert root["severity"] != "info"
        assert loudness[root["severity"]] >= loudness[child["severity"]]
        assert root["onset_step"] <= child["onset_step"]


def test_a_task_that_is_solved_is_no_critical_fault(tmp_path: Path) -> None:
    solved = learning(
        score=np.minimum(0.99, 0.3 + 3 * T) + noise(0.004, 10), frac_reward_zero_std=np.minimum(0.95, 0.2 + 3 * T)
    )
    run = written(tmp_path / "run", rows_of(solved))
    assert main(["report", str(run), "--fail-on", "critical"]) == 0


# -- V5: badge and state --


def headline(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["report", str(run)]) == 0
    return "\n".join(capsys.readouterr().out.splitlines()[:8])


@pytest.mark.parametrize("sick", [False, True])
def test_nothing_of_a_run_that_is_over_goes_on(sick: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = learning(max_steps=np.full(ROWS, float(ROWS)))
    if sick:
        columns["kl"] = np.where(T > 0.7, 0.03 * np.exp(30 * (T - 0.7)), 0.03)
    top = headline(written(tmp_path / "run", rows_of(columns)), capsys)
    assert not re.search(r"CONTINUE|PAUSE|STOP|WATCH", top), top
    assert re.search("FIX · RERUN" if sick else "DONE", top), top


def test_no_checkpoint_is_recommended_that_was_never_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = written(tmp_path / "run", rows_of(learning(score=0.2 + 0.6 * np.sin(np.pi * T) + noise(0.02, 7))))
    top = headline(run, capsys)
    assert "STOP" in top
    assert not re.search(r"USE BEST|KEEP", top), top


# -- V6: one number for one fact --


def test_a_reward_above_its_start_is_nowhere_said_to_have_fallen(tmp_path: Path, told: Told) -> None:
    score = np.where(T < 0.5, 0.2 + 1.2 * T, 0.8 - 0.5 * (T - 0.5)) + noise(0.02, 11)
    length = np.where(T > 0.5, 300 - 400 * (T - 0.5), 300)
    report = told("report", written(tmp_path / "run", rows_of(learning(score=score, length=length))))
    for text in (report["verdict"]["text"], *(f["summary"] for f in by_id(report).values())):
        assert not re.search(r"\breward fell[.,;]|in which the reward fell", text), text


def test_the_time_left_is_one_number(tmp_path: Path, told: Told) -> None:
    """The trainer times a fifth of what passes from row to row."""
    now = time.time()
    rows = [
        row | {"timestamp": now - 60.0 * (ROWS - i), "total_steps": 4000.0, "timing_s/step": 12.0}
        for i, row in enumerate(rows_of(learning()), 1)
    ]
    report = told("report", written(tmp_path / "run", rows))
    (end,) = [one["at"] for one in report["outlook"]["forecasts"] if one["what"] == "end"]
    assert end == pytest.approx(60.0 * (4000 - ROWS), rel=0.02)
    assert report["run"]["eta_s"] == end


def test_the_share_of_dead_groups_is_told_as_one_number(tmp_path: Path, told: Told) -> None:
    """Of one group a row the median is 0 or 1, the mean neither."""
    chance = random.Random(12)
    columns = learning(
        score=0.5 + noise(0.02, 13),
        frac_reward_zero_std=[float(chance.random() < 0.8) for _ in range(ROWS)],
        grad=[0.0 if chance.random() < 0.97 else 0.3 for _ in range(ROWS)],
        entropy=0.9 * np.exp(-5 * T),
    )
    report = told("report", written(tmp_path / "run", rows_of(columns)))
    texts = [one["text"] for f in by_id(report).values() for one in (*f["evidence"], {"text": f["summary"]})]
    shares = re.findall(r"(\d+) % of the groups(?: of the last \d+ rows)? (?:have no|without|agree)", " ".join(texts))
    assert len(shares) > 1
    assert len(set(shares)) == 1, shares
    assert 65 <= int(shares[0]) <= 95


# -- V7: score and reward --


def test_a_reward_that_its_penalty_takes_below_zero_is_told_beside_the_score(tmp_path: Path, told: Told) -> None:
    score = 0.19 + 0.15 * T + noise(0.02, 14)
    columns = learning(score=score) | {"critic/rewards/mean": score - 0.5 * T}
    text = told("report", written(tmp_path / "run", rows_of(columns)))["verdict"]["text"]
    assert re.search(r"Score rose 0\.\d+ → 0\.\d+", text), text
    assert re.search(r"Reward fell 0\.\d+ → [−-]0\.\d+", text), text


# -- V9: evidence --


def test_the_evidence_of_a_long_phase_is_that_phase(tmp_path: Path, told: Told) -> None:
    """Not the time of the whole step, in which the other phases are."""
    columns = learning() | {
        "timing_s/gen": 4 + noise(0.3, 15),
        "timing_s/reward": 24 + noise(0.5, 16),
        "timing_s/update_actor": 2 + noise(0.1, 17),
        "timing_s/step": 30 + noise(0.6, 18),
    }
    found = by_id(told("report", written(tmp_path / "run", rows_of(columns))))["phase-bottleneck"]
    assert {one["key"] for one in found["evidence"]} == {"timing_s/reward"}


# -- H1, H7: an error of ours --


@pytest.mark.long
def test_a_best_of_exactly_0_ends_nothing(tmp_path: Path, told: Told) -> None:
    """The first release divided by it: a traceback of hundreds of lines, and the exit code of a critical finding."""
    rows = [
        {
            "step": i + 1,
            "reward": min(0.0, -1 + i / 50) if i < 70 else (70 - i) / 40,
            "kl": i / 16000,
            "loss": 0.01 * (i % 3 - 1),
            "grad_norm": 0.4,
        }
        for i in range(160)
    ]
    run = written(tmp_path / "run", rows)
    report = told("report", run)
    assert report["checks_failed"] == []
    assert by_id(report)["reward-collapse"]
    assert main(["watch", str(run), "--timeout", "1", "--fail-on", "never"]) == 0


# -- L1: a live run --


@pytest.mark.parametrize("step_s", [20.0, 400.0])
def test_a_live_run_with_a_plan_is_running_for_every_command(step_s: float, tmp_path: Path, told: Told) -> None:
    now = time.time()
    rows = [
        row | {"timestamp": now - step_s * (ROWS - i + 0.5), "total_steps": 2000.0}
        for i, row in enumerate(rows_of(learning()), 1)
    ]
    runs = [written(tmp_path / name, rows) for name in ("a", "b")]
    report = told("report", runs[0])
    assert report["run"]["state"] == "running"
    assert {row["state"] for row in told("runs", tmp_path)["runs"]} == {"running"}
    compared = told("compare", *runs)["runs"]
    assert {(row["state"], row["group"] == "ugly") for row in compared} == {("running", False)}
    assert report["verdict"]["decision"] == "continue"
