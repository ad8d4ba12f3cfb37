"""Sentences that a reader understands at once, and that nothing beside them contradicts."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.report.escape import plain, table
from rltui.report.markdown_findings import since
from rltui.rules.catalogue import rules
from tests.conftest import REPO
from tests.unit.diagnosis.written import finding, learning, wave, write
from tests.unit.report.fakes import finding as a_finding
from tests.unit.reported import told

ROWS = 240


def kl_run(kl: np.ndarray, folder: Path) -> dict[str, Any]:
    run = write(folder, learning(ROWS) | {"kl": kl, "loss": wave(0.01, 0.002, ROWS, 3)})
    config = {"actor_rollout_ref": {"actor": {"use_kl_loss": True, "kl_loss_coef": 0.02}}}
    (run / "config.json").write_text(json.dumps(config))
    return told(run)[2]


def test_a_kl_that_is_no_number_is_not_zero(tmp_path: Path) -> None:
    rows = np.arange(ROWS)
    lost = kl_run(np.where(rows < 150, 0.02 + 0.001 * wave(0, 1, ROWS, 4), np.nan), tmp_path / "lost")
    assert finding(lost, "kl-zero-unexpected") is None
    zero = kl_run(np.where(rows < 150, 0.02 + 0.001 * wave(0, 1, ROWS, 4), 0.0), tmp_path / "zero")
    assert finding(zero, "kl-zero-unexpected") is not None


@pytest.mark.parametrize("height", [0.25, 0.4])
def test_a_reward_that_rose_and_collapsed_has_moved(height: float, tmp_path: Path) -> None:
    t = np.arange(ROWS) / ROWS
    bump = np.interp(t, [0.0, 0.1, 0.5, 0.6, 1.0], [0.0, 0.0, height, 0.0, 0.0])
    page, _, of = told(write(tmp_path / "run", learning(ROWS) | {"score": 0.3 + bump + wave(0, 0.015, ROWS, 5)}))
    assert "collapsed" in page or "past its peak" in page
    assert not any("has not moved" in f["summary"] for f in of["findings"])


def test_a_reward_that_never_moved_is_told_so(tmp_path: Path) -> None:
    page, _, _ = told(write(tmp_path / "run", learning(ROWS) | {"score": wave(0.3, 0.015, ROWS, 6)}))
    assert "Reward has not moved beyond its noise" in page


def test_since_when_is_said_once() -> None:
    """Also if the sentence itself says it."""
    of = a_finding(onset_step=212)
    assert since(of, "Reward is at its floor of 0 for 4 rows, since step 212") == ""
    assert since(of, "Reward is at its floor of 0 for 4 rows") == ", since step 212"
    assert since(of, "Reward is lower since step 2120") == ", since step 212"


def test_a_run_without_a_step_has_nothing_to_go_back_to(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "train.log").write_text(
        "[INFO] loading model my/model-1B\nTraceback (most recent call last):\n"
        '  File "/home/me/train.py", line 12, in <module>\n    trainer = GRPOTrainer(model=path, args=args)\n'
        '  File "/env/lib/python3.11/site-packages/trl/trainer/grpo_config.py", line 771, in __post_init__\n'
        "    raise ValueError(\n"
        "ValueError: train_batch_size (30) must be divisible by n_groups (8)\n"
    )
    (tmp_path / "run" / "config.json").write_text(json.dumps({"max_steps": 500, "learning_rate": 1e-6}))
    for page in told(tmp_path / "run")[:2]:
        assert "Resume from" not in page
        assert "at the start of" not in page


def test_an_ended_run_with_steps_may_go_back(tmp_path: Path) -> None:
    run = write(tmp_path / "run", {k: v[:60] for k, v in learning(ROWS).items()})
    (run / "train.log").write_text(
        "Traceback (most recent call last):\nRuntimeError: CUDA error: unspecified failure\n"
    )
    assert "Resume from" in told(run)[1]


def test_a_constant_zero_is_not_told_as_absent(tmp_path: Path) -> None:
    short = {k: v for k, v in learning(ROWS).items() if k in ("score", "loss", "length")}
    page, _, of = told(write(tmp_path / "run", short | {"kl": np.zeros(ROWS)}))
    gap = next(m for m in of["coverage"]["missing"] if m["metric"] == "kl_ref")
    assert gap["zero"]
    assert "- `kl_ref` (0 throughout): " in page
    note = finding(of, "logging-coverage-gap")
    assert note is None or "kl_ref (0 throughout)" in note["summary"]


def test_a_quoted_line_shows_as_it_was_written() -> None:
    assert plain("It ended. “error: *** JOB 7 *** <eof>” Then 2 * 3.") == (
        "It ended. `error: *** JOB 7 *** <eof>` Then 2 \\* 3."
    )
    assert plain("It says “all is well”.") == "It says “all is well”."
    assert plain("a “b | *c*” d") == "a `b | *c*` d"
    assert plain("take --line 'n {n} | k {k}' for it") == "take `--line 'n {n} | k {k}'` for it"
    assert table(["x"], [["`a | b`"]])[-1] == "| `a \\| b` |"


def sentences() -> Iterator[str]:
    for page in rules().values():
        yield from (fix.text for fix in page.fixes)
        yield from (text for cause in page.causes for text in (cause.text, cause.look) if text)
        yield from (*page.confirm, *(one.text for one in page.refutations))
    crashes = tomllib.loads((REPO / "rltui/run/crashes.toml").read_text(encoding="utf-8"))["crash"]
    yield from (fix["text"] for crash in crashes for fix in crash.get("to_do", ()))


def test_sentences_of_the_package_hold_no_markup() -> None:
    assert [text for text in sentences() if re.search(r"[`*]\w|\w[`*]", text)] == []
