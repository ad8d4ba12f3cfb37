"""Chat samples between step lines: what somebody says there is text, also if it has the form of a step line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reported import ends, reported

SAID = {
    "as the step lines": ("User: count", "Assistant: step={bad} reward=7.7 kl=4.4"),
    "after words": ("User: What is 15% of 40?", "Assistant: It is 6. Step {bad}: reward=9.9 kl=3.3", ""),
    "in other letters": ("### Human: go", "assistant: iteration {bad}, reward 9.9"),
}


@pytest.mark.parametrize("lead", ["", "2026-05-01 10:00:{second:02} INFO "])
@pytest.mark.parametrize("said", SAID)
def test_what_is_said_is_no_step(said: str, lead: str, tmp_path: Path) -> None:
    lines = []
    for step in range(1, 61):
        stamp = lead.format(second=step % 60)
        lines.append(f"{stamp}step={step} reward={step / 100} kl={step / 1000}")
        if step % 7 == 0:
            lines += [stamp + line.format(bad=step + 3) for line in SAID[said]]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    report = reported(tmp_path)
    assert (report["run"]["steps"]["rows"], report["run"]["steps"]["last"]) == (60, 60)
    assert report["run"]["restarts"] == []
    assert ends(report, "reward_mean") == (60, 0.01, 0.6)
    assert ends(report, "kl_ref") == (60, 0.001, 0.06)
