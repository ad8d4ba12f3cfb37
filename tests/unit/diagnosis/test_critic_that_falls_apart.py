"""A critic that was good and diverges is told while the reward still gains, and dated where it began; one whose loss is
as large as its rewards, or only noisy, is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import finding, learning, wave, write
from tests.unit.reported import told
from tests.unit.rules.asked import asking

PPO = {**CONFIG, "algorithm.adv_estimator": "gae", "critic.optim.lr": 1e-5}
LOSS, EXPLAINED = "value-loss-explosion", "critic-uninformative"


def run(folder: Path, rows: int, **columns: np.ndarray) -> dict[str, Any]:
    """What is said of the critic."""
    with asking(LOSS, EXPLAINED):
        return told(written(folder, rows, **columns))[2]


def written(folder: Path, rows: int, **columns: np.ndarray) -> Path:
    whole = learning(rows)
    whole["lr"] = wave(1e-6, 0, rows)
    whole |= {key.replace("__", "/"): values for key, values in columns.items()}
    write(folder, whole)
    (folder / "config.json").write_text(json.dumps(PPO), encoding="utf-8")
    return folder


def error(rows: int, seed: int, level: float = 0.4, noise: float = 0.15) -> np.ndarray:
    """The loss of a critic that learns: it falls to a level."""
    return level * (1 + 2 * np.exp(-np.arange(rows) / 20)) * np.exp(wave(0, noise, rows, seed + 30))


def since(rows: int, at: int) -> np.ndarray:
    return np.clip(np.arange(rows) - at, 0, None)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("at", "tenfold"), [(110, 60), (170, 90)])
def test_a_lasting_growth_is_told_while_the_reward_gains(at: int, tenfold: int, seed: int, tmp_path: Path) -> None:
    rows = at + int(1.3 * tenfold)
    report = run(tmp_path / "run", rows, critic__vf_loss=error(rows, seed) * 10 ** (since(rows, at) / tenfold))
    found = finding(report, LOSS)
    assert found is not None
    assert found["severity"] == "warning"
    assert abs(found["onset_step"] - at) <= 15


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_keeps_its_date_as_it_goes_on(seed: int, tmp_path: Path) -> None:
    at, dates = 120, []
    for rows in (200, 320, 520):
        loss = error(rows, seed) * 10 ** np.minimum(since(rows, at) / 60, 2)
        found = finding(run(tmp_path / f"{rows}", rows, critic__vf_loss=loss), LOSS)
        assert found is not None
        dates.append(found["onset_step"])
    assert max(dates) - min(dates) <= 2


@pytest.mark.parametrize("seed", [0, 1])
def test_it_leads_to_the_fall_that_follows(seed: int, tmp_path: Path) -> None:
    rows, at = 330, 130
    fallen = np.clip((np.arange(rows) - 200) / 120, 0, 1)
    _, _, report = told(
        written(
            tmp_path / "run",
            rows,
            score=learning(rows)["score"] * (1 - 0.7 * fallen),
            critic__vf_loss=error(rows, seed) * 10 ** (since(rows, at) / 70),
        )
    )
    assert report["findings"][0]["id"] == LOSS
    assert report["findings"][0]["severity"] == "critical"
    assert report["verdict"]["decision"].startswith("stop")


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_noise_is_no_growth(noise: float, seed: int, tmp_path: Path) -> None:
    report = run(tmp_path / "run", 300, critic__vf_loss=error(300, seed, noise=noise))
    assert LOSS not in [f["id"] for f in report["findings"] if f["peak_severity"] != "info"]


@pytest.mark.parametrize("seed", [0, 1])
def test_larger_rewards_explain_a_larger_loss(seed: int, tmp_path: Path) -> None:
    rows = 300
    rewards = np.linspace(1.0, 5.0, rows) + wave(0, 0.05, rows, seed)
    loss = error(rows, seed) * (rewards / 2) ** 2
    report = run(tmp_path / "run", rows, score=rewards, critic__vf_loss=loss)
    assert LOSS not in [f["id"] for f in report["findings"]]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_single_wild_batch_is_no_lasting_growth(seed: int, tmp_path: Path) -> None:
    loss = error(300, seed)
    loss[285:290] *= 30
    found = finding(run(tmp_path / "run", 300, critic__vf_loss=loss), LOSS)
    assert found is None or "jumped" in found["summary"]


def explained(rows: int, at: int, to: float, seed: int) -> np.ndarray:
    good = 0.7 * (1 - np.exp(-np.arange(rows) / 25))
    gone = np.clip((np.arange(rows) - at) / 40, 0, 1)
    return np.asarray(good * (1 - gone) + to * gone + wave(0, 0.02, rows, seed))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("at", [120, 160])
def test_a_gain_of_the_reward_excuses_no_critic_that_lost_what_it_knew(at: int, seed: int, tmp_path: Path) -> None:
    rows = at + 80
    report = run(tmp_path / "run", rows, critic__vf_explained_var=explained(rows, at, -0.4, seed))
    found = finding(report, EXPLAINED)
    assert found is not None
    assert found["severity"] == "warning"
    assert abs(found["onset_step"] - at) <= 12
    assert "still" not in (found["title"] + found["summary"]).lower()


@pytest.mark.parametrize("seed", [0, 1])
def test_one_that_came_back_and_is_lost_again_has_a_new_date(seed: int, tmp_path: Path) -> None:
    """Poor in the first 80 rows, good, then lost at row 240."""
    rows = 320
    course = np.interp(np.arange(rows), [0, 80, 120, 240, 270, rows], [0.0, 0.0, 0.7, 0.7, -0.4, -0.4])
    report = run(tmp_path / "run", rows, critic__vf_explained_var=course + wave(0, 0.02, rows, seed))
    found = finding(report, EXPLAINED)
    assert found is not None
    assert len(found["episodes"]) == 2
    assert abs(found["onset_step"] - 240) <= 12


@pytest.mark.parametrize("seed", [0, 1])
def test_a_critic_that_never_was_good_stays_a_note_while_the_reward_gains(seed: int, tmp_path: Path) -> None:
    found = finding(run(tmp_path / "run", 250, critic__vf_explained_var=wave(-0.02, 0.02, 250, seed)), EXPLAINED)
    assert found is not None
    assert found["severity"] == "info"


@pytest.mark.parametrize("seed", [0, 1])
def test_a_critic_that_is_a_little_worse_than_it_was_is_no_fault(seed: int, tmp_path: Path) -> None:
    report = run(tmp_path / "run", 260, critic__vf_explained_var=explained(260, 150, 0.35, seed))
    assert finding(report, EXPLAINED) is None


@pytest.mark.parametrize(("varies", "lost"), [(0.1, False), (1.0, True)], ids=["nearly solved", "as before"])
def test_returns_that_vary_less_leave_less_to_explain(varies: float, lost: bool, tmp_path: Path) -> None:
    """The critic explains 70 %, then nothing: of returns that vary by a tenth it errs less than before."""
    rows, at = 260, 160
    of_all = 1.0 - (1.0 - varies) * np.clip((np.arange(rows) - at) / 40, 0, 1)
    course = explained(rows, at, 0.02, 0)
    report = run(tmp_path / "run", rows, critic__vf_explained_var=course, critic__vf_loss=of_all * (1.0 - course))
    found = finding(report, EXPLAINED)
    assert found is not None
    assert (found["severity"] == "warning") == lost


@pytest.mark.parametrize("stands", [True, False])
def test_values_of_one_number_are_of_a_critic_that_is_not_trained(stands: bool, tmp_path: Path) -> None:
    values = np.full(120, 0.25) if stands else wave(0.25, 0.001, 120, 5)
    columns = {"critic__vf_explained_var": wave(-0.02, 0.02, 120, 4), "critic__values__mean": values}
    found = finding(run(tmp_path / "run", 120, **columns), EXPLAINED)
    assert found is not None
    assert (found["severity"] == "warning") == stands
    assert ("not trained" in found["summary"]) == stands
