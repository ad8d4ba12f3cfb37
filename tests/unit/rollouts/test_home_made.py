"""Dumps that no framework writes: tables of text, lists within an object, other names, steps counted another way."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.discovery.file_roles import role
from tests.unit.rollouts.dumps import GOOD, index, lines

STEPS = (5, 10)
ROWS = [
    {"group": n // 4, "prompt": f"What is\n{n // 4}, and why?", "completion": f'{GOOD}, "{n}"', "reward": float(n % 2)}
    for n in range(8)
]


def talk(row: dict[str, Any]) -> list[dict[str, str]]:
    return [{"role": "user", "content": row["prompt"]}, {"role": "assistant", "content": row["completion"]}]


def one_table(root: Path, separator: str) -> None:
    with (root / ("rollouts.csv" if separator == "," else "samples.tsv")).open("w", newline="") as file:
        writer = csv.DictWriter(file, ["step", *ROWS[0]], delimiter=separator)
        writer.writeheader()
        writer.writerows({"step": step, **row} for step in STEPS for row in ROWS)


def commas(root: Path) -> None:
    one_table(root, ",")


def tabs(root: Path) -> None:
    one_table(root, "\t")


def groups_of_talks(root: Path) -> None:
    for step in STEPS:
        told = [
            {"trajectories": [{"messages": talk(row), "reward": row["reward"]} for row in ROWS[first : first + 4]]}
            for first in (0, 4)
        ]
        lines(root / "trajectories" / "train" / f"{step:04d}.jsonl", told)


def one_object(root: Path) -> None:
    (root / "generations").mkdir()
    for step in STEPS:
        path = root / "generations" / f"epoch0_step{step}.json"
        path.write_text(json.dumps({"step": step, "policy": "v3", "samples": ROWS}))


def other_names(root: Path) -> None:
    for step in STEPS:
        told = [
            {
                "train_step": step,
                "prompt_text": row["prompt"],
                "response_text": row["completion"],
                "total_reward": row["reward"],
            }
            for row in ROWS
        ]
        lines(root / "dumped" / "generations" / f"gen_{step:06d}.jsonl", told)


def lists_by_group(root: Path) -> None:
    told = [
        {
            "step": step,
            "prompt": ROWS[first]["prompt"],
            "completions": [row["completion"] for row in ROWS[first : first + 4]],
            "rewards": [row["reward"] for row in ROWS[first : first + 4]],
        }
        for step in STEPS
        for first in (0, 4)
    ]
    lines(root / "groups.jsonl", told)


@pytest.mark.parametrize("write", [commas, tabs, groups_of_talks, one_object, other_names, lists_by_group])
def test_every_row_is_read_with_its_step_reward_and_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], write: Any
) -> None:
    write(tmp_path)
    lines(tmp_path / "metrics.jsonl", [{"step": s, "reward": 0.5, "loss": 0.1} for s in range(1, 11)])
    assert main(["rollouts", str(tmp_path), "--format", "json", "--sort", "reward"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [entry["step"] for entry in told["entries"]] == [*STEPS]
    assert {entry["count"] for entry in told["entries"]} <= {None, 8}
    detail = told["detail"]
    assert (detail["stats"]["samples"], detail["skipped"], detail["group_count"]) == (8, 0, 2)
    assert detail["stats"]["reward_mean"] == 0.5
    assert told["chosen"][0]["completion"].startswith(GOOD)
    assert told["chosen"][0]["prompt"].startswith("What is\n0, and why?")
    assert not told["chosen"][0]["components"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("rollouts.csv", "rollouts"),
        ("train_samples_step_12.csv", "rollouts"),
        ("rollout_metrics.csv", "metrics"),
        ("sample_efficiency.csv", "metrics"),
        ("groups.jsonl", "rollouts"),
        ("group_metrics.jsonl", "metrics"),
    ],
)
def test_a_table_is_taken_for_samples_by_its_whole_name(path: str, expected: str) -> None:
    assert role(path, False) == expected


def test_samples_of_another_step_than_their_file_are_counted_and_told(tmp_path: Path) -> None:
    lines(tmp_path / "rollouts" / "5.jsonl", [{**row, "step": 5 - n % 2} for n, row in enumerate(ROWS)])
    found = index(tmp_path)
    step = found.read(found.entries[0])
    assert len(step) == 4
    assert step.notes == ("4 of 8 samples name another step than their file (4) and are left out",)


def test_a_file_that_counts_steps_another_way_is_read_whole(tmp_path: Path) -> None:
    lines(tmp_path / "rollouts" / "5.jsonl", [{**row, "step": 4} for row in ROWS])
    found = index(tmp_path)
    step = found.read(found.entries[0])
    assert len(step) == 8
    assert step.notes == ("the file name says step 5 and its samples say step 4: the file name counts",)


def test_a_file_of_many_steps_has_no_samples_of_another_step(tmp_path: Path) -> None:
    lists_by_group(tmp_path)
    found = index(tmp_path)
    assert [found.read(entry).notes for entry in found.entries] == [(), ()]


def test_dumps_without_a_readable_record_are_no_clean_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(tmp_path / "metrics.jsonl", [{"step": s, "reward": 0.5, "loss": 0.1} for s in range(1, 41)])
    for step in (10, 20, 30):
        lines(tmp_path / "rollouts" / f"{step}.jsonl", [{"what": "is this"}] * 5)
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    blocked = [one for one in told["not_evaluable"] if "no record that was read" in json.dumps(one)]
    assert "Degenerate text" in json.dumps(blocked)


def test_a_table_that_is_cut_or_damaged_never_raises(tmp_path: Path) -> None:
    commas(tmp_path)
    whole = (tmp_path / "rollouts.csv").read_bytes()
    for size in (0, 1, 40, len(whole) - 30):
        (tmp_path / "rollouts.csv").write_bytes(whole[:size] + b"\xff\x00")
        found = index(tmp_path)
        assert sum(len(found.read(entry)) for entry in found.entries) <= 16
