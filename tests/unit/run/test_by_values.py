"""What values tell of a key beyond its name, through the command line."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.unit.readers.reported import ends, reported
from tests.unit.rules.asked import only

ROWS = 80


def _table(path: Path, key: str, values: list[float], times: list[float] | None = None, first: int = 1) -> Path:
    rows = [{"step": first + i, "reward": 0.1 + i / 100, key: value} for i, value in enumerate(values)]
    for row, time in zip(rows, times or (), strict=False):
        row["timestamp"] = time
    (path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _loud(path: Path, *asked: str) -> list[str]:
    """What these rules found of a run, but mere notes."""
    reader = RunReader(locate([str(path)])[0])
    reader.load()
    found = only(asked).advance(reader.run).findings
    reader.close()
    return [one.id for one in found if one.peak_severity != "info"]


@pytest.mark.parametrize("key", ["L", "l"])
def test_a_bare_letter_is_a_length_or_a_loss_by_its_size(key: str, tmp_path: Path) -> None:
    lengths = [250.0 + (row * 7) % 40 for row in range(ROWS)]
    _table(tmp_path, key, lengths)
    assert ends(reported(tmp_path), "response_length_mean") == (ROWS, lengths[0], lengths[-1])
    _table(tmp_path, key, [2.5 - row / 50 for row in range(ROWS)])
    assert ends(reported(tmp_path), "total_loss")[0] == ROWS


@pytest.mark.parametrize("key", ["clip", "train/clip"])
def test_a_bare_clip_is_a_share_if_it_varies_and_a_setting_if_it_does_not(key: str, tmp_path: Path) -> None:
    _table(tmp_path, key, [(row % 9) / 200 for row in range(ROWS)])
    assert ends(reported(tmp_path), "clip_frac")[0] == ROWS
    _table(tmp_path, key, [0.0] * ROWS)  # no range is 0
    assert ends(reported(tmp_path), "clip_frac") == (ROWS, 0.0, 0.0)
    _table(tmp_path, key, [0.2] * ROWS)
    assert "clip_frac" not in reported(tmp_path)["metrics"]


@pytest.mark.parametrize("key", ["zero_std", "train/dead_groups", "Zero-Var", "reward/zero_std_groups"])
def test_groups_that_agree_are_a_share_or_a_count_by_their_size(key: str, tmp_path: Path) -> None:
    _table(tmp_path, key, [row % 8 / 8 for row in range(ROWS)])
    assert ends(reported(tmp_path), "frac_reward_zero_std") == (ROWS, 0.0, 0.875)
    _table(tmp_path, key, [float(row % 8) for row in range(ROWS)])
    assert "frac_reward_zero_std" not in reported(tmp_path)["metrics"]
    _table(tmp_path, key, [float(row % 2) for row in range(ROWS)])  # no group or one
    assert "frac_reward_zero_std" not in reported(tmp_path)["metrics"]


@pytest.mark.parametrize("key", ["tokens", "tok", "num_tokens"])
def test_tokens_are_of_a_step_or_of_the_run_by_their_course(key: str, tmp_path: Path) -> None:
    _table(tmp_path, key, [20_000.0 + (row * 311) % 500 for row in range(ROWS)])
    told = reported(tmp_path)["metrics"]
    assert "total_tokens_seen" not in told
    assert told["total_tokens_step"]["count"] == ROWS
    seen = [20_000.0 * (row + 1) + (row * 37) % 500 for row in range(ROWS)]
    _table(tmp_path, key, [*seen[:50], *seen[45:75]])  # resumed from a checkpoint
    told = reported(tmp_path)["metrics"]
    assert "total_tokens_step" not in told
    assert told["total_tokens_seen"]["count"] == ROWS


@pytest.mark.parametrize("key", ["clip_frac", "train/clipfrac", "truncated_ratio", "mfu", "error_rate"])
def test_a_fraction_that_goes_far_above_1_is_in_percent(key: str, tmp_path: Path) -> None:
    _table(tmp_path, key, [0.5 + (row * 7) % 40 / 2 for row in range(ROWS)])
    report = reported(tmp_path)
    name = next(name for name, metric in report["metrics"].items() if metric["key"] == key)
    assert ends(report, name) == (ROWS, pytest.approx(0.005), pytest.approx(0.17))
    assert "percentage" in report["metrics"][name]["trap"]
    assert not _loud(tmp_path, "invariant-violated")


OTHERS = {
    "a fraction": [(row * 7) % 40 / 50 for row in range(ROWS)],
    "one value that is wrong": [37.2 if row == 30 else (row * 7) % 40 / 50 for row in range(ROWS)],
    "rounding": [1.0000001 - row / 200 for row in range(ROWS)],
    "a ratio": [0.9 + (row * 7) % 40 / 100 for row in range(ROWS)],
    "counts": [float((row * 7) % 40) for row in range(ROWS)],
    "amounts": [(row * 7) % 40 * 10.5 for row in range(ROWS)],
}


@pytest.mark.parametrize("values", OTHERS.values(), ids=OTHERS)
def test_other_numbers_stay_as_they_are(values: list[float], tmp_path: Path) -> None:
    told = ends(reported(_table(tmp_path, "clip_frac", values)), "clip_frac")
    assert told == (ROWS, pytest.approx(values[0]), pytest.approx(values[-1]))


def _entropy(row: int) -> float:
    return 1.4 - row / 100


@pytest.mark.parametrize("key", ["entropy_loss", "train/entropy_loss", "Entropy Loss", "policy_entropy_loss"])
@pytest.mark.parametrize("weight", [1.0, 0.01])
def test_an_entropy_that_is_logged_as_a_loss_is_turned_and_told(key: str, weight: float, tmp_path: Path) -> None:
    _table(tmp_path, key, [-weight * _entropy(row) for row in range(ROWS)])
    report = reported(tmp_path)
    assert ends(report, "entropy") == (ROWS, pytest.approx(weight * 1.4), pytest.approx(weight * 0.61))
    assert "the sign is turned" in report["metrics"]["entropy"]["trap"]
    assert not _loud(tmp_path, "invariant-violated", "entropy-collapse")


@pytest.mark.parametrize("key", ["entropy_loss", "losses/entropy"])
def test_an_entropy_above_0_stays_as_it_is(key: str, tmp_path: Path) -> None:
    report = reported(_table(tmp_path, key, [_entropy(row) for row in range(ROWS)]))
    assert ends(report, "entropy")[1:] == (1.4, pytest.approx(0.61))
    assert "turned" not in report["metrics"]["entropy"]["trap"]


def test_an_entropy_below_0_that_is_no_loss_is_wrong(tmp_path: Path) -> None:
    _table(tmp_path, "entropy", [-_entropy(row) for row in range(ROWS)])
    assert ends(reported(tmp_path), "entropy")[1] == -1.4
    assert _loud(tmp_path, "invariant-violated") == ["invariant-violated"]


def test_the_user_has_the_last_word(tmp_path: Path) -> None:
    _table(tmp_path, "entropy_loss", [-_entropy(row) for row in range(ROWS)])
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["report", str(tmp_path), "--format", "json", "--map", "entropy=entropy_loss"]) == 0
    assert json.loads(out.getvalue())["metrics"]["entropy"]["first_value"] == -1.4


def _seconds(row: int) -> float:
    return 4 + random.Random(row).random()


def _passed(rows: int, begin: float = 0.0) -> list[float]:
    return [round(begin + sum(_seconds(row) for row in range(1, row + 1)), 1) for row in range(1, rows + 1)]


ELAPSED: dict[str, Callable[[], list[float]]] = {
    "since the start": lambda: _passed(ROWS),
    "since that of an epoch": lambda: _passed(20) * 4,
    "since a restart that took long": lambda: [*_passed(50), *_passed(30, 25.0)],
    "whole seconds": lambda: [float(int(value)) for value in _passed(ROWS)],
    "the model was compiled first": lambda: _passed(ROWS, 30.0),
}
PER_STEP: dict[str, Callable[[], list[float]]] = {
    "noise": lambda: [_seconds(row) for row in range(ROWS)],
    "slower and slower": lambda: [_seconds(row) * (1 + row / 10) for row in range(ROWS)],
    "evaluations are longer": lambda: [_seconds(row) * (1 if row % 5 else 10) for row in range(ROWS)],
    "always the same": lambda: [4.0] * ROWS,
    "a little longer each time": lambda: [60 + row / 2 for row in range(ROWS)],
}


def _metrics(path: Path) -> set[str]:
    found: dict[str, Any] = reported(path)["metrics"]
    return set(found) & {"elapsed_s", "time_per_step_s"}


@pytest.mark.parametrize("case", ELAPSED)
def test_seconds_that_only_rise_are_no_steps(case: str, tmp_path: Path) -> None:
    _table(tmp_path, "time", ELAPSED[case]())
    assert _metrics(tmp_path) == {"elapsed_s"}
    assert not _loud(tmp_path, "step-time-regression")


@pytest.mark.parametrize("case", PER_STEP)
def test_seconds_of_single_steps_are(case: str, tmp_path: Path) -> None:
    assert _metrics(_table(tmp_path, "time", PER_STEP[case]())) == {"time_per_step_s"}


def test_steps_that_get_slower_are_told(tmp_path: Path) -> None:
    _table(tmp_path, "step_time", PER_STEP["slower and slower"]())
    assert _loud(tmp_path, "step-time-regression") == ["step-time-regression"]


def test_time_stamps_tell_seconds_of_steps_from_all_that_passed(tmp_path: Path) -> None:
    slower, at = [10.0 + 10 * row for row in range(ROWS)], 1.7e9
    begun = [at + sum(slower[: row + 1]) for row in range(ROWS)]
    assert _metrics(_table(tmp_path, "step_time", slower, begun)) == {"time_per_step_s"}
    assert _metrics(_table(tmp_path, "step_time", slower, [at + 10 * row for row in range(ROWS)])) == {"elapsed_s"}


@pytest.mark.parametrize("line", ["step {n} | loss 0.4 | {s:.1f}s", "Step {n}/100 | loss 0.4 | time {s:.1f}s"])
def test_in_lines_of_words(line: str, tmp_path: Path) -> None:
    lines = [line.format(n=n, s=seconds) for n, seconds in enumerate(_passed(ROWS), 1)]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    assert _metrics(tmp_path) == {"elapsed_s"}


def test_an_epoch_that_begins_anew_in_lines_of_words(tmp_path: Path) -> None:
    lines = [
        f"Epoch {epoch} | batch {20 * n}/400 | loss 0.49 | reward 0.208 | {seconds:.1f}s"
        for epoch in (1, 2)
        for n, seconds in enumerate(_passed(20), 1)
    ]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    assert _metrics(tmp_path) == {"elapsed_s"}


@pytest.mark.parametrize(
    ("key", "name"),
    [("Percentage correct", "score_mean"), ("accuracy (%)", "score_mean"), ("eval/accuracy_percent", "val_score")],
)
@pytest.mark.parametrize(
    ("times", "least", "scale"), [(1.0, 0.0, 1.0), (100.0, 0.0, 0.01), (1.0, 1.5, 0.01), (0.005, 0.0, 0.01)]
)
def test_a_percentage_that_never_leaves_0_to_1_is_a_share(
    key: str, name: str, times: float, least: float, scale: float, tmp_path: Path
) -> None:
    """`times` 0.005: too seldom right for a share. `least`: one value above 1 tells that it is a percentage."""
    values = [round(times * (12 + row // 8) / 32, 6) for row in range(ROWS)]
    values[40] = max(values[40], least)
    report = reported(_table(tmp_path, key, values))
    assert ends(report, name)[1:] == (pytest.approx(scale * values[0]), pytest.approx(scale * values[-1]))
    assert ("taken for a share" in report["metrics"][name]["trap"]) == (scale == 1.0)


def test_a_percentage_of_what_should_be_low_stays_one(tmp_path: Path) -> None:
    report = reported(_table(tmp_path, "truncated_pct", [0.4 + row / 200 for row in range(ROWS)]))
    assert ends(report, "response_clip_ratio")[1] == pytest.approx(0.004)
