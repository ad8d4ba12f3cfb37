"""A reward that comes in another scale is no gain and no fall, and a reward that went elsewhere is no other scale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.diagnosis.engine import Engine
from rltui.evidence.blocks import BlockCache
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from rltui.run.table import Floats
from tests.unit.diagnosis.fake_run import FakeRun

N, AT = 200, 120
NEW = np.arange(N) >= AT


def columns(times: float, **other: Floats) -> dict[str, Floats]:
    """A run that learns; from row AT on a reward is worth `times` as much."""
    rng = np.random.default_rng(8)
    scale = np.where(NEW, times, 1.0)
    out = {
        "reward_mean": scale * (0.3 + 0.4 * np.arange(N) / N + 0.03 * rng.standard_normal(N)),
        "reward_std": scale * (0.25 + 0.01 * rng.standard_normal(N)),
        "entropy": 0.8 * (1 + 0.03 * rng.standard_normal(N)),
        "response_length_mean": 300 * (1 + 0.05 * rng.standard_normal(N)),
    }
    return {**out, **other}


def seen(data: dict[str, Any], n: int = N, keep: Any = slice(None)) -> tuple[int, float] | None:
    """First row and factor of the newest change of scale known after `n` rows."""
    run = FakeRun({name: list(x[keep]) for name, x in data.items()}).grow()
    found = Look(LookFeed(run, BlockCache(), RunSettings.of(run)), n, {}).rescale
    return None if found is None else (found.first_row, found.times)


@pytest.mark.parametrize("times", [0.01, 0.1, 4.0, 10.0, 100.0])
def test_level_and_spread_by_one_factor(times: float) -> None:
    assert seen(columns(times), AT + 3) is None
    assert seen(columns(times), AT + 4) == (AT, pytest.approx(times, rel=0.1))


def test_the_range_of_a_batch_stands_in_for_its_spread() -> None:
    data = columns(10.0)
    del data["reward_std"]
    assert seen(data, AT + 11) is None
    low, high = np.where(NEW, 0.0, 0.0), np.where(NEW, 10.0, 1.0)
    ranged = data | {"reward_min": low, "reward_max": high}
    assert seen(ranged, AT + 4) == (AT, pytest.approx(10.0))


def test_a_mean_without_a_spread_tells_by_its_noise() -> None:
    data, one = columns(10.0), columns(1.0)
    del data["reward_std"], one["reward_std"]
    assert seen(data, AT + 11) is None, "four rows tell no noise"
    assert seen(data) == (AT, pytest.approx(10.0, rel=0.15))
    assert seen(data, 100, keep=slice(1, None, 2)) == (AT // 2, pytest.approx(10.0, rel=0.2))
    assert seen({"reward_mean": data["reward_mean"]}) is None, "nothing of the policy is logged"
    assert seen(data | {"entropy": np.where(NEW, 0.2, 0.8)}) is None, "the policy is another one"
    moved = one["reward_mean"] + np.where(NEW, 4.5, 0.0)
    assert seen(one | {"reward_mean": moved}) is None, "a level that is left with the noise of before"
    rng = np.random.default_rng(5)
    share = np.where(NEW, 0.5, 0.05)
    learnt = rng.binomial(256, share) / 256
    assert seen(one | {"reward_mean": learnt}) is None, "answers that come right at once"
    fell = columns(0.1)["reward_mean"]
    assert seen(one | {"reward_mean": fell}) is None, "what is lost the policy may have lost"


def test_a_row_of_both_kinds_and_rows_left_out() -> None:
    data = columns(10.0)
    for name in ("reward_mean", "reward_std"):
        data[name][AT] = data[name][AT - 1] * 3.0
    found = seen(data)
    assert found is not None
    assert found[0] == AT + 1
    assert seen(columns(10.0), 100, keep=slice(1, None, 2)) == (AT // 2, pytest.approx(10.0, rel=0.1))


def test_a_mean_about_zero_tells_by_its_noise() -> None:
    rng = np.random.default_rng(3)
    mean = np.where(NEW, 10.0, 1.0) * 0.03 * rng.standard_normal(N)
    assert seen(columns(10.0, reward_mean=mean), AT + 11) is None
    assert seen(columns(10.0, reward_mean=mean)) == (AT, pytest.approx(10.0, rel=0.1))


def test_what_goes_elsewhere_is_no_other_scale() -> None:
    one = columns(1.0)
    assert seen(one) is None
    assert seen(columns(10.0, reward_std=one["reward_std"])) is None, "the mean alone"
    assert seen(columns(10.0, reward_mean=one["reward_mean"])) is None, "the spread alone"
    assert seen(columns(0.1, reward_std=one["reward_std"] * np.where(NEW, 0.5, 1.0))) is None, "each by its own"
    assert seen(columns(0.1, response_length_mean=np.where(NEW, 4.0, 300.0))) is None, "the policy broke"
    lost = columns(0.1, reward_mean=one["reward_mean"] * np.where(NEW, 0.004, 1.0))
    assert seen(lost) is None, "all of it, with a spread that is left"
    alone = {name: columns(0.1)[name] for name in ("reward_mean", "reward_std")}
    assert seen(alone, AT + 11) is None, "without the policy the noise has to tell too"
    assert seen(alone) == (AT, pytest.approx(0.1, rel=0.1))
    slowly = np.clip((np.arange(N) - AT) / 12, 0, 1)
    data = {name: one[name] * (1 - 0.9 * slowly) for name in ("reward_mean", "reward_std")}
    assert seen(columns(1.0, **data)) is None, "a fall over a dozen rows"


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1.7e308])
def test_numbers_that_break_are_no_other_scale(size: float) -> None:
    broken = np.where(NEW, size, 0.5)
    assert seen(columns(1.0, reward_mean=broken, reward_std=broken)) is None
    assert seen(columns(1.0, reward_std=broken)) is None
    assert seen(columns(10.0, val_score=broken)) == (AT, pytest.approx(10.0, rel=0.1))


def test_what_is_known_does_not_depend_on_how_the_rows_came() -> None:
    data = columns(10.0)
    run = FakeRun(data)
    engine = Engine()
    for n in range(AT - 5, N + 1, 3):
        engine.advance(run.grow(n))
    grown = engine.advance(run.grow())
    fresh = Engine().advance(FakeRun(data).grow())
    assert grown.gaps == fresh.gaps
    assert len(fresh.gaps) == 1


def report(folder: Path, data: dict[str, Floats], capsys: pytest.CaptureFixture[str]) -> Any:
    keys = {"reward_mean": "reward", "response_length_mean": "completions/mean_length"}
    rows = [{"step": i + 1} | {keys.get(k, k): float(x[i]) for k, x in data.items()} for i in range(N)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main(["report", str(folder), "--format", "json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("times", [0.1, 10.0])
def test_it_is_told_as_what_it_is(times: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = report(tmp_path, columns(times), capsys)
    assert told["verdict"]["decision"] == "continue-watch"
    assert told["verdict"]["because"] == ["reward-scale-shift"]
    (loud,) = [f for f in told["findings"] if f["peak_severity"] != "info"]
    assert (loud["id"], loud["onset_step"]) == ("reward-scale-shift", AT + 1)
    first = told["metrics"]["reward_mean"]["first"]
    assert abs(first / times - 0.55) < 0.05, "what was earned in the other scale counts nowhere"


def test_it_is_told_without_a_spread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = columns(10.0)
    del data["reward_std"]
    told = report(tmp_path, data, capsys)
    assert told["verdict"]["because"] == ["reward-scale-shift"]
    (loud,) = [f for f in told["findings"] if f["peak_severity"] != "info"]
    assert loud["onset_step"] == AT + 1
    assert "its noise from row to row" in loud["summary"]


@pytest.mark.parametrize("times", [0.1, 5.0, 10.0])
def test_a_reward_that_goes_over_beside_its_score(
    times: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The score is what it was, and its rows from before count; the reward's do not, and have not risen tenfold."""
    rng = np.random.default_rng(21)
    score = 0.3 + 0.3 * np.arange(N) / N + 0.02 * rng.standard_normal(N)
    of = report(tmp_path, columns(times, score_mean=score), capsys)
    (finding,) = [f for f in of["findings"] if f["id"] == "reward-scale-shift"]
    assert finding["summary"].startswith("Reward is ")
    assert finding["onset_step"] == AT + 1
    reward = of["facts"]["reward"]
    assert of["facts"]["score"]["first"] < 0.35
    assert max(reward["last"] / reward["first"], reward["first"] / reward["last"]) < 2


