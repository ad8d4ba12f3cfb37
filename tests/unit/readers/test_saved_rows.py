"""Rows saved as YAML, and points without a header, through the command line; a config is no log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reported import ends, refused, reported

STEPS = range(1, 41)
STYLES: dict[str, Callable[[int], str]] = {
    "documents": lambda i: f"---\nstep: {i}\nreward: {i / 100}\nloss: {1 / i:.4e}\n",
    "documents, their ends marked": lambda i: f"step: {i}\nreward: {i / 100}\nloss: {1 / i:.4f}\n---\n",
    "list": lambda i: f"- step: {i}\n  reward: {i / 100}\n  loss: {1 / i:.4f}\n",
    "list of objects": lambda i: f"- {{step: {i}, reward: {i / 100}, loss: {1 / i:.4f}}}\n",
    "by step": lambda i: f"{i}:\n  reward: {i / 100}\n  loss: {1 / i:.4f}\n",
    "with times": lambda i: f"- step: {i}\n  time: 2026-03-01 10:00:{i:02}\n  reward: {i / 100}\n  loss: {1 / i:.4f}\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_rows_in_yaml(style: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.yaml").write_text("".join(map(STYLES[style], STEPS)))
    report = reported(tmp_path / "metrics.yaml")
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (1, 40, 40)
    assert ends(report, "reward_mean") == (40, 0.01, 0.4)
    assert {m["count"] for m in report["metrics"].values()} == {40}


@pytest.mark.parametrize("style", STYLES)
def test_a_row_that_is_half_written_costs_no_other(style: str, tmp_path: Path) -> None:
    text = "".join(map(STYLES[style], STEPS))
    (tmp_path / "metrics.yml").write_text(text + "- step: [4")
    assert reported(tmp_path / "metrics.yml")["run"]["steps"]["rows"] in (39, 40)


@pytest.mark.parametrize("style", STYLES)
def test_more_rows_than_are_looked_at_first(style: str, tmp_path: Path) -> None:
    steps = range(10, 5010)
    (tmp_path / "metrics.yaml").write_text("".join(STYLES[style](i).replace(f":{i:02}\n", ":07\n") for i in steps))
    assert reported(tmp_path / "metrics.yaml")["run"]["steps"]["rows"] == 5000


@pytest.mark.parametrize(
    "text",
    [
        "model: small\nlr: 1.0e-5\nschedule:\n- {step: 1, lr: 0.1}\n- {step: 2, lr: 0.2}\n- {step: 3, lr: 0.3}\n",
        "- reward\n- loss\n- kl\n",
        "jobs:\n  1: {reward: 0.5}\n",
        "a: &a [1, 2]\n",
        "- [step, 1]\n- [step, 2]\n- [step, 3]\n",
        "key: [unclosed\n",
    ],
)
def test_other_yaml_is_no_log(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(text)
    assert "no training log recognised" in refused(tmp_path / "config.yaml")


TOML = "".join(f"[[step]]\nstep = {i}\nreward = {i / 100}\nloss = {1 / i:.4e}\n\n" for i in STEPS)


@pytest.mark.parametrize("above", ["", 'name = "x"\n[run]\nlr = 1e-6\n\n'])
@pytest.mark.parametrize("cut", ["", "[[step]]\nstep = 41\nrew"])
@pytest.mark.parametrize("is_named", [True, False])
def test_rows_in_toml(above: str, cut: str, is_named: bool, tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text(above + TOML + cut)
    report = reported(tmp_path / "metrics.toml" if is_named else tmp_path)
    assert report["run"]["steps"] == {"first": 1, "last": 40, "total": None, "rows": 40}
    assert ends(report, "reward_mean") == (40, 0.01, 0.4)
    assert ("lr" in report["config"]) is bool(above)


def test_a_schedule_in_toml_is_no_log(tmp_path: Path) -> None:
    text = "".join(f"[[schedule]]\nstep = {i}\nlr = 0.{i}\n" for i in range(1, 6))
    (tmp_path / "metrics.toml").write_text(f"lr = 1\n{text}")
    assert "no training log recognised" in refused(tmp_path / "metrics.toml")


@pytest.mark.parametrize("separator", [",", "\t", ";", " "])
def test_points_without_a_header(separator: str, tmp_path: Path) -> None:
    """The name of the file is the metric's; no row is taken for a header."""
    lines = "".join(f"{i * 5}{separator}{i / 100}\n" for i in STEPS)
    (tmp_path / "reward.csv").write_text(lines)
    report = reported(tmp_path / "reward.csv")
    assert (report["run"]["steps"]["first"], report["run"]["steps"]["rows"]) == (5, 40)
    assert ends(report, "reward_mean") == (40, 0.01, 0.4)


@pytest.mark.parametrize("lines", ["3,0.5\n1,0.2\n2,0.3\n9,1.5\n4,0.1\n8,0.7\n", "1,2\n2,5\n3,7\n4,1\n5,0\n6,3\n"])
def test_pairs_of_numbers_that_are_no_points(lines: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(lines)
    assert "no training log recognised" in refused(tmp_path / "edges.csv")
