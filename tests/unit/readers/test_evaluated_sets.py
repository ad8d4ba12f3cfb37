"""Evaluations of several data sets beside a run, through the command line: each set has its own values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from tests.unit.readers.reported import ends, reported

SETS = {"gsm8k": 0.5, "math500": 0.25, "tool_use": 0.125}
STEPS = (0, 20, 40, 60)
Write = Callable[[Path], object]


def table(name: str, head: str, row: str) -> Write:
    """A table with a row for each step and set."""

    def write(at: Path) -> object:
        told = [row.format(step=step, set=one, acc=acc + step / 1000) for step in STEPS for one, acc in SETS.items()]
        return (at / name).write_text("\n".join([head, *told, ""] if head else [*told, ""]))

    return write


def files(name: str, held: Callable[[float], Any]) -> Write:
    """A file for each step and set."""

    def write(at: Path) -> None:
        for step in STEPS:
            for one, acc in SETS.items():
                path = at / name.format(step=step, set=one)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(held(acc + step / 1000)))

    return write


def harness(at: Path) -> None:
    """As the evaluation harness of EleutherAI saves its results, below a folder for each checkpoint."""
    for step in STEPS:
        path = at / "evals" / f"checkpoint-{step}" / "results.json"
        path.parent.mkdir(parents=True)
        told = {one: {"exact_match,none": acc + step / 1000, "alias": one} for one, acc in SETS.items()}
        path.write_text(
            json.dumps({"results": told, "config": {"model": "hf", "batch_size": 8}, "n_shot": {"math": 4}})
        )


WRITERS: dict[str, Write] = {
    "CSV": table("eval.csv", "step,dataset,accuracy", "{step},{set},{acc}"),
    "CSV, the set first": table("eval_results.csv", "Task,Step,Score", "{set},{step},{acc}"),
    "TSV": table("val.tsv", "step\tenv\treward", "{step}\t{set}\t{acc}"),
    "CSV of checkpoints": table("evals.csv", "checkpoint,benchmark,pass@1", "out/global_step_{step},{set},{acc}"),
    "JSON lines of checkpoints": table(
        "eval.jsonl", "", '{{"checkpoint": "checkpoint-{step}", "task": "{set}", "accuracy": {acc}}}'
    ),
    "JSON lines": table("eval.jsonl", "", '{{"step": {step}, "task": "{set}", "accuracy": {acc}}}'),
    "JSON lines with objects": table(
        "val.jsonl", "", '{{"global_step": {step}, "suite": "{set}", "metrics": {{"acc": {acc}}}}}'
    ),
    "a folder for each step": files("eval/step_{step}/{set}.json", lambda acc: {"accuracy": acc, "num_samples": 500}),
    "a folder for each checkpoint": files("val/checkpoint-{step}/{set}.json", lambda acc: {"metrics": {"acc": acc}}),
    "a folder for each set": files("eval_results/{set}/step_{step}.json", lambda acc: {"accuracy": acc}),
    "a harness": harness,
}


@pytest.mark.parametrize("style", WRITERS)
def test_each_set_has_its_own_values(style: str, tmp_path: Path) -> None:
    rows = ({"step": i, "reward": i / 100, "loss": 0.1} for i in range(1, 61))
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    WRITERS[style](tmp_path)
    report = reported(tmp_path)
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"]) == (0, 60)
    assert ends(report, "reward_mean") == (60, 0.01, 0.6)
    for one, acc in SETS.items():
        (found,) = (name for name in report["metrics"] if name.startswith("val_score") and one in name)
        assert ends(report, found) == (len(STEPS), acc, pytest.approx(acc + 0.06))
    assert report["verdict"]["best_checkpoint"]["path"] is None, "a folder of evaluations holds no weights"


def test_the_mean_over_sets_is_no_set_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of three sets falls: the verdict says so, and counts three."""
    rows = ({"step": i, "reward": i / 200, "loss": 0.1, "kl": 0.01} for i in range(1, 201))
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = [
        f"{step},{one},{0.3 + (step if one != 'math500' else -step) / 1000:.3f}"
        for step in range(0, 201, 10)
        for one in SETS
    ]
    (tmp_path / "eval.csv").write_text("\n".join(["step,dataset,accuracy", *told, ""]))
    assert main(["report", str(tmp_path)]) == 0
    assert "Of 3 validation sets 1 fell" in capsys.readouterr().out


def test_samples_of_a_training_step_keep_their_mean(tmp_path: Path) -> None:
    """The mean of all samples is the reward of the step; what each environment gave stands beside it."""
    rows = [
        {"step": i, "env": env, "reward": r}
        for i in range(1, 41)
        for env, r in (("maze", 0.25), ("maze", 0.75), ("chess", 0.0), ("chess", 0.5))
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = reported(tmp_path)
    assert ends(report, "reward_mean") == (40, 0.375, 0.375)
    found = {name: ends(report, name)[1] for name in report["metrics"] if "maze" in name or "chess" in name}
    assert sorted(found.values()) == [0.25, 0.5], found
