"""What is left of a step's signal: shares of all groups and tokens, sizes against their start, nothing made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.report.build import build
from rltui.report.model import Report
from rltui.report.signal_budget import Passed, signal_budget
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader

N = 120


def budget(tmp_path: Path, **columns: list[float]) -> dict[str, Passed]:
    path = tmp_path / "log.jsonl"
    rows = ({"step": i + 1, **{key: values[i] for key, values in columns.items()}} for i in range(N))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reader = RunReader(locate([str(path)])[0])
    reader.load()
    report: Report = build(reader.frame())
    return {one.stage: one for one in signal_budget(report)}


def test_dead_groups_and_clipped_tokens_are_what_is_lost(tmp_path: Path) -> None:
    early = [i < 60 for i in range(N)]
    by = budget(
        tmp_path,
        reward=[0.5 + 0.01 * (i % 7) for i in range(N)],
        frac_reward_zero_std=[0.1 if ok else 0.9 for ok in early],
        reward_std=[0.4 if ok else 0.04 for ok in early],
        grad_norm=[1.0 if ok else 0.1 for ok in early],
    )
    assert by["groups with variance"].share == pytest.approx(0.1)
    assert by["groups with variance"].at_start == pytest.approx(0.9)
    assert by["spread of rewards"].share == pytest.approx(0.1)
    assert by["gradient"].share == pytest.approx(0.1)
    since = by["groups with variance"].since
    assert since is not None
    assert 55 <= since <= 75
    assert by["unclipped tokens"].share is None
    assert by["unclipped tokens"].metric == "clip_frac"


def test_nothing_grows_beyond_all_and_a_zero_start_has_no_share(tmp_path: Path) -> None:
    rising = [0.1 + i / 200 for i in range(N)]
    by = budget(tmp_path, reward=rising, grad_norm=[4 * x for x in rising], reward_std=[0.0] * N)
    assert by["gradient"].share == 1.0
    assert by["gradient"].since is None
    assert by["spread of rewards"].share is None
