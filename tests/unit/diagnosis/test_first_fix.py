"""What a collapse leads to is none of its causes, and the first thing to do is about the cause that leads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import finding, learning, wave, write
from tests.unit.reported import told

ROWS = 120


def ramp(first: int, last: int) -> np.ndarray:
    return np.clip((np.arange(ROWS) - first) / (last - first), 0, 1)


def exploded(folder: Path) -> dict[str, Any]:
    """Entropy, KL and length go up together, the reward down, and no config tells of a bonus."""
    gone, columns = ramp(60, 80), learning(ROWS)
    columns |= {
        "score": columns["score"] * (1 - gone),
        "entropy": columns["entropy"] * (1 + 7 * gone),
        "kl": columns["kl"] + 1.5 * gone,
        "length": columns["length"] * (1 + 1.3 * gone),
        "cut": np.clip(columns["cut"] + 0.45 * gone, 0, 1),
        "grad": columns["grad"] * (1 + 10 * gone),
    }
    return told(write(folder, columns))[2]


def test_entropy_leads_what_it_makes_longer(tmp_path: Path) -> None:
    report = exploded(tmp_path / "run")
    assert report["verdict"]["text"].startswith("Entropy explodes")
    found = finding(report, "length-explosion")
    assert found is not None
    assert found["root"] == "entropy-explosion"


def test_no_finding_is_its_own_cause(tmp_path: Path) -> None:
    found = finding(exploded(tmp_path / "run"), "entropy-explosion")
    assert found is not None
    assert not any(cause["text"].startswith("Entropy explosion") for cause in found["causes"])


def test_a_limit_is_not_raised_for_text_that_never_ends(tmp_path: Path) -> None:
    found = finding(exploded(tmp_path / "run"), "length-explosion")
    assert found is not None
    assert found["causes"][0]["text"].startswith("Entropy explosion")
    assert "limit" not in found["fixes"][0]["text"]


def test_a_bonus_that_nobody_set_is_no_cause(tmp_path: Path) -> None:
    found = finding(exploded(tmp_path / "run"), "kl-runaway")
    assert found is not None
    bonus = next(cause for cause in found["causes"] if cause["text"].startswith("Entropy bonus"))
    assert bonus["status"] == "contradicted"


def broken(folder: Path, *lines: str) -> dict[str, Any]:
    """No number is finite from row 80 on, and every answer runs into the limit."""
    columns, late = learning(ROWS), np.arange(ROWS) >= 80
    for name in ("grad", "loss", "kl", "entropy"):
        columns[name] = np.where(late, np.nan, columns[name])
    columns |= {"score": np.where(late, 0.0, columns["score"]), "length": np.where(late, 1024.0, columns["length"])}
    columns["cut"] = np.where(late, 0.9, columns["cut"])
    path = verl(folder, columns, CONFIG | {"actor_rollout_ref.actor.kl_loss_type": "low_var_kl"})
    if lines:
        (path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return told(path)[2]


def test_what_broken_weights_write_is_folded_under_them(tmp_path: Path) -> None:
    report = broken(tmp_path / "run")
    roots = {f["id"] for f in report["findings"] if f["severity"] == "critical" and f["root"] is None}
    assert roots == {"nonfinite-values"}


def test_an_estimate_of_a_small_kl_overflows_nowhere(tmp_path: Path) -> None:
    found = finding(broken(tmp_path / "run"), "nonfinite-values")
    assert found is not None
    k3 = next(cause for cause in found["causes"] if cause["text"].startswith("Overflow in the k3"))
    assert k3["status"] == "contradicted"


def test_an_empty_prompt_that_the_log_names_leads(tmp_path: Path) -> None:
    found = finding(broken(tmp_path / "run", "WARNING: batch 80 holds 1 prompt with 0 tokens"), "nonfinite-values")
    assert found is not None
    assert found["causes"][0]["text"].startswith("log(0) or 0/0")


@pytest.mark.parametrize("rule", ["reward-peak-decline", "val-regression"])
def test_a_rate_that_jumped_is_not_said_not_to_have_decayed(rule: str, tmp_path: Path) -> None:
    late, columns = ramp(60, 100), learning(ROWS)
    columns |= {
        "lr": np.where(np.arange(ROWS) >= 60, 1e-5, 1e-6),
        "score": columns["score"] - 0.3 * late,
        "kl": columns["kl"] + 0.8 * late,
        "grad": columns["grad"] * (1 + 3 * late),
    }
    columns["val"] = columns["score"] + wave(0, 0.01, ROWS, 12)
    found = finding(told(verl(tmp_path / "run", columns, CONFIG))[2], rule)
    assert found is not None
    assert found["causes"][0]["text"].startswith("Steps too large")
    assert "earning rate" in json.dumps(found["fixes"][0]["text"])


def test_another_program_that_the_log_names_is_quoted(tmp_path: Path) -> None:
    columns = learning(ROWS)
    columns["step_s"] = np.where(np.arange(ROWS) >= 70, 2.2, 1.0) * columns["step_s"]
    columns["timing_s/gen"] = 0.6 * columns["step_s"]
    columns["timing_s/update_actor"] = 0.35 * columns["step_s"]
    path = verl(tmp_path / "run", columns, CONFIG)
    line = "WARNING: GPU 3 is shared: process 88123 (merge_lora.py) uses 31.2 GiB"
    (path / "train.log").write_text(line + "\n", encoding="utf-8")
    found = finding(told(path)[2], "step-time-regression")
    assert found is not None
    assert "merge_lora.py" in found["causes"][0]["because"]


def test_no_setting_is_turned_beside_old_weights(tmp_path: Path) -> None:
    """The KL has grown as well until then, which fits many causes. That old weights were loaded is certain."""
    rows, back = np.arange(ROWS), 90
    then = np.where(rows < back, rows, rows - back + 5)
    columns = learning(ROWS) | {
        "score": 0.2 + 0.6 * (1 - np.exp(-then / 30)) + wave(0, 0.01, ROWS, 1),
        "kl": 0.004 * (then + 1) * np.exp(wave(0, 0.05, ROWS, 2)),
        "entropy": 1.6 - 0.008 * then + wave(0, 0.01, ROWS, 3),
    }
    report = told(write(tmp_path / "run", columns))[2]
    loud = [one for one in report["findings"] if one["severity"] != "info" and one["status"] == "active"]
    led = [one for one in loud if one["causes"] and "old weights were loaded" in one["causes"][0]["text"]]
    assert led
    turned = [fix["text"] for one in led for fix in one["fixes"] if fix["risk"] != "none"]
    assert all("checkpoint" in text for text in turned), turned


def test_a_runaway_without_gradients_is_first_looked_into_where_most_are(tmp_path: Path) -> None:
    """What only a leap of the gradient would show is not the first thing to look for if no gradient is logged."""
    columns = {"score": learning(ROWS)["score"], "kl": 0.01 + 2.0 * ramp(40, 80), "length": wave(300, 5, ROWS, 2)}
    found = finding(told(write(tmp_path / "run", columns))[2], "kl-runaway")
    assert found is not None
    assert "entropy bonus" not in found["fixes"][0]["text"].split(". ")[0]
