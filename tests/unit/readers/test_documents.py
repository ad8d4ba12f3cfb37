"""JSON documents of every shape, and rows of every kind in JSON lines, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import ends, refused, reported

N = 30
ROWS: list[dict[str, Any]] = [
    {"step": i, "reward": round(0.2 + 0.01 * i, 4), "loss": round(0.5 / i, 6), "kl": 0.001 * i} for i in range(1, N + 1)
]
COLUMNS = {key: [row[key] for row in ROWS] for key in ROWS[0]}
STEPLESS = {key: column for key, column in COLUMNS.items() if key != "step"}
CONFIG = {"learning_rate": 2e-6, "num_generations": 8, "algorithm": "grpo"}


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


DOCUMENTS = {
    "columns": json.dumps(COLUMNS),
    "columns without steps": json.dumps(STEPLESS, indent=2),
    "columns beside a config": json.dumps({"config": CONFIG, "history": STEPLESS}),
    "rows below a key": json.dumps({"args": CONFIG, "metrics": ROWS}, indent=1),
    "rows by step": json.dumps({str(row["step"]): {k: v for k, v in row.items() if k != "step"} for row in ROWS}),
    "rows by name of a step": json.dumps({f"step_{row['step']}": {**row} for row in ROWS}),
    "points by metric": json.dumps({k: [[i + 1, v] for i, v in enumerate(column)] for k, column in STEPLESS.items()}),
    "rows without steps": json.dumps([{k: v for k, v in row.items() if k != "step"} for row in ROWS]),
    "rows of epochs, each with its time": json.dumps(
        [
            {
                "epoch": row["step"],
                **{k: v for k, v in row.items() if k != "step"},
                "timestamp": f"2026-04-18T21:{i:02}:52.8",
            }
            for i, row in enumerate(ROWS)
        ]
    ),
    "trailing commas": "[\n" + "".join(json.dumps(row) + ",\n" for row in ROWS) + "]\n",
    "comments": "// of tonight\n[\n" + ",\n".join(json.dumps(row) for row in ROWS) + "\n/* more to come */]\n",
    "one behind the other": "".join(json.dumps(row) for row in ROWS),
    "indented, one behind the other": "".join(json.dumps(row, indent=2) + "\n" for row in ROWS),
    "half written": "[\n" + ",\n".join(json.dumps(row) for row in ROWS) + ',\n{"step": 31, "rew',
    "Python's words": repr({**STEPLESS, "best": None, "resumed": False}),
    "pandas, split": json.dumps({"columns": list(ROWS[0]), "index": [], "data": [list(row.values()) for row in ROWS]}),
    "pandas, by column": json.dumps({k: {str(i + 1): v for i, v in enumerate(c)} for k, c in STEPLESS.items()}),
    "columns by epoch": json.dumps(
        {f"epoch_{e}": {k: c[10 * e : 10 * e + 10] for k, c in STEPLESS.items()} for e in range(3)}
    ),
    "a byte-order mark": "\ufeff" + json.dumps(COLUMNS),
}


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_of_any_shape(text: str, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text(text, encoding="utf-8")
    report = reported(path)
    assert report["run"]["steps"]["rows"] == N
    assert report["run"]["steps"]["last"] == N
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert ends(report, "kl_ref") == (N, 0.001, 0.03)
    if "config" in text or "args" in text:
        assert {key: said["value"] for key, said in report["config"].items()} == {
            "lr": 2e-6,
            "group_size": 8,
            "adv_estimator": "grpo",
        }
        assert report["run"]["algorithm"] == "GRPO"


def test_a_column_of_another_length_is_told(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text(json.dumps({**STEPLESS, "eval_reward": [0.1, 0.2]}))
    (source,) = reported(tmp_path / "h.json")["run"]["sources"]
    assert source["skipped"] == 1
    assert "eval_reward" in source["note"]


def test_training_and_evaluation_side_by_side(tmp_path: Path) -> None:
    evaluated = [{"step": s, "reward": s / 100} for s in (10, 20, 30)]
    (tmp_path / "h.json").write_text(json.dumps({"train": ROWS, "eval": evaluated}))
    report = reported(tmp_path / "h.json")
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert ends(report, "val_score") == (3, 0.1, 0.3)


def test_lists_of_rows_side_by_side_are_read_by_their_steps(tmp_path: Path) -> None:
    """A list of rows with a step and other numbers is no list of points, and the lists are one history."""
    evaluated = [{"win_rate": s / 100, "mean_return": s / 10, "step": s} for s in (10, 20, 30)]
    losses = [{"actor_loss": row["loss"], "step": row["step"]} for row in ROWS]
    (tmp_path / "h.json").write_text(json.dumps({"eval_history": evaluated, "loss_history": losses}))
    report = reported(tmp_path / "h.json")
    assert report["run"]["steps"]["rows"] == N
    assert report["run"]["attempts"] == []
    found = {m["key"]: m["count"] for m in report["metrics"].values()}
    assert found["actor_loss"] == N
    assert found["eval/mean_return"] == found["eval/win_rate"] == 3


def test_columns_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    steps = list(range(1, 30_001))
    (tmp_path / "h.json").write_text(json.dumps({"timesteps": steps, "mean_rewards": [s / 1e6 for s in steps]}))
    report = reported(tmp_path / "h.json")
    assert (report["run"]["steps"]["rows"], report["run"]["steps"]["last"]) == (30_000, 30_000)


def test_the_summary_of_wandb_alone_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "wandb-summary.json").write_text(json.dumps({"_step": 400, "_runtime": 9.5, "train/reward": 0.625}))
    report = reported(tmp_path)
    assert report["run"]["steps"] == {"first": 400, "last": 400, "total": None, "rows": 1}
    assert ends(report, "reward_mean") == (1, 0.625, 0.625)


def test_each_run_of_a_document_is_a_run(tmp_path: Path) -> None:
    worse = {**STEPLESS, "reward": [x / 2 for x in COLUMNS["reward"]]}
    (tmp_path / "sweep.json").write_text(json.dumps({"lr1e-5": worse, "lr1e-6": STEPLESS}))
    said = ends(reported(Path(f"{tmp_path}/sweep.json#lr1e-5")), "reward_mean")
    assert said == (N, 0.105, 0.25)
    assert ends(reported(Path(f"{tmp_path}/sweep.json#lr1e-6")), "reward_mean") == (N, 0.21, 0.5)


NO_RUNS = {
    "settings": json.dumps(CONFIG),
    "a vocabulary": json.dumps({"hello": 1, "world": 2, "loss": 3}),
    "results of tasks": json.dumps([{"task": "gsm8k", "accuracy": 0.5}, {"task": "math", "accuracy": 0.25}]),
    "examples": json.dumps([{"prompt": "a", "answer": "b"}] * 5),
    "a plot": json.dumps({"x": [1, 2, 3], "y": [2, 3, 4]}),
    "numbers": "[1, 2, 3]",
    "a torn brace": "{",
}


@pytest.mark.parametrize("text", NO_RUNS.values(), ids=NO_RUNS)
def test_a_document_of_something_else_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "thing.json").write_text(text)
    assert "--format-in" in refused(tmp_path / "thing.json")


FLAGS: dict[str, dict[str, object]] = {
    "split": {"split": "eval"},
    "phase": {"phase": "validation"},
    "a switch": {"is_eval": True},
    "mode": {"mode": "val"},
    "an event": {"event": "eval_done"},
}


@pytest.mark.parametrize("flag", FLAGS.values(), ids=FLAGS)
def test_rows_of_an_evaluation_are_told_by_their_flag(flag: dict[str, object], tmp_path: Path) -> None:
    own = next(iter(flag))
    train: dict[str, object] = {own: False if flag[own] is True else "train"}
    rows = [part for row in ROWS for part in ({**row, **train}, {"step": row["step"], "reward": 0.75, **flag})]
    (tmp_path / "m.jsonl").write_text(lines(*rows))
    report = reported(tmp_path)
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert ends(report, "val_score") == (N, 0.75, 0.75)


def test_config_and_events_are_no_metrics(tmp_path: Path) -> None:
    head = {"type": "config", **CONFIG, "betas": [0.9, 0.95]}
    bare = {"model": "q", "seed": 3, "temperature": 0.5}
    end = {"event": "done", "best_reward": 0.99, "hours": 2}
    (tmp_path / "m.jsonl").write_text(lines(head, bare, *ROWS, end))
    report = reported(tmp_path)
    assert report["run"]["steps"] == {"first": 1, "last": N, "total": None, "rows": N}
    assert report["run"]["state"] == "finished"
    assert set(report["metrics"]) == {"reward_mean", "total_loss", "kl_ref"}
    assert {key: said["value"] for key, said in report["config"].items()} == {
        "lr": 2e-6,
        "group_size": 8,
        "adv_estimator": "grpo",
        "model": "q",
        "seed": 3,
        "temperature": 0.5,
    }


@pytest.mark.parametrize("text", [{}, {"prompt": "2+2", "completion": "4"}], ids=["numbers", "with text"])
def test_rows_of_samples_are_averaged_by_step(text: dict[str, str], tmp_path: Path) -> None:
    rows = [{"step": s, "sample": j, "reward": s + j % 2, **text} for s in range(1, 11) for j in range(4)]
    (tmp_path / "s.jsonl").write_text(lines(*rows))
    report = reported(tmp_path / "s.jsonl")
    assert ends(report, "reward_mean") == (10, 1.5, 10.5)
    assert set(report["metrics"]) == {"reward_mean"}
    (source,) = report["run"]["sources"]
    assert "averaged by step: 40" in source["note"]


def test_a_step_that_stands_in_an_object_of_its_own(tmp_path: Path) -> None:
    rows = [{"meta": {"step": row["step"], "host": 3}, "metrics": {"reward": row["reward"]}} for row in ROWS]
    (tmp_path / "m.jsonl").write_text(lines({"event": "start", "config": CONFIG}, *rows))
    report = reported(tmp_path)
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert report["config"]["lr"]["value"] == 2e-6
    assert report["run"]["algorithm"] == "GRPO"


def test_values_in_the_words_of_numpy_and_torch(tmp_path: Path) -> None:
    line = (
        "{{'step': {step}, 'reward': np.float64({reward}), 'kl': tensor({kl}, device='cuda:0'), 'loss': array({loss})}}"
    )
    (tmp_path / "m.log").write_text("".join(line.format(**row) + "\n" for row in ROWS))
    report = reported(tmp_path)
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert ends(report, "kl_ref") == (N, 0.001, 0.03)


def test_samples_among_metrics_do_not_mix_with_them(tmp_path: Path) -> None:
    rows = [part for row in ROWS for part in (row, {"step": row["step"], "prompt": "a", "reward": 9.0})]
    (tmp_path / "m.jsonl").write_text(lines(*rows))
    report = reported(tmp_path / "m.jsonl")
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert report["run"]["sources"][0]["skipped"] == N


def test_a_list_of_rewards_counts_with_its_mean(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(lines(*({"step": s, "rewards": [0, 1, s, s], "lr": 0.1} for s in range(1, 9))))
    assert ends(reported(tmp_path), "reward_mean") == (8, 0.75, 4.25)


def test_one_value_a_row(tmp_path: Path) -> None:
    rows = [{"step": row["step"], "name": key, "value": row[key]} for row in ROWS for key in row if key != "step"]
    (tmp_path / "m.jsonl").write_text(lines(*rows))
    report = reported(tmp_path)
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert set(report["metrics"]) == {"reward_mean", "total_loss", "kl_ref"}


@pytest.mark.parametrize("start", ["", "{"], ids=["in the middle", "at the start"])
def test_zeros_left_by_a_truncation_cost_no_other_row(start: str, tmp_path: Path) -> None:
    text = lines(*ROWS).encode()
    cut = text.index(b"\n", 0 if start else 300) + 1 if not start else 0
    (tmp_path / "m.jsonl").write_bytes(text[:cut] + b"\0" * 5000 + text[cut:])
    assert ends(reported(tmp_path), "reward_mean") == (N, 0.21, 0.5)


def test_commas_behind_rows(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + ",\n" for row in ROWS))
    assert ends(reported(tmp_path), "reward_mean") == (N, 0.21, 0.5)


def test_each_run_of_one_file_is_a_run(tmp_path: Path) -> None:
    runs = {
        name: [{**row, "run": name, "reward": row["reward"] * by} for row in ROWS] for name, by in (("a", 1), ("b", 2))
    }
    (tmp_path / "m.jsonl").write_text(lines(*runs["a"], *runs["b"]))
    assert ends(reported(Path(f"{tmp_path}/m.jsonl#b")), "reward_mean") == (N, 0.42, 1.0)
    assert ends(reported(Path(f"{tmp_path}/m.jsonl#a")), "reward_mean") == (N, 0.21, 0.5)


def test_launches_that_go_on_from_each_other_are_one_run(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(lines(*({**row, "run_id": f"r{row['step'] // 16}"} for row in ROWS)))
    assert ends(reported(tmp_path), "reward_mean") == (N, 0.21, 0.5)
