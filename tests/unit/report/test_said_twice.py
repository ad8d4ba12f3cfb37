"""What is said of a run in two places says the same: the way of a metric, what is open, what was read."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from rltui.cli import main
from tests.moments import judged_after
from tests.unit.diagnosis.written import T0, learning, report, wave, write

ROWS = 240
AT = np.arange(1, ROWS + 1) / ROWS


def page(run: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["report", str(run), *words]) in (0, 1)
    return capsys.readouterr().out


def line(text: str, head: str) -> str:
    """The line of a metric in the page."""
    found = re.search(rf"^{head} .*$", text, re.M)
    assert found is not None, text
    return found[0]


# -- a change, where a finding says that the metric fell --


def turned(top: float, undone: float, start: float, turn: float = 0.55) -> np.ndarray:
    """A rise from `start` to `top`, of which a share is undone."""
    way = np.where(turn > AT, AT / turn, 1 - undone * (AT - turn) / (1 - turn))
    return start + (top - start) * way + wave(0.0, abs(top - start) / 60, ROWS, 1)


@pytest.mark.parametrize(
    ("start", "top", "undone"), [(0.3, 0.75, 0.4), (30.0, 65.0, 0.45), (-4.7, -2.0, 0.35), (0.3, 0.75, 0.9)]
)
def test_what_is_past_its_peak_is_counted_from_there(
    start: float, top: float, undone: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rltui.report.build import build
    from rltui.tui.panes import findings, metrics
    from rltui.tui.view import View

    looked: list[Any] = []

    def kept(*seen: Any, **how: Any) -> Any:
        looked.append(build(*seen, **how))
        return looked[-1]

    score = turned(top, undone, start)
    columns = learning(ROWS) | {"score": score, "kl": np.linspace(0.01, 0.12, ROWS)}
    with patch("rltui.report.build.build", kept):
        text = page(write(tmp_path / "run", columns), capsys)
    assert "Reward is past its peak" in text or "Reward collapsed" in text, text
    told = line(text, "score mean").rsplit("  ", 1)[-1]
    assert told.startswith("−"), told
    view = View()
    view.take(looked[-1])
    view.settle()
    assert metrics._moved(view.metric("score_mean"), view.flagged.get("score_mean"), 1.0).startswith("−")
    drawn, _, _ = findings.draw(view, 120, 12, focus=True, selected=0, everything=False)
    rows = ["".join(text for text, _ in row) for row in drawn]
    assert any(told in row for row in rows if "eward" in row), (told, rows)


def test_what_wandered_and_rose_is_counted_from_its_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score = turned(0.75, 0.0, 0.3) + 0.02 * np.sin(9 * AT)
    found = page(write(tmp_path / "run", learning(ROWS) | {"score": score}), capsys)
    assert "past its peak" not in found
    assert "−" not in line(found, "score mean").rsplit("  ", 1)[-1]


# -- KL, reward and validation: what the reading rests on --


def reading(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    return str(report(run, capsys)["outlook"]["kl_reward"]["reading"])


def held_out(rises_until: float, gained: float) -> dict[str, Any]:
    """A reward that is level after a third, KL that grows, and validation that rises until then."""
    return learning(ROWS) | {
        "score": 0.4 + gained * np.minimum(1.0, 3 * AT) + wave(0.0, 0.01, ROWS, 1),
        "kl": np.linspace(0.01, 0.1, ROWS),
        "val": 0.4 + 0.4 * np.minimum(1.0, AT / rises_until) + wave(0.0, 0.003, ROWS, 4),
    }


@pytest.mark.long
def test_validation_that_holds_does_not_still_gain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = reading(write(tmp_path / "held", held_out(0.4, 0.4), {"val": 10}), capsys)
    assert "gain" not in held, "it held, and the verdict is another one"
    assert "still gains" in reading(write(tmp_path / "rises", held_out(1.0, 0.0), {"val": 10}), capsys)


def test_a_verdict_of_drift_rests_on_no_other_signs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    level = 0.4 + 0.03 * np.minimum(1.0, 3 * AT) + wave(0.0, 0.01, ROWS, 1)
    run = write(tmp_path / "run", learning(ROWS) | {"score": level, "kl": 0.01 * np.exp(4 * AT)}, end=True)
    found = report(run, capsys)
    assert "kl-up-reward-flat" in found["verdict"]["because"], found["verdict"]
    assert found["outlook"]["kl_reward"]["reading"] == "drift without gain"
    notes = [f["summary"] for f in found["findings"] if f["severity"] == "info" and "rose" in f["summary"]]
    assert all("no gain" in note or "gains no more" in note for note in notes), notes


# -- of a run with few rows, and of a folder --


@pytest.mark.parametrize(
    ("age", "state", "does"),
    [(60.0, "running", "wait, or log more. It takes"), (86_400.0, "stalled", "look whether the run still goes on. It")],
)
def test_nobody_waits_for_a_run_that_has_stopped(
    age: float, state: str, does: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "run", {"score": [0.4, 0.5, 0.6], "kl": [0.01] * 3})
    (run / "config.yaml").write_text("trainer:\n  total_training_steps: 400\n", encoding="utf-8")
    for file in run.iterdir():
        os.utime(file, (T0 + 60, T0 + 60))
    with judged_after(run, age):
        text = page(run, capsys)
    assert f"State: **{state}**" in text, text
    assert line(text, "- To do:").startswith(f"- To do: {does}")
    assert "no verdict yet · " in text


def test_a_folder_whose_files_are_no_logs_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.xyz").write_text("hello\n", encoding="utf-8")
    assert main(["report", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "no file in it has a name that logs have" in told
    assert "no files" not in told


# -- one number for a thing, in two findings or in a finding and a table --


def summary(found: dict[str, Any], rule: str) -> str:
    return str(next(f["summary"] for f in found["findings"] if f["id"] == rule))


def test_the_share_that_is_cut_is_one_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grows = np.exp(1.5 * AT)
    columns = learning(ROWS) | {"cut": 0.02 + 0.6 * AT**25, "length": 450 * grows, "longest": 900 * grows}
    found = report(write(tmp_path / "run", columns), capsys)
    shares = {
        percent
        for rule in ("truncation-high", "length-explosion")
        for percent in re.findall(r"(\d+ %) (?:of the responses )?are cut", summary(found, rule))
    }
    assert all("are cut" in summary(found, rule) for rule in ("truncation-high", "length-explosion"))
    assert len(shares) == 1, shares


def test_a_logged_peak_is_told_in_its_own_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = learning(ROWS) | {"perf/max_memory_allocated_gb": 40.0 + 30 * AT + wave(0.0, 0.01, ROWS, 3)}
    found = report(write(tmp_path / "run", columns), capsys)
    told = next(f["summary"] for f in found["findings"] if "that the trainer logs" in f["summary"])
    assert re.search(r"to 7\d(\.\d+)? GiB", told), told
    assert " GB" not in told


def test_what_chosen_answers_lost_is_as_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for i, at in enumerate(AT):
        rows.append(
            {
                "step": i + 1,
                "loss": 0.69 - 0.5 * at,
                "logps/chosen": -82 - 45 * at,
                "logps/rejected": -90 - 90 * at,
                "rewards/margins": 0.1 + 6 * at + 0.01 * (i % 3),
                "rewards/accuracies": min(0.99, 0.55 + at),
            }
        )
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = report(tmp_path, capsys)
    own = next(m for m in found["metrics"].values() if m["key"] == "logps/chosen")
    lost = re.search(r"lost ([\d.]+) nats", summary(found, "dpo-likelihood-displacement"))
    assert lost is not None
    assert float(lost[1]) == pytest.approx(own["first"] - own["last"], abs=0.06)


@pytest.mark.parametrize("gain", [0.4, 0.0])
def test_what_a_gain_excuses_says_so(gain: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = learning(ROWS) | {"clip": wave(0.35, 0.01, ROWS, 8), "score": 0.3 + gain * AT + wave(0.0, 0.01, ROWS, 1)}
    found = report(write(tmp_path / "run", columns), capsys)
    said = summary(found, "policy-step-too-large")
    assert ("gains all the same" in said) == (gain > 0), said
    assert "gains all the same" in said or found["verdict"]["decision"] != "continue-watch"
    assert ("without the gain" in found["verdict"]["would_change"]) == (gain > 0)


def test_a_proof_is_of_the_validation_set_that_fell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = learning(ROWS) | {
        "score": 0.4 + 0.37 * AT + wave(0.0, 0.01, ROWS, 1),
        "val": 0.5 + 0.2 * AT + wave(0.0, 0.003, ROWS, 4),
        "val-core/mbpp/acc/mean@1": 0.6 - 0.2 * np.maximum(0.0, AT - 0.3) + wave(0.0, 0.003, ROWS, 5),
    }
    found = report(write(tmp_path / "run", columns, {"val": 10, "val-core/mbpp/acc/mean@1": 10}), capsys)
    causes = [cause for f in found["findings"] if f["id"] == "train-val-divergence" for cause in f["causes"]]
    proofs = [
        cause["because"] for cause in causes if "validation" in cause["because"] and cause["status"] == "supported"
    ]
    assert proofs, causes
    assert all("validation mbpp" in proof and "gsm8k" not in proof for proof in proofs), proofs

    alone = {name: values for name, values in columns.items() if name != "val"}
    found = report(write(tmp_path / "alone", alone, {"val-core/mbpp/acc/mean@1": 10}), capsys)
    causes = [cause for f in found["findings"] if f["id"] == "train-val-divergence" for cause in f["causes"]]
    assert any("validation score 0." in cause["because"] for cause in causes), causes


# -- what is open beside what the verdict rests on --


def falls_at_the_end() -> dict[str, np.ndarray]:
    """A reward that stands still and falls in the last rows, while KL grows."""
    score = np.where(AT < 0.93, 0.5, 0.26) + wave(0.0, 0.01, ROWS, 1)
    return {"score": score, "kl": 0.06 * AT + wave(0.0, 0.0005, ROWS, 2), "grad": wave(0.4, 0.04, ROWS, 4)}


def test_a_headline_leaves_out_no_fall(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run", falls_at_the_end(), end=True)
    found = report(run, capsys)
    open_ones = {f["id"] for f in found["findings"] if f["status"] == "active" and f["severity"] != "info"}
    assert open_ones >= {"kl-up-reward-flat", "reward-collapse"}, open_ones
    assert "eward collapsed" in found["verdict"]["text"]
    told = [f["summary"] for f in found["findings"] if f["id"] == "reward-flat-from-start" and f["status"] == "active"]
    assert not any("has not moved" in text for text in told), told


def test_a_headline_of_the_past_names_what_that_of_today_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(ROWS) | {
        "score": turned(0.65, 0.5, 0.3),
        "kl": 0.02 + 0.1 * AT,
        "val": turned(0.6, 0.6, 0.4),
    }
    run = write(tmp_path / "run", columns, {"val": 10}, end=True)
    today, past = report(run, capsys), report(run, capsys, "--at", str(ROWS))
    named = [of["verdict"]["text"].rsplit("Also open: ", 1)[-1] for of in (today, past)]
    assert "validation past its peak" in named[0].lower()
    assert "validation past its peak" in named[1].lower()


def test_a_healthy_run_has_nothing_else_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Also open" not in report(write(tmp_path / "run", learning(ROWS)), capsys)["verdict"]["text"]


@pytest.mark.parametrize("level", [0.073, 0.41, 2.3])
def test_the_kl_of_a_sentence_is_that_of_its_table(
    level: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(
        write(tmp_path / "run", learning(ROWS) | {"kl": np.minimum(level, level * 2 * AT)}, end=True), capsys
    )
    told = [f["summary"] for f in found["findings"] if "KL to the reference is at" in f["summary"]]
    assert told
    assert all(f"KL to the reference is at {level} nats" in text for text in told), told
