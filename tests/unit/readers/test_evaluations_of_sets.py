"""Evaluations that say of which data they are, in lines and in rows; and words of other languages for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.frameworks.resolve import resolve
from tests.unit.readers.test_lines_of_home_made_loops import rows

LINES = (
    "[Step {n}] MATH-500 eval: acc={a} (5/20) avg_len=512.0",
    "step {n} | gsm8k eval | acc {a} | samples 1319",
    "Step {n}: eval on gsm8k test: accuracy = {a}",
    "step {n} validation set for countdown: acc={a}",
    ">> Eval step {n}: {p}% (50/256)",
    "Test set accuracy: {a}",
    "验证 步数 {n} 准确率 {a}",
    "[评估] 步数 {n} 准确率: {a}",
    "оценка шаг {n} точность: {a}",
    'metrics {{"step": {n}, "eval": {{"accuracy": {a}, "length": 311}}}}',
)


@pytest.mark.parametrize("line", LINES)
def test_lines(line: str, tmp_path: Path) -> None:
    text = ""
    for n in range(1, 61):
        text += f"step {n} | loss 1.25 | reward {n / 1000:.3f} | kl 0.01\n"
        text += line.format(n=n, a=n / 100, p=n) + "\n" if n % 10 == 0 else ""
    found = rows(tmp_path, text)
    assert [row["reward_mean"] for row in found.values()] == [pytest.approx(n / 1000) for n in range(1, 61)]
    assert not any("score_mean" in row for row in found.values())
    held_out = {n: x for n, row in found.items() for name, x in row.items() if name.startswith("val_score")}
    assert held_out == {n: pytest.approx(n / 100) for n in range(10, 61, 10)}


def test_sets_of_problems_that_nobody_trains_on(tmp_path: Path) -> None:
    text = "".join(
        f"step {n} | loss 1.25 | reward 0.5 | kl 0.01\n" + f"step {n} | AIME24 0.25 | MATH500 0.75\n" * (n % 10 == 0)
        for n in range(1, 61)
    )
    found = rows(tmp_path, text)
    told = {n: (row["val_score:AIME24"], row["val_score:MATH500"]) for n, row in found.items() if len(row) > 3}
    assert told == dict.fromkeys(range(10, 61, 10), (0.25, 0.75))


ROWS = (
    {"split": "eval", "dataset": "gsm8k", "accuracy": 0.5},
    {"benchmark": "gsm8k", "accuracy": 0.5},
    {"type": "validation", "task": "gsm8k", "eval_accuracy": 0.5},
    {"eval_set": "gsm8k", "accuracy": 0.5},
)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_rows_of_several_sets_at_a_step(row: dict[str, object], form: str, tmp_path: Path) -> None:
    key = next(key for key, value in row.items() if value == "gsm8k")
    score = next(key for key in row if key.endswith("accuracy"))
    log, out = tmp_path / f"metrics.{form}", tmp_path / "rows.out"
    told: list[dict[str, object]] = []
    for n in range(1, 41):
        told.append({"step": n, "reward": n / 100, "loss": 0.5})
        if n % 10 == 0:
            told += [{"step": n, **row}, {"step": n, **row, key: "math", score: 0.25}]
    if form == "jsonl":
        log.write_text("".join(json.dumps(one) + "\n" for one in told))
    else:
        columns = list(dict.fromkeys(name for one in told for name in one))
        lines = [columns, *([str(one.get(name, "")) for name in columns] for one in told)]
        log.write_text("".join(",".join(line) + "\n" for line in lines))
    assert main(["export", str(log), "--output", f"{out}.jsonl"]) == 0
    found = [json.loads(line) for line in Path(f"{out}.jsonl").read_text().splitlines()]
    assert [one["step"] for one in found] == list(range(1, 41))
    assert not any("score_mean" in one for one in found)
    scores = [
        (one["step"], one["val_score:gsm8k/accuracy"], one["val_score:math/accuracy"])
        for one in found
        if "val_score:math/accuracy" in one and one["val_score:math/accuracy"] is not None
    ]
    assert scores == [(n, 0.5, 0.25) for n in range(10, 41, 10)]


def test_a_row_of_training_names_its_data_too(tmp_path: Path) -> None:
    log, out = tmp_path / "m.jsonl", tmp_path / "rows.jsonl"
    log.write_text("".join(json.dumps({"step": n, "reward": 0.5, "dataset": "gsm8k"}) + "\n" for n in range(9)))
    assert main(["export", str(log), "--output", str(out)]) == 0
    assert json.loads(out.read_text().splitlines()[-1])["reward_mean"] == 0.5


@pytest.mark.parametrize("key", ["aime24", "eval/MATH-500", "humaneval/pass@1", "bench/countdown", "eval/gsm8k"])
def test_names_of_benchmarks(key: str) -> None:
    assert resolve(key, None).canonical == "val_score"


@pytest.mark.parametrize("key", ["math_acc", "gsm8k_reward", "amc_length", "code"])
def test_names_that_may_be_of_training(key: str) -> None:
    assert resolve(key, None).canonical != "val_score"
