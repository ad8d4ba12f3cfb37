"""`rltui rollouts`: the table, one step, JSON, what it says where there is nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.rollouts.dumps import GOOD, LOOP, VERL_LOG, lines, verl
from tests.unit.rollouts.test_hostile import run_cli


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "train.log").write_text(VERL_LOG)
    for step in range(1, 5):
        verl(tmp_path, step, [("2+2?", GOOD, 1.0), ("2+2?", LOOP, 0.0), ("1+1?", "2", 1.0), ("1+1?", "2", 1.0)])
    return tmp_path


def test_a_table_and_the_newest_step(run: Path) -> None:
    code, out = run_cli(str(run))
    assert code == 0
    assert "Step 4 (train)" in out
    assert [line.split()[:3] for line in out.splitlines()[3:7]] == [[str(n), "train", "4"] for n in range(1, 5)]
    best = next(line for line in out.splitlines() if line.startswith("Best "))
    assert "Worst" in best
    assert "reward 0.000" in best
    assert "lines more" in out, "a long completion is cut in the middle"
    assert "= 1+1?" in out, "a group without spread is marked"


def test_one_step_as_json(run: Path) -> None:
    code, out = run_cli(str(run), "--step", "2", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert found["schema"] == "rltui.rollouts/1"
    assert found["detail"]["step"] == 2
    assert found["detail"]["best"]["completion"] == "2"
    assert found["detail"]["worst"]["completion"] == LOOP
    assert found["detail"]["marked"]["repeated"]["completion"] == LOOP
    assert [row["zero_variance"] for row in found["table"]] == [0.5] * 4
    assert found["limitation"] == []


def test_a_step_without_rollouts_names_the_nearest(run: Path) -> None:
    code, out = run_cli(str(run), "--step", "9")
    assert code == 2
    assert "no rollouts of step 9, the nearest is step 4" in out
    code, out = run_cli(str(run), "--validation")
    assert code == 2
    assert "no rollouts of validation" in out


def test_a_run_without_rollouts_says_how_to_keep_them(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(VERL_LOG)
    code, out = run_cli(str(tmp_path))
    assert code == 0
    assert "trainer.rollout_data_dir" in out
    code, out = run_cli(str(tmp_path), "--format", "json")
    assert json.loads(out)["limitation"]
    assert json.loads(out)["detail"] is None


def test_the_output_is_the_same_twice(run: Path) -> None:
    assert run_cli(str(run), "--format", "json") == run_cli(str(run), "--format", "json")


def test_the_same_prompt_across_steps(run: Path) -> None:
    code, out = run_cli(str(run), "--same-prompt")
    assert code == 0
    after = out[out.index("The same prompt across steps") :]
    assert [f"Step {n} " in after for n in range(1, 5)] == [True] * 4
    assert after.count(GOOD) == 4


def test_samples_are_sorted_filtered_and_searched(run: Path) -> None:
    code, out = run_cli(str(run), "--sort", "reward", "--reverse", "--limit", "1", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert found["chosen_count"] == 4
    assert [(one["completion"], one["reward"]) for one in found["chosen"]] == [(LOOP, 0.0)]
    code, out = run_cli(str(run), "--only", "repeated")
    assert code == 0
    assert "Samples repeated" in out
    assert "1 of 1" in out
    code, out = run_cli(str(run), "--search", "2 AND 2 IS", "--format", "json")
    assert [one["completion"] for one in json.loads(out)["chosen"]] == [GOOD], "case does not count"
    code, out = run_cli(str(run), "--search", "nowhere")
    assert code == 0
    assert "none matches" in out
    code, out = run_cli(str(run), "--only", "zero-variance", "--sort", "length", "--format", "json")
    assert [one["completion"] for one in json.loads(out)["chosen"]] == ["2", "2"]


def test_lengths_stand_beside_the_line_of_the_limit(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(VERL_LOG)
    (tmp_path / "config.yaml").write_text("data:\n  max_response_length: 64\n")
    rows = [{"input": "p", "output": "x", "score": 1.0, "step": 3, "response_length": 8 * (n + 1)} for n in range(8)]
    lines(tmp_path / "rollouts" / "3.jsonl", rows)
    code, out = run_cli(str(tmp_path))
    assert code == 0
    shown = out[out.index("Tokens") :].split("\n")
    at = next(i for i, line in enumerate(shown) if "┄┄┄" in line)
    assert "limit 64" in shown[at]
    assert shown[at + 1].split()[0] == "64", "above the first bar that reaches it"
    assert "▒" in shown[at + 1], "whose samples are cut"
