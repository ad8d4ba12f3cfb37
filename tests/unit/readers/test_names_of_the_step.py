"""A column that counts the steps under a name that may also be that of a metric: it does so if it rises in the first
rows. Otherwise the rows are counted, and it is a metric."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.session.runs import content, opened

SURE = ["n_updates", "outer_step", "gradient_step", "actor_step", "cur_step", "ppo_iter", "policy_version"]
PERHAPS = ["rollout", "batch", "batch_idx", "num_steps", "Steps", "index", "i", "t", "x"]
STEPS = range(10, 410, 10)


def write(path: Path, name: str, values: list[float]) -> None:
    rows = [{name: x, "reward": i / 64, "loss": i / 128} for i, x in enumerate(values, 1)]
    if path.suffix == ".csv":
        path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
@pytest.mark.parametrize("name", SURE + PERHAPS)
def test_it_states_the_steps(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"metrics.{ending}"
    write(path, name, list(STEPS))
    assert {step: row["reward"] for step, row in content(opened(path)).items()} == {s: s / 640 for s in STEPS}


@pytest.mark.parametrize("values", [[128] * 40, [4 + i % 3 / 2 for i in range(40)], [1.7e9 + i for i in range(40)]])
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_metric_of_that_name_is_kept(values: list[float], ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"metrics.{ending}"
    write(path, "batch", values)
    rows = content(opened(path))
    assert {step: (row["batch"], row["reward"]) for step, row in rows.items()} == {
        i: (x, i / 64) for i, x in enumerate(values, 1)
    }


@pytest.mark.parametrize(
    "folders", ["checkpoints/step_{s}/metrics.json", "iter_{s}/stats.json", "global_step_{s}/train_metrics.json"]
)
def test_metrics_in_the_folder_of_each_step(folders: str, tmp_path: Path) -> None:
    for s in STEPS:
        path = tmp_path / folders.format(s=s)
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"reward": s / 640, "loss": 0.1}))
    assert {step: row["reward"] for step, row in content(opened(tmp_path)).items()} == {s: s / 640 for s in STEPS}


def test_samples_alone_are_a_run_of_their_means(tmp_path: Path) -> None:
    rows = [
        {"step": s, "prompt": "2+2?", "completion": "4", "reward": k} for s in range(1, 31) for k in (0.0, 1.0, s / 32)
    ]
    (tmp_path / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = {step: row["reward"] for step, row in content(opened(tmp_path)).items()}
    assert found == pytest.approx({s: (1.0 + s / 32) / 3 for s in range(1, 31)})
