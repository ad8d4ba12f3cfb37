"""What began after a finding, or with it, is no proof of what the finding comes from. Through `rltui report`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

ONSET, STEPS = 150, 300


def log(path: Path, cut_first: int, seed: int) -> Path:
    """A log in which entropy rises without end from step 150 on, and the share of cut answers from `cut_first` steps
    before that."""
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8") as out:
        for step in range(1, STEPS + 1):
            wild, cut = max(0, step - ONSET), max(0, step - ONSET + cut_first)
            row = {
                "step": step,
                "score_mean": 0.3 + 0.15 * min(step, ONSET) / ONSET - 0.002 * wild + draw.gauss(0, 0.02),
                "entropy": 0.8 + 0.02 * wild + draw.gauss(0, 0.03),
                "response_clip_ratio": min(1.0, max(0.0, 0.02 + 0.006 * cut + draw.gauss(0, 0.01))),
                "response_length/mean": 400 + 3 * cut + draw.gauss(0, 10),
                "grad_norm": 0.4 + draw.gauss(0, 0.04),
                "kl_ref": 0.02 + 0.0001 * step + 0.003 * wild + draw.gauss(0, 0.002),
            }
            out.write(json.dumps(row) + "\n")
    return path


def supported(path: Path, rule: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    main(["report", "--format", "json", str(path)])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    (finding,) = (one for one in report["findings"] if one["id"] == rule)
    return [cause["text"] for cause in finding["causes"] if cause["status"] == "supported"]


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("lead", [0, -40])
def test_answers_that_are_cut_since_then_do_not_explain_the_entropy(
    lead: int, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = supported(log(tmp_path / "log.jsonl", lead, seed), "entropy-explosion", capsys)
    assert not [text for text in told if text.startswith("Truncated")]


@pytest.mark.parametrize("seed", [3, 4])
def test_answers_that_were_cut_before_may_explain_it(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = supported(log(tmp_path / "log.jsonl", 60, seed), "entropy-explosion", capsys)
    assert [text for text in told if text.startswith("Truncated")]


@pytest.mark.parametrize("seed", [3, 4])
def test_an_entropy_that_rose_later_does_not_explain_the_answers_that_are_cut(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = supported(log(tmp_path / "log.jsonl", 60, seed), "truncation-high", capsys)
    assert not told, "neither the later entropy, nor what cut answers do to the entropy"
