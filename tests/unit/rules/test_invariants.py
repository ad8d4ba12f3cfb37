"""One judge of the pipeline: what is broken is a finding, sets its stage, and `verify --metrics` says the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from tests.unit.diagnosis.written import finding, learning, report, stage, wave, write

N = 120
MARK = {"pass": "", "warn": "?", "fail": "!!", "unknown": "skip"}
SANE = {
    "score_min": np.zeros(N),
    "score_max": np.ones(N),
    "advantage_min": wave(-1.8, 0.05, N, 11),
    "advantage_max": wave(1.8, 0.05, N, 12),
    "reward_std": wave(0.3, 0.01, N, 13),
}
BROKEN: dict[str, tuple[str, Mapping[str, np.ndarray]]] = {
    "minimum ≤ mean ≤ maximum of the reward": ("reward", {"score_max": np.full(N, 0.1)}),
    "advantages differ from 0 where rewards vary": (
        "advantages",
        {"advantage_min": wave(-0.02, 0.001, N, 1), "advantage_max": wave(0.02, 0.001, N, 2)},
    ),
    "mean ≤ maximum of the length": ("generation", {"longest": wave(200, 5, N, 3)}),
    "entropy ≥ 0": ("generation", {"entropy": wave(-0.4, 0.01)}),
    "shares lie in 0 to 1": ("generation", {"cut": wave(1.7, 0.01)}),
    "loss of a size that teaches": ("loss", {"loss": wave(3e6, 1e3)}),
    "loss and gradient finite": ("loss", {"grad": np.r_[np.full(60, 0.5), np.full(60, np.nan)]}),
}


def verified(run: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, dict[str, Any]], int]:
    """Checks of `verify --metrics` by name, and the exit code."""
    capsys.readouterr()
    code = main(["verify", "--metrics", str(run), "--format", "json"])
    return {c["name"]: c for c in json.loads(capsys.readouterr().out)["checks"]}, code


def invariants(of: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {i["name"]: i for i in of["outlook"]["invariants"]}


def test_a_sane_run_breaks_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run", learning() | SANE)
    checks, code = verified(run, capsys)
    of = report(run, capsys)
    assert code == 0
    assert finding(of, "invariant-violated") is None
    passed = {name for name, one in invariants(of).items() if one["status"] == "pass"}
    assert passed >= set(BROKEN)
    assert all(checks[name]["mark"] == "" for name in passed)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_invariant_is_a_finding_fails_its_stage_and_moves_the_verdict(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, change = BROKEN[name]
    run = write(tmp_path / "run", learning() | SANE | dict(change))
    of = report(run, capsys)
    broken = {n: i["status"] for n, i in invariants(of).items() if i["status"] in ("warn", "fail")}
    assert list(broken) == [name]
    about = [f for f in of["findings"] if f["status"] == "active" and f["severity"] != "info"]
    assert any(f["subject"] == name or f["id"] == "nonfinite-values" for f in about)
    assert broken[name] == ("fail" if any(f["severity"] == "critical" for f in about) else "warn")
    assert stage(of, invariants(of)[name]["stage"]) in ("warn", "fail") or place == "loss"
    assert of["verdict"]["decision"] != "continue"
    checks, code = verified(run, capsys)
    assert checks[name]["mark"] == MARK[broken[name]]
    assert code == (1 if broken[name] == "fail" else 0)


def test_advantages_of_0_are_told_where_only_lowest_and_highest_reward_are_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All groups may agree within themselves: a warning, not the proof of a mask."""
    none = {name: values for name, values in SANE.items() if name != "reward_std"}
    none |= {"advantage_min": np.zeros(N), "advantage_max": np.zeros(N)}
    told = finding(report(write(tmp_path / "run", learning() | none), capsys), "invariant-violated")
    assert told is not None
    assert told["severity"] == "warning"
    assert "rewards of a batch lie 1 apart" in told["summary"]


def test_what_was_mended_passes_and_says_until_when_it_was_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = np.r_[wave(1.7, 0.01, 60), wave(0.02, 0.001, 140)]
    run = write(tmp_path / "run", learning(200) | {"cut": cut})
    one = invariants(report(run, capsys))["shares lie in 0 to 1"]
    assert one["status"] == "pass"
    assert "was broken until step" in one["measured"]


def test_one_odd_row_breaks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = wave(0.02, 0.001)
    cut[-3] = 1.7
    run = write(tmp_path / "run", learning() | {"cut": cut})
    assert invariants(report(run, capsys))["shares lie in 0 to 1"]["status"] == "pass"
    assert verified(run, capsys)[1] == 0


