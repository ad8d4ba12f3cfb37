"""A table of an evaluation below the line of a step is of that step: a row for each set of problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import ends, reported

N, EACH = 30, 6

STEPS = {
    "named": "step {i} | reward {x:.2f} | kl 0.0{i:02d}",
    "counted": "[{i}/30] reward={x:.2f} kl=0.0{i:02d}",
}
TABLES = {
    "markdown": "| {0} | acc |\n|---|---|\n| gsm8k | {a:.3f} |\n| amc23 | {b:.3f} |",
    "frame": "+------+-----+\n| {0} | acc |\n+------+-----+\n| gsm8k | {a:.3f} |\n| amc23 | {b:.3f} |\n+------+-----+",
    "box": "┌────┬───┐\n│ {0} │ acc │\n├────┼───┤\n│ gsm8k │ {a:.3f} │\n│ amc23 │ {b:.3f} │\n└────┴───┘",
    "columns": "{0}      acc     n\ngsm8k    {a:.3f}   1319\namc23    {b:.3f}     40",
    "announced": "Evaluation after step {i}\n{0}      acc\ngsm8k    {a:.3f}\namc23    {b:.3f}",
}


def log(tmp_path: Path, step: str, table: str, name: str = "benchmark") -> Path:
    lines = []
    for i in range(1, N + 1):
        x = 0.2 + 0.01 * i
        lines.append(step.format(i=i, x=x))
        if i % EACH == 0:
            lines.append(table.format(name, i=i, a=x + 0.1, b=x - 0.1))
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def scores(report: dict[str, Any]) -> dict[str, tuple[int, float, float]]:
    return {one["key"]: ends(report, name) for name, one in report["metrics"].items() if "eval" in one["key"]}


@pytest.mark.parametrize("name", ["benchmark", "dataset", "task"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("step", STEPS)
def test_each_row_is_a_score_of_the_step(tmp_path: Path, step: str, table: str, name: str) -> None:
    report = reported(log(tmp_path, STEPS[step], TABLES[table], name))
    assert scores(report) == {
        "eval/gsm8k/acc": (N // EACH, 0.36, 0.6),
        "eval/amc23/acc": (N // EACH, 0.16, 0.4),
    }
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)
    assert report["run"]["steps"]["rows"] == N


def test_percentages_are_shares(tmp_path: Path) -> None:
    table = "| benchmark | pass@1 | n |\n|---|---|---|\n| gsm8k | 36.5% | 1319 |\n| aime24 | 3.0% | 30 |"
    assert scores(reported(log(tmp_path, STEPS["named"], table))) == {
        "eval/gsm8k/pass@1": (N // EACH, 0.365, 0.365),
        "eval/aime24/pass@1": (N // EACH, 0.03, 0.03),
    }


@pytest.mark.parametrize(
    "table",
    [
        "| dataset | reward |\n|---|---|\n| easy | 0.360 |\n| hard | 0.160 |",  # may be of the training
        "| dataset | rows |\n|---|---|\n| gsm8k | 7473 |\n| math | 7500 |",  # no scores
        "task      state     n\ngsm8k   queued   30",
        "| benchmark | acc |\n|---|---|",
    ],
)
def test_other_tables_are_none(tmp_path: Path, table: str) -> None:
    report = reported(log(tmp_path, STEPS["named"], table))
    assert not scores(report)
    assert ends(report, "reward_mean") == (N, 0.21, 0.5)


def test_the_step_line_below_a_table_is_read(tmp_path: Path) -> None:
    report = reported(log(tmp_path, STEPS["counted"], TABLES["columns"]))
    assert [report["metrics"][name]["count"] for name in ("reward_mean", "kl_ref")] == [N, N]
