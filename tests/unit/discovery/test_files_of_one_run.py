"""What a loop logs of its parts in files of their own is one run, whatever the parts are called."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.discovery.test_grouping import runs
from tests.unit.readers.reported import ends, reported

STEPS = range(1, 61)
PARTS: dict[str, dict[str, float]] = {
    "train.jsonl": {"loss": 0.5},
    "rollout.jsonl": {"reward": 0.3},
    "actor.jsonl": {"entropy": 1.2},
    "system.jsonl": {"gpu_util": 80.0},
    "step_timings.jsonl": {"step_time": 31.0},
}


def rows(values: dict[str, float]) -> str:
    return "".join(json.dumps({"step": n} | {k: v + n / 1000 for k, v in values.items()}) + "\n" for n in STEPS)


def samples(**texts: str) -> str:
    return "".join(json.dumps({"step": n, **texts, "reward": 1.0, "length": 20}) + "\n" for n in STEPS for _ in "ab")


@pytest.mark.parametrize("beside", [{}, {"generations.jsonl": samples(query="1 + 1?", generated="it is 2")}])
def test_files_by_part(tmp_path: Path, beside: dict[str, str]) -> None:
    for name, text in ({name: rows(values) for name, values in PARTS.items()} | beside).items():
        (tmp_path / name).write_text(text)
    report: dict[str, Any] = reported(tmp_path)
    assert report["run"]["steps"]["rows"] == len(STEPS)
    assert {Path(source["path"]).name for source in report["run"]["sources"]} == set(PARTS)
    assert ends(report, "reward_mean") == (60, 0.301, 0.36)
    assert ends(report, "entropy") == (60, 1.201, 1.26)
    assert (report["rollouts"]["count"] > 0) == bool(beside)


def test_rollouts_of_text_are_samples(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(rows(PARTS["train.jsonl"]))
    (tmp_path / "rollouts.jsonl").write_text(samples(prompt="1 + 1?", completion="it is 2"))
    report = reported(tmp_path)
    assert set(report["metrics"]) == {"total_loss"}
    assert report["rollouts"]["count"] == 1


def test_files_called_by_what_they_measure_are_of_the_run_beside_them(tmp_path: Path) -> None:
    parts = {
        "metrics.jsonl": {"reward": 0.3},
        "kl_stats.jsonl": {"kl": 0.01},
        "grad_norms.jsonl": {"grad_norm": 0.5},
        "timing.jsonl": {"step_time": 31.0},
    }
    for name, values in parts.items():
        (tmp_path / name).write_text(rows(values))
    report: dict[str, Any] = reported(tmp_path)
    assert report["run"]["steps"]["rows"] == len(STEPS)
    assert {Path(source["path"]).name for source in report["run"]["sources"]} == set(parts)
    assert ends(report, "grad_norm") == (60, 0.501, 0.56)


@pytest.mark.parametrize(
    ("paths", "wanted"),
    [
        (("kl_stats.jsonl", "grad_norms.jsonl", "timing.jsonl", "eval_results.jsonl", "metrics.jsonl"), 1),
        (("policy.jsonl", "policy_b.jsonl"), 2),
        (("actor.jsonl", "actor_big_lr.jsonl"), 2),
        # near misses: parts of one run, and runs that no file beside them is of
        (("policy.jsonl", "policy_loss.jsonl", "critic.jsonl"), 1),
        (("train.jsonl", "policy.jsonl", "policy_metrics.jsonl"), 1),
        (("kl.jsonl", "baseline.jsonl"), 2),
    ],
)
def test_names_beside_each_other(paths: tuple[str, ...], wanted: int) -> None:
    found = runs(*(f"r/{path}" for path in paths))
    assert len(found) == wanted
    assert sorted(os.path.basename(path) for files in found.values() for path in files) == sorted(paths)
