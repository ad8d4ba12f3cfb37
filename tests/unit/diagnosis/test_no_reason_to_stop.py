"""What looks like a reason to stop for a few rows and is none: dips that heal, rewards that rise through 0, a KL that
another loss counts otherwise. What lasts is one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.draws import some
from tests.unit.diagnosis.written import wave
from tests.unit.reported import told, told_as_it_grows

Page = dict[str, Any]
HALT = {"stop-use-best", "pause-and-fix", "abort-now"}
ROWS, AT = 300, 150
STEP = np.arange(1, ROWS + 1)
SINCE = STEP >= AT


def ramp(begin: int, rows: int) -> np.ndarray:
    """0 before a row, 1 from so many rows later on."""
    return np.clip((STEP - begin + 1) / max(1, rows), 0, 1)


def learns(**other: np.ndarray) -> dict[str, np.ndarray]:
    """A run that learns, and logs no reward unless `other` holds one."""
    usual = {
        "kl": 0.04 * (STEP / ROWS) * wave(1, 0.08, ROWS, 2),
        "entropy": wave(0.8, 0.02, ROWS, 3) * (1 - 0.3 * STEP / ROWS),
        "grad_norm": wave(0.5, 0.05, ROWS, 4),
        "response_length": wave(300, 10, ROWS, 5),
        "lr": np.full(ROWS, 1e-6),
    }
    return usual | other


def written(
    folder: Path, columns: dict[str, np.ndarray], upto: int = ROWS, every: int = 1, planned: int = 3 * ROWS
) -> Path:
    """The first rows of a run, which goes on up to its plan."""
    rows = [{"step": n + 1} | {k: x[n] for k, x in columns.items() if np.isfinite(x[n])} for n in range(upto)]
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[every - 1 :: every]))
    (folder / "config.json").write_text(json.dumps({"algorithm": "grpo", "total_steps": planned, "kl_coef": 0.01}))
    return folder


def page(
    folder: Path, columns: dict[str, np.ndarray], upto: int = ROWS, every: int = 1, planned: int = 3 * ROWS
) -> Page:
    return told(written(folder, columns, upto, every, planned))[2]


def pages(folder: Path, columns: dict[str, np.ndarray], upto: Iterable[int]) -> Iterator[tuple[int, Page]]:
    """After so many rows each: of one run that grows."""
    rows = list(upto)
    for n, (_, _, found) in zip(rows, told_as_it_grows(written(folder, columns, n) for n in rows), strict=True):
        yield n, found


def decisions(folder: Path, columns: dict[str, np.ndarray], *upto: int) -> Iterator[tuple[int, str]]:
    for n, found in pages(folder, columns, upto):
        yield n, found["verdict"]["decision"]


def loud(found: Page) -> set[str]:
    return {f["id"] for f in found["findings"] if f["severity"] != "info" and f["status"] == "active"}


def evaluated(x: np.ndarray, every: int = 15) -> np.ndarray:
    return np.where(STEP % every == 0, x, np.nan)


@pytest.mark.parametrize("seed", range(3))
def test_a_reward_that_rises_through_zero_behind_an_outage_has_not_turned_its_sign(seed: int, tmp_path: Path) -> None:
    """What was learnt while nothing was graded looks as if it came at once; one odd batch behind it does the rest."""
    reward = -1.2 + 0.9 * ramp(AT - 30, 60) + wave(0, 0.15, ROWS, seed)
    reward = np.where((STEP >= AT) & (STEP < AT + 10), -3.0, reward)
    reward[AT + 9 : AT + 11] = 0.7, 0.1
    found = page(tmp_path, learns(reward_mean=reward), AT + 20)
    assert found["verdict"]["decision"] not in HALT, found["verdict"]
    assert "sign were turned" not in str(found["findings"])


def test_a_reward_that_climbs_through_zero_has_not_turned_its_sign(tmp_path: Path) -> None:
    """Ten times as much is paid since a step, the bad answers included: it comes up through the opposite of before."""
    reward = -0.45 + wave(0, 0.04, ROWS, 1)
    climb = np.interp(STEP - AT, [0, 1, 2, 3, 4, 5, 6, 7, 9], [-1.1, -2.3, -0.8, -0.9, -0.2, 0.34, 0.5, 1.1, 2.0])
    reward = np.where(SINCE, climb + wave(0, 0.1, ROWS, 2) * (STEP > AT + 9), reward)
    assert "sign were turned" not in str(page(tmp_path, learns(reward_mean=reward), AT + 40)["findings"])


@pytest.mark.parametrize("gains", [True, False])
def test_validation_tells_whether_the_sign_was_turned(gains: bool, tmp_path: Path) -> None:
    """Who is paid for the opposite does worse."""
    reward = np.where(SINCE, 1.0, -1.0) * wave(1, 0.1, ROWS, 1)
    held_out = 0.3 + (0.3 if gains else -0.25) * ramp(AT, 80) + wave(0, 0.01, ROWS, 2)
    found = page(tmp_path, learns(reward_mean=reward, eval_accuracy=evaluated(held_out)))
    assert ("sign were turned" in str([f for f in found["findings"] if f["status"] == "active"])) != gains


@pytest.mark.parametrize("seed", range(3))
def test_a_kl_that_leaps_and_stands_is_no_runaway(seed: int, tmp_path: Path) -> None:
    """Another mean over tokens, in a run that has learnt most of what it can."""
    share = np.minimum(1.0, 1.05 * (1 - np.exp(-6 * STEP / ROWS)))
    kl = (1e-3 + 0.09 * share) * wave(1, 0.08, ROWS, seed) * np.where(SINCE, 12, 1)
    columns = learns(kl=kl, reward_mean=0.2 + 0.5 * share + wave(0, 0.01, ROWS, seed + 9))
    for n, decision in decisions(tmp_path, columns, *range(AT + 10, AT + 80, 15)):
        assert decision not in HALT, n


def dip(back: bool, width: int = 38, left: float = 0.45, seed: int = 1) -> np.ndarray:
    """A signed reward that falls within some rows, and comes back by itself or not."""
    by = ramp(AT, width // 4) * (1 - back * ramp(AT + width // 2, width // 2))
    return -0.9 + (1.0 + 0.3 * STEP / ROWS) * (1 - by * left * 2) + wave(0, 0.05, ROWS, seed)


@pytest.mark.parametrize("seed", some(range(3)))
def test_a_dip_of_the_reward_alone_stops_nothing(seed: int, tmp_path: Path) -> None:
    """For some rows it lies below all that it ever was."""
    columns = learns(reward_mean=dip(True, seed=seed))
    for n, decision in decisions(tmp_path, columns, *range(AT + 14, AT + 44, 3)):
        assert decision not in HALT, n


def test_a_fall_of_the_reward_alone_that_lasts_is_a_reason(tmp_path: Path) -> None:
    columns = learns(reward_mean=dip(False))
    assert dict(decisions(tmp_path, columns, AT + 70))[AT + 70] in HALT


def test_a_fall_with_another_sign_of_it_is_a_reason_at_once(tmp_path: Path) -> None:
    columns = learns(reward_mean=dip(False))
    columns["kl"] = columns["kl"] * np.exp(6 * ramp(AT, 20))
    assert dict(decisions(tmp_path, columns, AT + 20))[AT + 20] in HALT


@pytest.mark.parametrize("seed", range(3))
def test_a_drift_while_the_reward_dips_and_comes_back_is_no_reason(seed: int, tmp_path: Path) -> None:
    """KL rises as before, and the rows in which the reward did not gain are those of the dip."""
    reward = 0.25 + 0.45 * (1 - np.exp(-6 * STEP / ROWS)) + wave(0, 0.04, ROWS, seed)
    reward = reward * (1 - 0.5 * ramp(AT, 12) * (1 - ramp(AT + 24, 26)))
    kl = (0.01 + 0.08 * STEP / ROWS) * wave(1, 0.06, ROWS, 4 + seed)
    columns = learns(reward_mean=reward, eval_accuracy=evaluated(reward - 0.05, 10), kl=kl)
    for n, decision in decisions(tmp_path, columns, *range(AT + 20, AT + 80, 5)):
        assert decision not in HALT, n


def test_an_evaluation_that_may_have_followed_is_waited_for(tmp_path: Path) -> None:
    """Both dipped before they rose, and only the newest evaluation shows what training gained since."""
    evaluations = np.array([0.164, 0.164, 0.165, 0.172, 0.199, 0.238, 0.122, 0.191, 0.444, 0.525])
    course = np.interp(STEP, 30 * np.arange(1, 11), evaluations)
    columns = learns(reward_mean=course + 0.05 + wave(0, 0.03, ROWS, 1), eval_accuracy=evaluated(course, 30))
    for n, decision in decisions(tmp_path, columns, *range(262, 300, 3)):
        assert decision not in HALT, n


@pytest.mark.parametrize("times", [0.1, 10.0])
def test_another_scale_is_seen_while_the_kl_grows_as_it_did(times: float, tmp_path: Path) -> None:
    """A KL that doubles within some rows, and goes on so, is the policy of before."""
    kl = 2e-3 * 2 ** (np.minimum(STEP, AT + 40) / 25) * wave(1, 0.04, ROWS, 7)
    scale = np.where(SINCE, times, 1.0)
    reward = (0.4 + 0.0004 * STEP + wave(0, 0.02, ROWS, 8)) * scale
    columns = learns(kl=kl, reward_mean=reward, reward_std=wave(0.2, 0.005, ROWS, 9) * scale)
    assert "reward-scale-shift" in loud(page(tmp_path, columns, ROWS, every=5))


def dips(*begin: int, back: bool = True, seed: int = 1) -> dict[str, np.ndarray]:
    """A run whose reward and validation lose three quarters some times, and all of it comes back; or not."""
    by = sum(ramp(at, 10) * (1 - back * ramp(at + 20, 20)) for at in begin)
    share = (0.25 + 0.45 * (1 - np.exp(-4 * STEP / ROWS))) * (1 - 0.75 * by)
    reward = share + wave(0, 0.02, ROWS, seed)
    return learns(reward_mean=reward, eval_accuracy=evaluated(share + wave(0, 0.01, ROWS, seed + 1) - 0.05, 10))


@pytest.mark.parametrize("begin", [(AT,), (80, AT)])
@pytest.mark.parametrize("behind", [52, 60, 75])
@pytest.mark.parametrize("seed", some(range(2)))
def test_a_run_that_ends_as_good_as_it_was_before_a_dip_has_nothing_open(
    begin: tuple[int, ...], behind: int, seed: int, tmp_path: Path
) -> None:
    """No row comes that would show for longer that it is over."""
    found = page(tmp_path, dips(*begin, seed=seed), AT + behind, planned=AT + behind)
    assert found["verdict"]["decision"] == "continue", found["verdict"]
    assert loud(found) == set()
    assert found["verdict"]["badge"] == "DONE"


@pytest.mark.parametrize("behind", [46, 60, 100])
def test_a_run_that_ends_below_what_it_was_is_told_so(behind: int, tmp_path: Path) -> None:
    found = page(tmp_path, dips(AT, back=False), AT + behind, planned=AT + behind)
    assert found["verdict"]["decision"] in HALT
    assert "reward-collapse" in loud(found)


@pytest.mark.parametrize("seed", some(range(3)))
def test_what_was_warned_of_and_is_not_back_is_not_clear(seed: int, tmp_path: Path) -> None:
    """Entropy is at a fiftieth of its start, the reward stands, and then gains again."""
    reward = 0.2 + 0.15 * np.minimum(STEP, 90) / 90 + 0.15 * np.clip((STEP - 200) / 60, 0, 1)
    entropy = 0.02 ** np.minimum(1, STEP / 110) * wave(1, 0.03, ROWS, seed + 3)
    columns = learns(reward_mean=reward + wave(0, 0.015, ROWS, seed), entropy=entropy)
    (_, halfway), (_, ended) = pages(tmp_path, columns, (200, ROWS))
    assert "entropy-collapse" in loud(halfway)
    text = ended["verdict"]["text"]
    assert text.startswith("No fault found, but entropy has fallen"), text


@pytest.mark.parametrize("seed", range(3))
def test_nothing_begins_while_its_metric_is_zero(seed: int, tmp_path: Path) -> None:
    """The reward falls some rows before the trainer and the sampler differ at all."""
    apart = np.where(SINCE, 0.02 + 0.12 * ramp(AT, 40), 0.0) * np.abs(wave(1, 0.1, ROWS, seed + 5))
    reward = 0.3 + 0.2 * np.minimum(STEP, AT) / AT - 0.25 * ramp(AT - 6, 60) + wave(0, 0.02, ROWS, seed)
    found = page(tmp_path, learns(reward_mean=reward, rollout_train_logprob_diff=apart))
    onset = next(f["onset_step"] for f in found["findings"] if f["id"] == "mismatch-high")
    assert AT <= onset <= AT + 25


@pytest.mark.parametrize("seed", range(3))
def test_a_sign_that_turns_beside_a_kl_that_always_jumps_is_seen(seed: int, tmp_path: Path) -> None:
    """The mean KL of a batch is now and then ten times the usual one, for a single answer: the policy has not moved."""
    rng = np.random.default_rng(seed)
    kl = wave(0.07, 0.005, ROWS, seed) * np.where(rng.random(ROWS) < 0.15, rng.uniform(3, 9, ROWS), 1.0)
    kl[AT - 7 : AT - 1], kl[AT - 1 : AT + 1] = 0.07, (0.28, 0.22)
    reward = np.clip(wave(0.97, 0.02, ROWS, seed), -1, 1) * np.where(SINCE, -1, 1)
    found = page(tmp_path, learns(reward_mean=reward, kl=kl), AT + 30)
    assert "sign were turned" in str(found["findings"]), found["verdict"]
    assert found["verdict"]["because"][0] == "reward-function-fault"


@pytest.mark.parametrize("rows", [10, 15, 40])
def test_the_end_of_a_stretch_of_large_gradients_is_no_update_cut_off(rows: int, tmp_path: Path) -> None:
    high = (STEP >= AT) & (AT + rows > STEP)
    gradient = wave(0.4, 0.04, ROWS, 4) * np.where(high, 200.0, 1.0)
    columns = learns(reward_mean=0.3 + 0.4 * STEP / ROWS + wave(0, 0.02, ROWS, 1), grad_norm=gradient)
    assert "no-learning-signal" not in loud(page(tmp_path, columns, AT + rows + 60))


def test_an_update_that_is_cut_off_is_told(tmp_path: Path) -> None:
    gradient = wave(0.4, 0.04, ROWS, 4) * np.where(SINCE, 0.005, 1.0)
    columns = learns(reward_mean=0.4 + wave(0, 0.02, ROWS, 1), reward_std=wave(0.3, 0.02, ROWS, 7), grad_norm=gradient)
    assert "no-learning-signal" in loud(page(tmp_path, columns, AT + 60))


def test_a_critical_fall_that_is_waited_for_says_so(tmp_path: Path) -> None:
    """A verdict that goes on beside a critical finding says what makes it a stop."""
    columns = learns(reward_mean=dip(True))
    waited = [
        found["verdict"]
        for _, found in pages(tmp_path, columns, range(AT + 8, AT + 34, 3))
        if any(f["severity"] == "critical" and f["status"] == "active" for f in found["findings"])
        and found["verdict"]["decision"] == "continue-watch"
    ]
    assert waited
    assert all("may be a dip" in verdict["would_change"] for verdict in waited)
