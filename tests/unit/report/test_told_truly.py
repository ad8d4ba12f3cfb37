"""What a report says against what is known of the run, since the test wrote it: numbers of proofs, names of findings,
what few values show, what a run is waited for, and what could not be looked at."""

from __future__ import annotations

import json
import math
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.evidence.model import Evidence
from rltui.readers.jsonl import JsonlReader
from rltui.report.courses import evidence_change
from tests.unit.diagnosis.test_checks_failed import break_rules
from tests.unit.diagnosis.written import learning, write
from tests.unit.reported import told

Row = dict[str, float]
DAY = 86400.0


def course(rows: int, change: Callable[[int, Row], Row] | None = None, val: int = 0) -> list[Row]:
    """A run that learns, its rows 30 s apart, the newest a day old. `change`: what happens in it beside that."""
    chance = random.Random(rows)
    out = []
    for step in range(1, rows + 1):
        t = step / rows
        row = {
            "step": step,
            "reward/mean": 0.25 + 0.35 * (1 - math.exp(-3 * t)) + chance.gauss(0, 0.02),
            "kl": (0.002 + 0.02 * t) * (1 + chance.gauss(0, 0.05)),
            "entropy": 0.6 - 0.2 * t + chance.gauss(0, 0.01),
            "grad_norm": 0.35 + chance.gauss(0, 0.03),
            "clip_fraction": 0.012 + chance.gauss(0, 0.001),
            "completion_length/mean": 600 + 100 * t + chance.gauss(0, 10),
            "truncated_frac": 0.02 + chance.random() * 0.01,
            "loss": chance.gauss(0, 0.004),
        }
        if val and step % val == 0:
            row["eval/accuracy"] = 0.2 + 0.3 * (1 - math.exp(-3 * t)) + chance.gauss(0, 0.004)
        out.append({**row, **(change(step, row) if change is not None else {})})
    end = time.time() - DAY
    return [{**row, "timestamp": end - 30.0 * (rows - row["step"])} for row in out]


def written(folder: Path, rows: list[Row], config: dict[str, Any] | None = None) -> Path:
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def finding(report: dict[str, Any], rule: str) -> dict[str, Any]:
    return next(one for one in report["findings"] if one["id"] == rule)


def runs_away(step: int, row: Row) -> Row:
    return {"kl": row["kl"] * math.exp(min(max(0, step - 90) / 12, 5.5))}


@pytest.mark.parametrize(("clip", "leads"), [(None, False), (0.2, False), (10.0, True)])
def test_a_usual_clip_fraction_proves_no_wide_clip_range(clip: float | None, leads: bool, tmp_path: Path) -> None:
    config = {"max_steps": 300} | ({} if clip is None else {"clip_high": clip})
    page, _, report = told(written(tmp_path / "run", course(200, runs_away), config))
    causes = {one["text"]: one["status"] for one in finding(report, "kl-runaway")["causes"]}
    assert (causes["The clip range is so wide that next to nothing is clipped"] == "supported") is leads
    assert ("Why: The clip range is so wide" in page) is leads


def grows_into_the_limit(step: int, row: Row) -> Row:
    late = max(0, step - 120)
    return {
        "completion_length/mean": min(1900.0, row["completion_length/mean"] * math.exp(late / 40)),
        "truncated_frac": min(0.85, row["truncated_frac"] + late * 0.015),
        "reward/mean": row["reward/mean"] * 0.1 + 0.2 + 0.4 * min(step, 120) / 120 - min(0.3, late * 0.006),
    }


