"""Seeds are replicates of a configuration: intervals cover, null settings stay null, and what is open is said to be."""

from __future__ import annotations

from typing import Any

import pytest

from rltui.compare.configurations import replicates
from rltui.compare.model import Replicates
from tests.unit.compare.sweeps import Sweep, run, sweep

SWEEPS = 60


def found(of: Sweep) -> Replicates:
    return replicates(of.runs, of.scores, of.broken, {one.id: 2.0 for one in of.runs}, True)


def test_intervals_cover_the_truth_at_their_rate() -> None:
    inside = total = 0
    for seed in range(SWEEPS):
        of = sweep(seed)
        by_id = {one.id: one for one in of.runs}
        for one in found(of).configurations:
            settings = by_id[one.runs[0]].settings
            true = of.truth[settings["lr"], settings["group_size"], settings["lr_warmup_steps"]]
            assert one.low is not None
            assert one.high is not None
            inside, total = inside + (one.low <= true <= one.high), total + 1
    assert 0.92 <= inside / total <= 0.98, inside / total


def test_a_setting_that_does_nothing_is_seldom_told_and_the_rate_is() -> None:
    null = told = rates = 0
    for seed in range(SWEEPS):
        effects = found(sweep(seed)).effects
        null += sum(one.setting == "lr_warmup_steps" for one in effects)
        told += sum(one.setting == "lr_warmup_steps" and one.q <= 0.05 for one in effects)
        rates += any(one.setting == "lr" and one.q <= 0.05 and one.value < 0 for one in effects)
    assert null == SWEEPS
    assert told / null < 0.05
    assert rates >= 0.9 * SWEEPS


def test_the_best_is_named_or_said_to_be_open() -> None:
    wrong = 0
    for seed in range(SWEEPS):
        of = sweep(seed)
        made = found(of)
        lead = made.configurations[0].settings
        best = max(of.truth.values())
        true = of.truth[float(lead["lr"]), int(lead["group_size"]), int(lead["lr_warmup_steps"])]
        wrong += not made.settled.startswith("Not settled") and true < best
    assert wrong <= 0.05 * SWEEPS


def test_broken_short_and_unknown_runs_count_nowhere_and_are_told() -> None:
    of = sweep(3)
    of.runs.append(run("bare", {}))
    of.runs.append(run("lives", {"lr": 1e-6}, state="running"))
    of.scores["bare"] = of.scores["lives"] = of.scores[of.runs[1].id]
    of.runs.append(run("silent", {"lr": 1e-6}))
    made = found(of)
    assert made.left_out[of.runs[0].id] == "broke: nan"
    assert "is short: 40 steps" in made.left_out["lr1e-05-g16-w20-s2"]
    assert made.left_out["bare"] == "its settings are not known"
    assert made.left_out["lives"] == "still runs"
    assert made.left_out["silent"] == "does not log the metric"
    counted = {name for one in made.configurations for name in one.runs}
    assert counted.isdisjoint(made.left_out)
    assert len(counted) + len(made.left_out) == len(of.runs)


@pytest.mark.parametrize(
    "more",
    [
        {"model": "another"},
        {"algorithm": "PPO"},
        {"curves": {"reward_component_mean:format": None}},
        {"raw_config": {"data.train_files": "/data/other.parquet"}},
    ],
)
def test_another_model_reward_or_data_set_is_another_configuration(more: dict[str, Any]) -> None:
    of = sweep(1, seeds=2)
    extra = run("other", dict(of.runs[2].settings), **more)
    of.runs.append(extra)
    of.scores["other"] = of.scores[of.runs[2].id]
    (own,) = (one for one in found(of).configurations if "other" in one.runs)
    assert own.runs == ("other",)


def test_one_run_each_settles_nothing() -> None:
    of = sweep(5, seeds=1)
    made = found(of)
    assert made.sd is None
    assert made.effects == ()
    assert all(one.low is None and one.beaten is None for one in made.configurations)
    assert "nothing tells how much of their differences is chance" in made.settled


def test_it_says_how_many_more_seeds_would_settle_it() -> None:
    of = sweep(7)
    of.runs[:] = [one for one in of.runs if one.settings["lr_warmup_steps"] == 0 and one.settings["lr"] == 3e-6]
    for number, one in enumerate(of.runs):
        of.scores[one.id].best = (0.50, 0.54, 0.58, 0.53, 0.57, 0.61)[number]
    settled = found(of).settled
    assert settled.startswith("Not settled: group_size = 16 leads with a probability of 0.")
    assert "more seeds of each of the best two would settle it, about" in settled
    assert settled.endswith("hours in all")