def test_a_penalty_that_jumps_is_no_other_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shifts the reward beside the score, and the spread stays."""
    rng = np.random.default_rng(22)
    score = 0.3 + 0.3 * np.arange(N) / N + 0.02 * rng.standard_normal(N)
    of = report(tmp_path, columns(1.0, score_mean=score, reward_mean=score - 0.2 * NEW), capsys)
    assert not [f for f in of["findings"] if f["id"] == "reward-scale-shift"]


def test_a_share_of_right_answers_that_goes_by_degrees_is_no_other_scale() -> None:
    """The spread of answers that are right or wrong falls with their share, so that level, spread and noise all go."""
    told = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        share = 0.03 + 0.55 / (1 + np.exp((np.arange(N) - AT) / rng.uniform(2, 5)))
        easy = rng.beta(1.5 * share[:, None, None], 1.5 * (1 - share)[:, None, None], (N, 32, 1))
        right = rng.random((N, 32, 8)) < easy
        logged = {"reward_mean": right.mean(axis=(1, 2)), "reward_std": right.std(axis=2, ddof=1).mean(axis=1)}
        found = seen({"entropy": columns(1.0)["entropy"]} | logged)
        told += [(seed, found)] if found else []
    assert told == []


@pytest.mark.long
@pytest.mark.parametrize(("digits", "answers"), [(4, 256), (6, 512), (16, 1024), (4, 64), (-4, 256), (-6, 2048)])
def test_harder_prompts_are_no_smaller_scale(digits: int, answers: int) -> None:
    """Half as many answers are right at once, and their spread is half as large: each mean is a share of as many.
    `digits`: decimals; below 0, digits in all."""
    told = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        share = np.where(NEW, 0.2, 0.45) * (1 + 0.05 * rng.standard_normal(N))
        mean = rng.binomial(answers, share) / answers
        mean = np.array([float(f"{one:.{-digits}g}") if digits < 0 else round(one, digits) for one in mean])
        spread = np.where(NEW, 0.16, 0.34) * (1 + 0.04 * rng.standard_normal(N))
        found = seen(
            {"entropy": columns(1.0)["entropy"], "reward_mean": mean, "reward_std": np.round(spread, abs(digits))}
        )
        told += [(seed, found)] if found else []
    assert told == []


@pytest.mark.parametrize("times", [0.5, 0.1, 0.01, 1 / 3])
def test_a_smaller_scale_of_right_answers_is_still_one(times: float) -> None:
    rng = np.random.default_rng(3)
    right = rng.binomial(256, 0.4, N) / 256
    scale = np.where(NEW, times, 1.0)
    data = {"reward_mean": np.round(scale * right, 5), "reward_std": scale * 0.3 * (1 + 0.04 * rng.standard_normal(N))}
    found = seen({"entropy": columns(1.0)["entropy"]} | data)
    assert found is not None
    assert found[1] == pytest.approx(times, rel=0.1)
