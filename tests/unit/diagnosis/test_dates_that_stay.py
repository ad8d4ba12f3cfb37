"""A date that was told moves to no later one while the same episode goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.draws import some
from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import finding, learning, wave
from tests.unit.reported import Told, told_as_it_grows
from tests.unit.rules.asked import asking

NAN, RAMP, MEMORY = "nonfinite-values", "grad-norm-ramp", "gpu-memory-pressure"
PEAK = "perf/max_memory_allocated_gb"


def cuts(folder: Path, columns: dict[str, np.ndarray], *lengths: int) -> Iterator[Told]:
    """Of one run as it grows."""
    return told_as_it_grows(
        verl(folder / "run", {key: x[:rows] for key, x in columns.items()}, CONFIG) for rows in lengths
    )


def cut(folder: Path, columns: dict[str, np.ndarray], rows: int) -> dict[str, Any]:
    ((_, _, report),) = cuts(folder, columns, rows)
    return report


def dated(reports: Iterable[Told], rule: str) -> list[int]:
    found = [finding(report, rule) for _, _, report in reports]
    assert all(one is not None for one in found), found
    return [one["onset_step"] for one in found if one is not None]


def dates(folder: Path, columns: dict[str, np.ndarray], rule: str, lengths: tuple[int, ...]) -> list[int]:
    with asking(rule):
        return dated(cuts(folder, columns, *lengths), rule)


def columns_of(rows: int) -> dict[str, np.ndarray]:
    return learning(rows) | {"lr": wave(1e-6, 0, rows)}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("at", "share"), [(90, 0.3), (140, 0.5)])
def test_gradients_that_are_no_number_now_and_then(at: int, share: float, seed: int, tmp_path: Path) -> None:
    rows = at + 180
    columns = columns_of(rows)
    bad = (np.arange(rows) >= at) & (np.random.default_rng(seed).random(rows) < share)
    bad[at] = True
    columns["grad"] = np.where(bad, np.nan, columns["grad"])
    found = dates(tmp_path, columns, NAN, (at + 20, at + 55, at + 110, rows))
    assert found == [at + 1] * 4


def test_an_episode_that_leaves_the_window_row_by_row_keeps_its_first(tmp_path: Path) -> None:
    columns = columns_of(220)
    columns["grad"][120:125] = np.nan
    assert set(dates(tmp_path, columns, NAN, (130, 160, 171, 173))) == {121}


def test_an_episode_far_from_the_last_one_has_a_date_of_its_own(tmp_path: Path) -> None:
    columns = columns_of(240)
    columns["grad"][100:103] = np.nan
    columns["grad"][220:223] = np.nan
    assert dates(tmp_path, columns, NAN, (110, 230)) == [101, 221]


def test_numbers_that_are_lost_for_good_are_dated_there(tmp_path: Path) -> None:
    """A single step was skipped 30 rows before."""
    columns = columns_of(180)
    columns["grad"][110] = np.nan
    for name in ("grad", "loss", "kl", "entropy"):
        columns[name][140:] = np.nan
    report = cut(tmp_path, columns, 180)
    found = finding(report, NAN)
    assert found is not None
    assert found["severity"] == "critical"
    assert "at step 141" in found["summary"]


@pytest.mark.parametrize("seed", some([0, 1, 2]))
@pytest.mark.parametrize(("at", "grows"), [(50, 0.05), (90, 0.08)])
def test_a_peak_of_memory_that_keeps_growing(at: int, grows: float, seed: int, tmp_path: Path) -> None:
    rows = 420
    columns = columns_of(rows)
    walk = 45 + grows * np.clip(np.arange(rows) - at, 0, None) + np.abs(wave(0, 0.1, rows, seed))
    columns[PEAK] = np.maximum.accumulate(walk)
    reports = list(cuts(tmp_path, columns, 240, 330, rows))
    found = dated(reports, MEMORY)
    assert max(found) - min(found) <= 5
    assert abs(found[-1] - at) <= 15
    page, _, report = reports[-1]
    assert "there is nothing to explain" not in page
    assert report["verdict"]["text"].startswith("No fault found, but GPU memory")


def test_a_peak_that_grows_by_little_is_clear(tmp_path: Path) -> None:
    rows = 300
    columns = columns_of(rows)
    columns[PEAK] = np.maximum.accumulate(45 + 0.03 * np.arange(rows) + np.abs(wave(0, 0.1, rows)))
    assert cut(tmp_path, columns, rows)["verdict"]["text"].startswith("All clear")


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("at", "times"), [(80, 60), (120, 45)])
def test_a_gradient_that_grows_by_powers_of_ten(at: int, times: int, seed: int, tmp_path: Path) -> None:
    rows = at + 260
    columns = columns_of(rows)
    columns["score"] = wave(0.4, 0.015, rows, seed)
    columns["grad"] = 0.4 * np.exp(np.clip(np.arange(rows) - at, 0, None) / times + wave(0, 0.1, rows, seed))
    found = dates(tmp_path, columns, RAMP, (at + 150, at + 200, rows))
    assert found == sorted(found, reverse=True)
    assert abs(found[-1] - at) <= 25