def test_a_proof_tells_where_a_metric_stood_at_the_step_that_it_names(tmp_path: Path) -> None:
    """The reward rose for long before: a median of fifty rows before the step is where it was 25 rows earlier."""
    rows = course(240, grows_into_the_limit)
    _, _, report = told(written(tmp_path / "run", rows))
    proofs = [one["because"] for f in report["findings"] for one in f["causes"] if one["status"] == "supported"]
    found = [m for text in proofs for m in re.finditer(r"reward mean (\S+) → (\S+) since step (\d+)", text)]
    assert found
    for one in found:
        onset = int(one[3])
        before = [row["reward/mean"] for row in rows if onset - 10 <= row["step"] < onset]
        newest = [row["reward/mean"] for row in rows[-10:]]
        assert float(one[1]) == pytest.approx(sum(before) / len(before), abs=0.01)
        assert float(one[2]) == pytest.approx(sum(newest) / len(newest), abs=0.01)


def test_a_proof_calls_a_finding_what_the_report_calls_it(tmp_path: Path) -> None:
    _, _, report = told(written(tmp_path / "run", course(240, grows_into_the_limit)))
    named = {title for f in report["findings"] for c in f["causes"] for title in _cited(c["because"])}
    assert named
    assert named <= {f["title"] for f in report["findings"]}


def _cited(text: str) -> list[str]:
    return re.findall(r"the finding “([^”]+)”", text)


def peaks(step: int, row: Row) -> Row:
    score = 0.2 + 0.35 * math.exp(-(((step - 110) / 60) ** 2))
    return {"eval/accuracy": score} if step % 20 == 0 else {}


def test_validation_that_rose_and_fell_does_not_merely_jump(tmp_path: Path) -> None:
    _, _, report = told(written(tmp_path / "run", course(240, peaks)))
    assert "validation-underpowered" not in {f["id"] for f in report["findings"]}


def test_validation_that_only_jumps_is_said_to(tmp_path: Path) -> None:
    chance = random.Random(4)
    jumps = course(240, lambda step, _: {"eval/accuracy": 0.4 + chance.gauss(0, 0.08)} if step % 12 == 0 else {})
    _, _, report = told(written(tmp_path / "run", jumps))
    text = finding(report, "validation-underpowered")["summary"]
    assert re.match(
        r"Validation jumps by 0\.\d+ from one evaluation to the next, and moved by 0\.\d+ on the whole", text
    )


def test_a_level_reward_is_dated_by_when_it_became_level(tmp_path: Path) -> None:
    """It was level once before, and rose a long way between."""
    chance = random.Random(2)

    def twice(step: int, _: Row) -> Row:
        reward = 0.3 + 0.3 * min(1.0, max(0, step - 110) / 50) + chance.gauss(0, 0.02)
        return {"reward/mean": reward, "actor/pg_loss": chance.gauss(0, 0.004)}

    _, _, report = told(written(tmp_path / "run", course(360, twice)))
    one = finding(report, "pg-loss-shape")
    assert one["status"] == "active"
    assert one["summary"].endswith("and the reward is level.")
    assert one["onset_step"] >= 160


FEW = course(150, val=30)
"""Five evaluations, from about .3 to about .5."""


def test_few_values_are_told_by_the_first_and_the_newest(tmp_path: Path) -> None:
    page, long, report = told(written(tmp_path / "run", FEW))
    values = [row["eval/accuracy"] for row in FEW if "eval/accuracy" in row]
    line = next(line for line in page.splitlines() if line.startswith("validation score "))
    assert line.endswith(f"{values[0]:.3f} → {values[-1]:.3f} (5 values)")
    assert "Of few values the first and the newest:" in page
    metric = report["metrics"]["val_score"]
    assert metric["overlap"] is True
    assert metric["first"] == metric["last"] == pytest.approx(sum(values) / 5, abs=1e-5)  # the contract's windows
    row = next(line for line in long.splitlines() if line.startswith("| validation score "))
    assert "steady" not in row.split("|")[5]


def test_many_values_are_told_by_their_windows(tmp_path: Path) -> None:
    page, _, report = told(written(tmp_path / "run", course(150, val=10)))
    assert "(15 values)" not in page
    assert "Of few values" not in page
    assert not any(metric["overlap"] for metric in report["metrics"].values())


