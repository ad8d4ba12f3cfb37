"""A reward whose source fails is no fall of the policy, and one that the policy lost is no outage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.evidence.blocks import BlockCache
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from rltui.run.table import Floats
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.rules.asked import only

N, AT, END = 200, 120, 132


def columns(**other: Floats) -> dict[str, Floats]:
    """A run that learns; rows AT to END - 1 hold the reward 0 to the last digit."""
    rng = np.random.default_rng(5)
    reward = 0.3 + 0.4 * np.arange(N) / N + 0.03 * rng.standard_normal(N)
    reward[AT:END] = 0.0
    out = {
        "reward_mean": reward,
        "entropy": 0.8 * (1 + 0.03 * rng.standard_normal(N)),
        "response_length_mean": 300 * (1 + 0.05 * rng.standard_normal(N)),
        "grad_norm": 0.5 * np.exp(0.2 * rng.standard_normal(N)),
    }
    return {**out, **other}


def rows_out(data: dict[str, Floats], n: int = N) -> list[tuple[int, int, bool]]:
    """First and last row of each outage known after `n` rows, and whether it lasts."""
    run = FakeRun(data).grow()
    look = Look(LookFeed(run, BlockCache(), RunSettings.of(run)), n, {})
    return [(one.first_row, one.last_row, one.lasts) for one in look.outages]


def test_it_is_known_while_it_lasts_and_kept_once_it_is_over() -> None:
    data = columns()
    assert rows_out(data, AT + 1) == [], "one batch without a reward"
    assert rows_out(data, AT + 2) == [(AT, AT + 1, True)]
    assert rows_out(data, END) == [(AT, END - 1, True)]
    assert rows_out(data) == [(AT, END - 1, False)]


def test_rows_of_both_kinds_at_its_ends_belong_to_it() -> None:
    data = columns()
    data["reward_mean"][[AT - 1, END]] = 0.2
    assert rows_out(data) == [(AT - 1, END, False)]


def test_one_odd_batch_is_no_other_policy() -> None:
    data = columns()
    data["entropy"][AT] *= 1.8
    assert rows_out(data) == [(AT, END - 1, False)]


def test_a_policy_that_is_another_one_from_the_first_row_on_lost_its_reward_itself() -> None:
    data = columns()
    data["entropy"][AT:] *= 1.8
    assert rows_out(data, END) == []


def test_one_row_is_enough_where_all_answers_got_the_same() -> None:
    data = columns(reward_std=np.where((np.arange(N) >= AT) & (np.arange(N) < END), 0.0, 0.4))
    assert rows_out(data, AT + 1) == [(AT, AT, True)]


def test_outages_that_come_and_go_are_each_one() -> None:
    data = columns()
    data["reward_mean"][150:155] = data["reward_mean"][160:163] = 0.0
    assert rows_out(data) == [(AT, END - 1, False), (150, 154, False), (160, 162, False)]


@pytest.mark.parametrize("between", [[0.02], [0.01, 0.05]])
def test_a_few_answers_graded_in_between_are_no_end(between: list[float]) -> None:
    data = columns(reward_std=np.where((np.arange(N) >= AT) & (np.arange(N) < END), 0.0, 0.4))
    data["reward_mean"][AT + 6 : AT + 6 + len(between)] = between
    assert rows_out(data) == [(AT, END - 1, False)]
    assert rows_out(data, END - 2) == [(AT, END - 3, True)]


def test_a_short_return_to_what_it_was_ends_it() -> None:
    data = columns()
    data["reward_mean"][AT + 6 : AT + 8] = 0.55
    assert rows_out(data) == [(AT, AT + 5, False), (AT + 8, END - 1, False)]


def test_a_policy_that_moved_has_lost_its_reward_itself() -> None:
    data = columns()
    data["response_length_mean"][AT:] = 4.0
    assert rows_out(data) == []


def test_an_update_that_broke_is_no_outage() -> None:
    data = columns()
    data["grad_norm"][AT:] = np.nan
    assert rows_out(data) == []


def test_a_fall_over_several_rows_is_no_outage() -> None:
    data = columns()
    data["reward_mean"][AT - 10 : AT] *= np.linspace(0.9, 0.05, 10)
    assert rows_out(data) == []


def test_a_reward_that_has_to_be_learnt_again_was_lost() -> None:
    data = columns()
    data["reward_mean"][END:] = np.linspace(0.01, 0.3, N - END)
    assert rows_out(data) == []


def test_a_sparse_reward_that_is_often_0_is_measured() -> None:
    rng = np.random.default_rng(1)
    assert rows_out(columns(reward_mean=rng.binomial(16, 0.05, N) / 16)) == []


def test_without_any_signal_of_the_policy_its_return_at_once_must_tell() -> None:
    data = {"reward_mean": columns()["reward_mean"]}
    assert rows_out(data, END) == []
    assert rows_out(data) == [(AT, END - 1, False)]


def report(folder: Path, data: dict[str, Floats], n: int, capsys: pytest.CaptureFixture[str]) -> Any:
    keys = {"reward_mean": "reward", "response_length_mean": "completions/mean_length"}
    rows = [{"step": i + 1} | {keys.get(k, k): float(x[i]) for k, x in data.items()} for i in range(n)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main(["report", str(folder), "--format", "json"])
    return json.loads(capsys.readouterr().out)


def test_the_advice_is_to_go_on_and_its_rows_leave_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    during = report(tmp_path, columns(), END, capsys)
    assert during["verdict"]["decision"] == "continue-watch"
    assert during["verdict"]["because"] == ["reward-function-fault"]
    after = report(tmp_path, columns(), N, capsys)
    assert after["verdict"]["decision"] == "continue"
    assert f"Rewards of steps {AT + 1} to {END} are left out, because the grader failed" in after["verdict"]["text"]
    (fault,) = [f for f in after["findings"] if f["peak_severity"] != "info"]
    assert (fault["id"], fault["status"], fault["onset_step"]) == ("reward-function-fault", "resolved", AT + 1)


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_is_followed_has_the_outages_of_one_read_at_once(seed: int) -> None:
    """Also if the reward is often at its floor, and if past rows are revised."""
    rng = np.random.default_rng(seed)
    data = columns(reward_std=np.full(N, 0.4))
    reward = data["reward_mean"]
    for begin in rng.integers(20, N, 1 + 10 * (seed % 3)):
        reward[begin : begin + rng.integers(1, 9)] = rng.choice([0.0, 0.0, -1.0])
    data["reward_std"][reward == 0.0] = rng.choice([0.0, 0.4])
    followed, engine = FakeRun(data), only({"reward-function-fault"})
    for n in np.unique(rng.integers(2, N + 1, 40)).tolist():
        engine.advance(followed.grow(n))
        if rng.random() < 0.2:  # a late revision, of the reward or of what tells whether answers agreed
            row, key = int(rng.integers(1, n)), str(rng.choice(["reward_mean", "reward_std"]))
            followed.history.table.put(row + 1, np.nan, {key: 0.0})
            followed.history.table.set_head(n)
            followed.columns[key][row] = 0.0
        whole = FakeRun(followed.columns).grow(n)
        fresh = Look(LookFeed(whole, BlockCache(), RunSettings.of(whole)), n, {})
        assert engine.advance(followed).gaps == fresh.gaps, n
