"""Rows of statistics below a heading that tells their step, and headings that are printed among a logger's lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.reported import ends, reported
from tests.unit.readers.test_wordings import by_step
from tests.unit.session.runs import content, opened

STEPS = range(1, 31)
ROWS: dict[str, Callable[[str, float], str]] = {
    "gaps": lambda k, x: f"{k}  mean {x}  std 0.5  min -1.0  max 2.0",
    "indented": lambda k, x: f"    {k:14s}mean {x:9.6f}  std {0.5:9.4f}  min {-1.0:9.4f}  max {2.0:9.4f}",
    "tabs": lambda k, x: f"{k}\tmean {x}\tstd 0.5\tmin -1.0\tmax 2.0",
    "equals": lambda k, x: f"{k}   mean={x} std=0.5 min=-1.0 max=2.0",
    "commas": lambda k, x: f"{k}:  mean {x}, std 0.5, min -1.0, max 2.0",
}
HEADS = ["Step {n}", "=== Step {n} ===", "Iteration {n}/30:"]


def measured(n: int) -> dict[str, float]:
    return {"reward": n / 64, "response len": 100.0 + n}


def told(n: int, names: tuple[str, ...] = ("reward", "response len")) -> dict[str, float]:
    return {
        f"{k} {which}": x
        for k in names
        for which, x in (("mean", measured(n)[k]), ("std", 0.5), ("min", -1.0), ("max", 2.0))
    }


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("row", ROWS)
def test_each_statistic_is_of_its_metric(row: str, head: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "".join(
            f"{head.format(n=n)}\n" + "".join(f"{ROWS[row](k, x)}\n" for k, x in measured(n).items()) for n in STEPS
        )
    )
    assert content(opened(path)) == {n: pytest.approx(told(n)) for n in STEPS}
    assert ends(reported(path), "reward_mean") == (30, pytest.approx(1 / 64), 30 / 64)


def test_several_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"Step {n}  reward  mean {n / 64}  std 0.5  kl  mean {n / 128}  std 0.25\n" for n in STEPS))
    assert content(opened(path)) == {
        n: {"reward mean": n / 64, "reward std": 0.5, "kl mean": n / 128, "kl std": 0.25} for n in STEPS
    }


LOGGERS = [
    "2026-01-01 10:00:00 INFO ",
    "2026-01-01 10:00:00,123 - trainer - INFO - ",
    "INFO:trainer:",
    "I0101 10:00:00.123456 139 train.py:33] ",
    "2026-01-01 10:00:00.123 | INFO     | __main__:train:33 - ",
]
TITLES = ["=== step {n} ===", "Step {n}", "--- Step {n}/30 ---"]


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("lead", LOGGERS)
def test_a_printed_heading_above_the_lines_of_a_logger(lead: str, title: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "".join(
            f"{title.format(n=n)}\n{lead}reward: {n / 64}\n"
            f"INFO vllm.engine: running: 7, waiting: 3\n{lead}kl: {n / 128}\n"
            for n in STEPS
        )
    )
    assert content(opened(path)) == {n: {"reward": n / 64, "kl": n / 128} for n in STEPS}
    report = reported(path)
    assert ends(report, "reward_mean") == (30, 1 / 64, 30 / 64)
    assert report["run"]["restarts"] == []


def test_lines_of_another_program_below_it_do_not_belong_to_it(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "".join(
            f"=== step {n} ===\nINFO:vllm.engine:running: 7\nreward: {n / 64}\nkl: {n / 128}\n"
            f"INFO:vllm.engine:waiting: 3\n"
            for n in STEPS
        )
    )
    assert content(opened(path)) == {n: {"reward": n / 64, "kl": n / 128} for n in STEPS}


@pytest.mark.parametrize("title", TITLES[:2])
def test_where_the_bytes_are_cut_makes_no_difference(title: str) -> None:
    lines = [f"{title.format(n=n)}\n{LOGGERS[1]}reward: {n / 64:.4f}\n{LOGGERS[1]}kl: 0.5\n" for n in range(1, 6)]
    data = "".join(lines).encode()
    whole = by_step([data])
    assert len(whole) == 5
    assert all(by_step([data[:at], data[at:]]) == whole for at in cuts(data))
