"""rLLM's episodes, a file each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.rollouts.formats.json_lines import of_record

STEPS = [
    {"observation": "1+1?", "model_response": "I think", "chat_completions": []},
    {
        "observation": "go on",
        "model_response": "it is 2",
        "chat_completions": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "1+1?"},
            {"role": "assistant", "content": "I think"},
            {"role": "user", "content": "go on"},
            {"role": "assistant", "content": "it is 2"},
        ],
    },
]


def episode(step: int, trajectories: Any) -> dict[str, Any]:
    return {"training_step": step, "task": {"question": "1+1?"}, "task_hash": "0a", "is_correct": True} | {
        "trajectories": trajectories
    }


def test_a_sample_a_trajectory() -> None:
    found = of_record(episode(3, [{"reward": 1.0, "steps": STEPS}, {"reward": 0.0, "steps": STEPS[:1]}]))
    assert [raw.step for raw in found] == [3, 3]
    assert [raw.reward for raw in found] == [1.0, 0.0]
    assert [raw.group for raw in found] == ["0a", "0a"]
    assert "1+1?" in str(found[0].prompt)
    assert "it is 2" not in str(found[0].prompt)
    assert "it is 2" in str(found[0].completion)
    assert (str(found[1].prompt), str(found[1].completion)) == ("1+1?", "I think")


@pytest.mark.parametrize("bad", [None, {}, [{}], [{"steps": None}], [{"steps": ["x"]}], "text"])
def test_an_episode_without_a_trajectory_is_none(bad: Any) -> None:
    assert of_record(episode(3, bad)) == []


def test_the_episodes_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"step": s, "data": {"batch/solve_partial": 0.5, "critic/score/mean": s / 8}} for s in (1, 2, 3)]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for step in (1, 2):
        folder = tmp_path / "e" / "episodes" / f"train_step_{step}_epoch_0"
        folder.mkdir(parents=True)
        for i in range(4):
            text = json.dumps(episode(step, [{"reward": i % 2, "steps": STEPS}]), indent=2)
            (folder / f"episode_hash0a_id{i}.json").write_text(text)
    assert main(["rollouts", str(tmp_path), "--format", "json", "--step", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(entry["step"], entry["split"]) for entry in told["entries"]] == [(1, "train"), (2, "train")]
    (group,) = told["detail"]["groups"]
    assert (group["samples"], group["mean"]) == (4, 0.5)