def test_what_nothing_shows_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run", {"score": learning()["score"]})
    assert {i["status"] for i in invariants(report(run, capsys)).values()} == {"unknown"}


def test_too_few_rows_are_not_judged_by_one_and_passed_by_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "run", learning(8) | {"cut": np.full(8, 1.7)})
    of = report(run, capsys)
    assert invariants(of)["shares lie in 0 to 1"]["status"] != "fail"
    assert verified(run, capsys)[1] == 0


def test_a_reward_that_collapsed_fails_the_stage_of_the_reward(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    score = np.r_[np.linspace(0.2, 0.8, 100), np.full(100, 0.02)] + wave(0, 0.01, 200)
    of = report(write(tmp_path / "run", learning(200) | {"score": score}), capsys)
    assert finding(of, "reward-collapse") is not None
    assert stage(of, "reward") == "fail"


@pytest.mark.parametrize(
    ("estimator", "status"),
    [("k3", "fail"), ("low_var_kl", "fail"), ("k3+", "fail"), ("kl", "unknown"), ("k2", "unknown")],
)
def test_only_an_estimate_of_the_third_kind_cannot_be_negative_at_all(
    estimator: str, status: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "run", learning() | SANE | {"kl": wave(-0.05, 0.2)})
    of_run(run, estimator)
    assert invariants(report(run, capsys))["KL to the reference ≥ 0"]["status"] == status


@pytest.mark.parametrize(
    ("mean", "noise", "status"),
    [
        (-0.3, 0.05, "warn"),  # walks away from what it is scored as
        (-0.3, 0.4, "warn"),  # some rows are above 0
        (-0.02, 0.005, "pass"),  # told as a note: rounding and kernels explain as much
        (-0.3, 2.0, "unknown"),  # within its noise
        (0.3, 0.05, "unknown"),  # nothing shows that it holds
    ],
)
def test_the_mean_of_another_estimate_does_not_stay_below_zero(
    mean: float, noise: float, status: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "run", learning() | SANE | {"kl": wave(mean, noise)})
    of_run(run, "kl")
    of = report(run, capsys)
    assert invariants(of)["KL to the reference ≥ 0"]["status"] == status
    told = finding(of, "invariant-violated")
    assert (told is not None and "cannot be negative" in told["summary"]) == (status != "unknown")


def test_a_number_that_cannot_be_is_no_reason_to_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grad = wave(0.5, 0.02)
    grad[[70, 90, 100, 112]] = [90.0, 400.0, 120.0, 2000.0]
    score = wave(0.5, 0.03, N, 5)
    run = write(tmp_path / "run", learning() | SANE | {"kl": wave(-0.3, 0.05), "grad": grad, "score": score})
    of_run(run, "kl")
    of = report(run, capsys)
    assert {f["id"] for f in of["findings"] if f["severity"] == "warning"} >= {
        "invariant-violated",
        "grad-norm-explosion",
    }
    assert of["verdict"]["decision"] == "continue-watch"


def of_run(run: Path, estimator: str) -> None:
    (run / "config.yaml").write_text(
        f"actor_rollout_ref:\n  actor:\n    kl_loss_type: {estimator}\n    use_kl_loss: true\n"
    )


@pytest.mark.parametrize("name", ["loss", "total_loss", "grad"])
def test_each_of_loss_and_gradient_is_looked_at_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    columns = {key: column for key, column in learning().items() if key not in ("loss", "grad")}
    checks, _ = verified(write(tmp_path / "run", columns | {name: wave(0.5, 0.05, N, 4)}), capsys)
    assert checks["loss and gradient finite"]["mark"] == ""


LONGEST = "responses no longer than the limit"


@pytest.mark.parametrize(("mean", "status"), [(810.0, "unknown"), (2300.0, "warn")])
def test_a_mean_length_within_the_limit_says_nothing_of_the_longest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mean: float, status: str
) -> None:
    """Some are cut at the limit. Only if even the mean lies beyond it, the longest one does."""
    columns = {key: values for key, values in learning().items() if key != "longest"}
    run = write(tmp_path / "run", columns | {"length": wave(mean, 9.0, N, 4), "cut": np.full(N, 0.03)})
    (run / "config.json").write_text(json.dumps({"data": {"max_response_length": 2048}}))
    one = invariants(report(run, capsys))[LONGEST]
    assert one["status"] == status
    assert verified(run, capsys)[0][LONGEST]["mark"] == MARK[status]


def test_the_longest_length_within_the_limit_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run", learning())
    (run / "config.json").write_text(json.dumps({"data": {"max_response_length": 2048}}))
    assert invariants(report(run, capsys))[LONGEST]["status"] == "pass"