def test_a_run_of_one_row_is_said_to_have_one_value(tmp_path: Path) -> None:
    page, _, _ = told(written(tmp_path / "run", course(1)))
    assert "(1 value)" in page
    assert " →" not in next(line for line in page.splitlines() if line.startswith("reward mean "))


@pytest.mark.parametrize("config", [None, {"max_steps": 400}])
@pytest.mark.parametrize("fault", [None, runs_away])
def test_a_run_that_broke_off_is_not_waited_for(
    config: dict[str, Any] | None, fault: Callable[[int, Row], Row] | None, tmp_path: Path
) -> None:
    """With or without a plan: its newest row is a day old, and a step took half a minute."""
    page, _, report = told(written(tmp_path / "run", course(200, fault), config))
    assert report["run"]["broke_off"] is True
    assert "judged again" not in page
    assert "let it run" not in page
    if fault is None:
        assert report["answer"]["do"].startswith("look whether the run still goes on.")


def test_a_run_that_goes_on_is_waited_for(tmp_path: Path) -> None:
    run = written(tmp_path / "run", course(200), {"max_steps": 400})
    page, _, report = told(run, now=time.time() - DAY + 20.0)
    assert report["run"]["broke_off"] is False
    assert "It is judged again at step 220." in page
    assert report["answer"]["do"] == "let it run."


def test_state_and_verdict_are_of_one_moment(tmp_path: Path) -> None:
    """Judged again a day later, the same log is no run that goes on."""
    rows = [{**row, "timestamp": row["timestamp"] + DAY} for row in course(200)]
    run = written(tmp_path / "run", rows, {"max_steps": 400})
    now, later = told(run)[2], told(run, now=time.time() + DAY)[2]
    assert (now["run"]["state"], now["verdict"]["decision"]) == ("running", "continue")
    assert (later["run"]["state"], later["verdict"]["decision"]) == ("stalled", "continue-watch")
    assert later["verdict"]["text"].startswith("Stopped at 200 of 400, no end mark")


def overfits(step: int, row: Row) -> Row:
    return {"eval/accuracy": row["eval/accuracy"] - 0.0015 * max(0, step - 120)} if step % 20 == 0 else {}


@pytest.mark.long
def test_beside_a_clear_verdict_nothing_is_said_to_get_worse(tmp_path: Path) -> None:
    """Validation that falls lately, before a check calls it a fall: headline and pattern say the same of it."""
    told_so = 0
    for rows in range(180, 260, 10):
        _, _, report = told(written(tmp_path / str(rows), course(rows, overfits, val=20)))
        pattern = report["outlook"]["kl_reward"]
        if pattern["validation"] == "down" and report["verdict"]["decision"] == "continue":
            told_so += 1
            assert report["verdict"]["text"].startswith("No fault found, but ")
            assert "validation holds" not in report["verdict"]["text"].lower()
            assert pattern["reading"].startswith("perhaps ")
    assert told_so


def test_validation_that_fell_from_its_start_is_not_said_to_have_peaked_below_it(tmp_path: Path) -> None:
    def falls(step: int, _: Row) -> Row:
        return {"eval/accuracy": 0.5 - 0.2 * step / 240 + random.Random(step).gauss(0, 0.004)} if step % 16 == 0 else {}

    _, _, report = told(written(tmp_path / "run", course(240, falls)))
    text = finding(report, "val-regression")["summary"]
    assert re.match(r"Validation began at 0\.4\d+ and is at 0\.3\d+ ", text), text
    assert "peaked" not in text


def preferences(rows: int) -> str:
    chance = random.Random(1)
    history = []
    for step in range(10, 10 * rows + 1, 10):
        t = step / (10 * rows)
        margin = 2.2 * (1 - math.exp(-3 * t))
        row = {"loss": 0.69 * math.exp(-2.2 * t) + chance.gauss(0, 0.005), "grad_norm": 4 + chance.gauss(0, 0.3)}
        row |= {"rewards/margins": margin, "rewards/accuracies": 0.5 + 0.35 * t, "rewards/chosen": -0.3 * t}
        row |= {"rewards/rejected": -0.3 * t - margin, "logps/chosen": -180 - t, "logps/rejected": -190 - 60 * t}
        history.append({"step": step, "epoch": t, **row})
    state = {"global_step": 10 * rows, "max_steps": 10 * rows, "log_history": history}
    return json.dumps(state)


