"""A metric a line, its name and its number each with a word of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.cli import main
from tests.unit.readers.reported import ends, reported

STEPS = range(1, 41)
LINES: dict[str, Callable[[str, float, int], str]] = {
    "tagged": lambda name, value, step: f"::metric:: name={name} value={value:.5f} step={step}",
    "stamped": lambda name, value, step: (
        f"2026-11-20 10:00:00,123 [INFO] metric={name}, value={value:.5f}, step={step}"
    ),
    "bars": lambda name, value, step: f"step {step} | name: {name} | value: {value:.5f}",
    "braces": lambda name, value, step: f"{{metricName: {name}, metricValue: {value:.5f}; metricStep: {step}}}",
    "quoted": lambda name, value, step: f'METRIC step={step} key="{name}" value="{value:.5f}"',
    "step between": lambda name, value, step: f"INFO name={name} step={step} value={value:.5f}",
    "tag first": lambda name, value, step: f"tag: {name}, step: {step}, value: {value:.5f}",
    "negative": lambda name, value, step: f"scalar={name} val={value:+.5f} step={step}",
}


def measured(step: int) -> dict[str, float]:
    return {"reward": 0.2 + 0.005 * step, "kl": 0.0005 * step, "entropy": 1.4 - 0.004 * step}


@pytest.mark.parametrize("style", LINES)
def test_each_number_gets_its_name(style: str, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"{LINES[style](n, v, s)}\n" for s in STEPS for n, v in measured(s).items()))
    report = reported(log)
    assert report["run"]["steps"]["last"] == STEPS[-1]
    for name, key in (("reward_mean", "reward"), ("kl_ref", "kl"), ("entropy", "entropy")):
        first, last = measured(STEPS[0])[key], measured(STEPS[-1])[key]
        assert ends(report, name) == (len(STEPS), pytest.approx(first), pytest.approx(last)), name
    assert len(report["metrics"]) == 3


def test_a_setting_with_a_name_and_a_value_is_no_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "".join(f"param name={name} value={i}.5\n" for i, name in enumerate(("lr", "beta", "gamma")) for _ in "ab")
    )
    assert main(["report", str(log)]) == 2
