"""A run as it stood at a step, on the screen and by `report --at`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.report.build import build
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader


def test_a_key_that_comes_later_changes_no_past(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After a resume a trainer logs `policy_loss`, too, which stands before its `loss`. Then, `loss` was all it had."""
    rows = []
    for step in range(1, 151):
        row = {"step": step, "reward": 0.3 + step / 500, "loss": 0.1 + (step % 7) / 100, "grad_norm": 1.0 + step % 3}
        row |= {"reward_std": 0.2, "frac_reward_zero_std": 0.1, "completions/mean_length": 90.0, "learning_rate": 1e-6}
        rows.append(row | ({"policy_loss": row["loss"] / 2} if step > 100 else {}))
    log = tmp_path / "trainer_state.json"
    log.write_text(json.dumps({"log_history": rows, "global_step": 150, "max_steps": 150}))
    reader = RunReader(locate([str(log)])[0])
    reader.load()
    reader.frame()
    past = build(reader.past_frame(60))
    assert main(["report", str(log), "--at", "60", "--format", "json"]) == 0
    cut = json.loads(capsys.readouterr().out)
    assert past.verdict.text == cut["verdict"]["text"]
    assert past.checks == cut["checks"]
    assert [f.id for f in past.findings] == [f["id"] for f in cut["findings"]]


@pytest.mark.parametrize(("at", "code"), [(40, 0), (60, 0), (61, 2), (99999, 2)])
def test_a_step_that_the_run_never_came_to_has_no_report(
    at: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(json.dumps({"step": n, "reward": n / 100, "loss": 0.1}) + "\n" for n in range(1, 61)))
    assert main(["report", str(log), "--at", str(at)]) == code
    assert ("the run has only reached step 60" in capsys.readouterr().err) == (code == 2)
