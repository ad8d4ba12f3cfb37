"""What trackers export: a metric a row or a file, curves as they are drawn, rows whose line ends were lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main

STEPS = range(1, 31)


def exported(tmp_path: Path, run: Path) -> list[tuple[int, float, float]]:
    """Step, reward and loss of each row of a run."""
    out = tmp_path / "rows.jsonl"
    assert main(["export", str(run), "--output", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return [(row["step"], row["reward_mean"], row["total_loss"]) for row in rows]


WANTED = [(n, n / 100, 1.5 - n / 100) for n in STEPS]
VALUES = [(n, name, x) for n, reward, loss in WANTED for name, x in (("reward", reward), ("loss", loss))]


@pytest.mark.parametrize(
    ("name", "value"),
    [("metricName", "metricValue"), ("metric.name", "value"), ("Tag", "Value"), ("Metric Name", "Metric Value")],
)
@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_a_metric_a_row(name: str, value: str, form: str, tmp_path: Path) -> None:
    rows = [{name: key, "step": n, value: x, "timestamp": 1787832001000 + n} for n, key, x in VALUES]
    log = tmp_path / "run" / f"metrics.{form}"
    log.parent.mkdir()
    if form == "csv":
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        log.write_text("\n".join(lines) + "\n")
    else:
        log.write_text(json.dumps(rows) if form == "json" else "".join(json.dumps(row) + "\n" for row in rows))
    assert exported(tmp_path, log) == WANTED


POINTS = {
    "step and value": "{n},{x}",
    "with the time in between": "{n}.0,178783200{n:04d},{x}",
    "with the time before": "1787832{n:03d}.5\t{n}\t{x}",
}


@pytest.mark.parametrize("form", POINTS)
def test_a_metric_a_file(form: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for key in ("reward", "loss"):
        points = (POINTS[form].format(n=n, x=x) for n, name, x in VALUES if name == key)
        (run / f"{key}.csv").write_text("\n".join(points) + "\n")
    assert exported(tmp_path, run) == WANTED


@pytest.mark.parametrize(("across", "up"), [("x", "y"), ("steps", "values"), ("iterations", "y")])
def test_curves_as_they_are_drawn(across: str, up: str, tmp_path: Path) -> None:
    curves = {
        key: {"name": key, across: list(STEPS), up: [x for _, name, x in VALUES if name == key]}
        for key in ("reward", "loss")
    }
    log = tmp_path / "scalars.json"
    log.write_text(json.dumps({"train": curves}))
    assert exported(tmp_path, log) == WANTED


@pytest.mark.parametrize("between", ["", " ", ", "])
def test_rows_whose_line_ends_were_lost(between: str, tmp_path: Path) -> None:
    rows = [json.dumps({"step": n, "reward": reward, "loss": loss}) for n, reward, loss in WANTED]
    lines = [between.join(rows[:3]), *rows[3:9], between.join(rows[9:11]), *rows[11:]]
    log = tmp_path / "metrics.jsonl"
    log.write_text("\n".join(lines) + "\n")
    assert exported(tmp_path, log) == WANTED
