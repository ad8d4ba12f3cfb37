from __future__ import annotations

import json

from tests.unit.readers.reading import read

STATE = {
    "best_metric": None,
    "global_step": 20,
    "max_steps": 300,
    "logging_steps": 10,
    "eval_steps": 500,
    "log_history": [
        {"step": 10, "epoch": 0.1, "loss": 0.5, "kl": float("nan")},
        {"step": 10, "epoch": 0.1, "eval_reward": 0.25, "eval_name": "x"},
        {"step": 20, "epoch": 0.2, "loss": "0.4"},
        "broken",
        {"step": 20, "train_runtime": 12.5, "train_loss": 0.45},
    ],
}


def test_rows_plan_and_end() -> None:
    found = read("trainer-state", json.dumps(STATE, indent=2), [7, 100])
    assert found.rows == [
        (10, {"epoch": 0.1, "loss": 0.5, "kl": None}),
        (10, {"epoch": 0.1, "eval_reward": 0.25}),
        (20, {"epoch": 0.2, "loss": 0.4}),
    ]
    assert [(n.kind, n.step, n.total) for n in found.notes] == [("progress", 20, 300), ("end", 20, None)]
    assert found.configs[0].values == {"max_steps": 300, "logging_steps": 10, "eval_steps": 500}
    assert found.reader.skipped == {"log_history entry that is not an object": 1}
    assert found.reader.whole


def test_nothing_is_given_out_twice_and_half_a_file_is_none() -> None:
    text = json.dumps(STATE).encode()
    found = read("trainer-state", text[:100])
    assert found.rows == []
    assert sum(found.reader.skipped.values()) == 1
    found.take(found.reader.feed(text[100:]))
    found.take(found.reader.finish())
    assert len(found.rows) == 3
    found.take(found.reader.finish())
    assert len(found.rows) == 3


def test_other_documents() -> None:
    for text in ("[]", '{"log_history": 3}', "", "{}"):
        assert read("trainer-state", text).rows == []


def test_an_interval_of_evaluations_counts_only_if_there_are_some() -> None:
    rows = [row for row in STATE["log_history"] if isinstance(row, dict) and "eval_reward" not in row]
    found = read("trainer-state", json.dumps(STATE | {"log_history": rows}))
    assert found.configs[0].values == {"max_steps": 300, "logging_steps": 10}