def test_what_preference_training_never_has_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trainer_state.json").write_text(preferences(100))
    page, _, report = told(tmp_path / "run")
    unable = {needs.split(":")[0] for needs in (one["needs"] for one in report["not_evaluable"])}
    assert not unable & {"samples of rollouts", "score_mean or reward_mean"}
    assert "preference training samples and scores no rollouts" in {one["why"] for one in report["not_applicable"]}
    assert "changed its level" not in page  # its loss falls as it learns


def test_what_could_not_be_looked_at_is_told_in_numbers_of_checks(tmp_path: Path) -> None:
    _, _, report = told(written(tmp_path / "run", course(120)))
    text = report["answer"]["not_looked_at"]
    unable, of = (int(x) for x in re.match(r"(\d+) of (\d+) checks could not run: ", text).groups())  # type: ignore[union-attr]
    assert (unable, of) == (len(report["not_evaluable"]), len(report["not_evaluable"]) + report["checks"])
    assert sum(int(x) for x in re.findall(r"(?:: |, |and )(\d+) ", text)) == unable


def test_beside_a_failed_check_nothing_is_called_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = written(tmp_path / "run", course(200), {"max_steps": 200})
    (run / "checkpoint-200").mkdir()
    (run / "checkpoint-200" / "model.safetensors").write_bytes(b"x" * 4096)
    sound = told(run)[2]
    assert sound["verdict"]["text"].startswith("All clear")
    break_rules(monkeypatch, "kl-runaway", "best-checkpoint-unavailable")
    report = told(run)[2]
    assert report["verdict"]["text"].startswith("No fault found: ")
    assert ", 2 failed. " in report["verdict"]["text"]
    assert len(report["not_evaluable"]) <= len(sound["not_evaluable"])  # what failed had what it needs


def test_a_reader_that_fails_is_named_among_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = written(tmp_path / "run", course(60))

    def fails(*asked: object) -> None:
        raise ZeroDivisionError("of the reader")

    monkeypatch.setattr(JsonlReader, "feed", fails)
    page, _, report = told(run)
    (one,) = report["checks_failed"]
    assert one["rule"] == "reader of metrics.jsonl"
    assert one["error"].startswith("ZeroDivisionError: of the reader")
    assert "`reader of metrics.jsonl` failed, by a fault of rltui" in page
    assert "wait, or log more" not in page


@pytest.mark.parametrize(
    ("windows", "change"),
    [
        ((-3.8, -1.0, -3.78), (-1.0, -3.78)),  # past its peak: it fell, though the ends are alike
        ((0.6, 0.2, 0.58), (0.2, 0.58)),
        ((0.3, 0.9, 0.85), (0.3, 0.85)),  # a dip behind a rise
        ((0.3, 0.6, 0.9), (0.3, 0.9)),
        ((0.3, None, 0.9), (0.3, 0.9)),
        ((None, None, None), (None, None)),
    ],
)
def test_the_change_of_what_came_back_is_its_way_back(
    windows: tuple[float | None, ...], change: tuple[float | None, ...]
) -> None:
    evidence = Evidence("reward_mean", "reward", *windows, None, "")
    assert evidence_change(evidence, None) == change


def test_few_evaluations_are_told_by_the_first_and_the_newest(tmp_path: Path) -> None:
    """Five points fill the first and the last window alike: their means are one number, and tell of no change."""
    columns = learning(60)
    columns["kl"] = np.minimum(0.001 * np.exp(np.arange(60) / 6), 5.0)
    columns["val"] = np.linspace(0.6, 0.99, 60)
    text = told(write(tmp_path, columns, every={"val": 12}))[2]["verdict"]["text"]
    assert "alidation 0.673 → 0.99" in text
