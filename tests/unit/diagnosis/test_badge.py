"""The verdict's words fit the state of the run, and say no more than its numbers do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from tests.unit.diagnosis.written import T0, finding, learning, report, wave, write
from tests.unit.reported import told, told_at

N = 200
AFTER = "2030-01-01T00:00:00Z"
GOES_ON = re.compile(r"(CONTINUE|WATCH|PAUSE · FIX|STOP|STOP · KEEP \d+|NO EVIDENCE)$")
ENDED = re.compile(r"(DONE|DONE · KEEP \d+|FIX · RERUN|RESUME|NO EVIDENCE)$")


def run_of(folder: Path, columns: Mapping[str, np.ndarray], ended: bool = False, saved: tuple[int, ...] = ()) -> Path:
    """A run of verl with a log of text beside its rows; `ended`: the log closes with the trainer's last line."""
    write(folder, columns)
    for step in saved:
        actor = folder / f"global_step_{step}" / "actor"
        actor.mkdir(parents=True)
        (actor / "model_world_size_1_rank_0.pt").write_bytes(b"weights")
    if ended:
        rows = max(len(c) for c in columns.values())
        lines = [
            f"Training Progress: 100%|██████████| {rows}/{rows} [1:00:00<00:00, 30.0s/it]",
            "Final validation metrics: {}",
        ]
        (folder / "console.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def collapsing(rows: int = N) -> dict[str, np.ndarray]:
    """It learns, and then loses all of it."""
    fall = np.r_[np.linspace(0.2, 0.7, rows // 2), np.full(rows - rows // 2, 0.02)]
    return learning(rows) | {
        "score": fall + wave(0, 0.01, rows, 1),
        "val": fall + wave(0, 0.01, rows, 2),
        "kl": np.r_[np.linspace(0.001, 0.03, rows // 2), np.geomspace(0.05, 5.0, rows - rows // 2)],
    }


def running(of: Path) -> str:
    """A moment at which the newest row is young."""
    from datetime import UTC, datetime

    rows = len((of / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return datetime.fromtimestamp(T0 + 30 * rows, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_run_that_goes_on_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(tmp_path / "run", learning(N))
    verdict = report(run, capsys, "--now", running(run))["verdict"]
    assert (verdict["decision"], verdict["badge"]) == ("continue", "CONTINUE")


def test_a_run_that_ended_neither_continues_nor_is_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, columns in (("well", learning(N)), ("collapsed", collapsing())):
        of = report(run_of(tmp_path / name, columns, ended=True), capsys, "--now", AFTER)
        assert of["run"]["state"] == "finished"
        assert ENDED.match(of["verdict"]["badge"]), of["verdict"]["badge"]
        assert "judged again" not in of["verdict"]["would_change"]


def test_the_same_run_before_its_end_goes_on(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", collapsing(), ended=True)
    for _, _, of in told_at(run, (N // 5, 2 * N // 5, 2 * N // 3, N - 20)):
        badge = of["verdict"]["badge"]
        assert GOES_ON.match(badge), badge


@pytest.mark.long
def test_a_checkpoint_is_kept_only_if_it_was_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = run_of(tmp_path / "bare", collapsing())
    assert "KEEP" not in report(bare, capsys, "--now", running(bare))["verdict"]["badge"]
    saved = run_of(tmp_path / "saved", collapsing(), saved=(N // 6, N // 3, N // 2, N))
    verdict = report(saved, capsys, "--now", running(saved))["verdict"]
    assert verdict["best_checkpoint"]["path"] is not None
    assert verdict["badge"] == f"STOP · KEEP {verdict['best_checkpoint']['step']}"


def test_a_checkpoint_that_is_no_better_than_the_start_is_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fall = np.linspace(0.7, 0.1, N)
    columns = learning(N) | {"score": fall + wave(0, 0.01, N, 1), "val": fall + wave(0, 0.01, N, 2)}
    run = run_of(tmp_path / "run", columns, saved=(N // 3, 2 * N // 3, N))
    verdict = report(run, capsys, "--now", running(run))["verdict"]
    assert verdict["decision"] not in ("continue", "not-enough-evidence")
    assert "KEEP" not in verdict["badge"]


@pytest.mark.long
def test_report_page_runs_compare_and_watch_say_the_same_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(tmp_path / "a" / "run", collapsing(100), ended=True)
    other = run_of(tmp_path / "a" / "other", learning(100), ended=True)
    badge = report(run, capsys, "--now", AFTER)["verdict"]["badge"]
    fit = report(other, capsys, "--now", AFTER)["verdict"]["badge"]
    assert badge != fit
    main(["report", str(run), "--now", AFTER])
    assert re.match(rf"# run\n\n\*\*\S {re.escape(badge)}\*\* ", capsys.readouterr().out)
    main(["runs", str(tmp_path / "a"), "--full"])
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert badge in rows["run"]
    assert fit in rows["other"]
    main(["compare", str(run), str(other), "--format", "json"])
    lines = {line["id"]: line["badge"] for line in json.loads(capsys.readouterr().out)["runs"]}
    assert lines == {"run": badge, "other": fit}
    main(["watch", str(run), "--timeout", "180", "--fail-on", "never"])
    assert f"({badge})" in capsys.readouterr().out


def text_of(of: Mapping[str, Any]) -> str:
    return str(of["verdict"]["text"])


def test_all_clear_is_said_beside_a_gain_and_the_share_that_nobody_could_see(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = report(run_of(tmp_path / "run", learning(N)), capsys)
    assert re.match(r"All clear: \d+ checks ran, \d+ could not\. Reward rose ", text_of(of))
    assert f"{len(of['not_evaluable'])} could not" in text_of(of)


def test_without_a_gain_it_is_not_all_clear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = report(run_of(tmp_path / "run", learning(40) | {"score": wave(0.5, 0.1, 40, 3)}), capsys)
    assert of["verdict"]["decision"] == "continue"
    assert "All clear" not in text_of(of)
    assert "no change beyond its noise" in text_of(of)


def test_where_most_checks_could_not_run_it_is_not_all_clear(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {name: learning(N)[name] for name in ("score", "loss")}
    of = report(run_of(tmp_path / "run", few), capsys)
    assert of["checks"] <= len(of["not_evaluable"])
    assert "All clear" not in text_of(of)
    assert f"{len(of['not_evaluable'])} could not" in text_of(of)


def test_a_loss_alone_is_no_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = report(run_of(tmp_path / "run", {"loss": learning(N)["loss"]}), capsys)["verdict"]
    assert (verdict["decision"], verdict["badge"]) == ("not-enough-evidence", "NO EVIDENCE")


@pytest.mark.parametrize("last", [0.6, 0.45])
def test_validation_still_rises_only_at_its_best(
    last: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    level = np.r_[np.linspace(0.2, 0.6, 2 * N // 5), np.full(N - 2 * N // 5, 0.6)]
    columns = learning(N) | {"score": level + wave(0, 0.01, N, 4), "val": np.linspace(0.2, 0.6, N)}
    columns["val"][-N // 10 :] = last
    write(tmp_path / "run", columns, {"val": 10})
    of = report(tmp_path / "run", capsys)
    said = [text_of(of), of["verdict"]["would_change"], *(f["summary"] for f in of["findings"])]
    if last < 0.59:
        assert not any("still rises" in text for text in said)


@pytest.mark.long
@pytest.mark.parametrize("make", [learning, collapsing])
def test_no_advice_to_stop_beside_a_verdict_to_go_on(make: Any, tmp_path: Path) -> None:
    columns = make(N) | {"kl": np.linspace(0.001, 0.1, N), "score": wave(0.5, 0.02, N, 5)}
    run = run_of(tmp_path / "run", columns)
    for _, _, of in (*told_at(run, (N // 4, N // 2, 3 * N // 4)), told(run)):
        case = of["outlook"]["kl_reward"]
        if of["verdict"]["decision"] == "continue":
            assert "stop" not in f"{case['reading']} {case['advice']}"
            assert "run its course" not in case["reading"]


def test_a_critical_finding_is_never_under_a_badge_that_says_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = report(run_of(tmp_path / "run", collapsing()), capsys)
    assert finding(of, "reward-collapse") is not None
    assert of["verdict"]["badge"] not in ("CONTINUE", "DONE")
