"""A run that goes on is stopped for a fall that lasts, not for a dip that is young or heals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rltui.cli import main
from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Verdict
from rltui.run.run import RunState
from rltui.run.table import Floats
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise

N, AT = 400, 200
T = np.arange(N)
ENDED = RunState("finished", "the log says so")


def course(fall: float, back: float = 0.0, heals: int = 30) -> Floats:
    """A reward that rises to .7 and loses a share of it within ten rows of AT; 30 rows later it makes good a part of
    the loss."""
    level = 0.2 + 0.5 * np.minimum(1.0, T / 150)
    lost = fall * (np.clip((T - AT) / 10, 0, 1) - back * np.clip((T - AT - 30) / heals, 0, 1))
    return np.asarray(level * (1 - lost) + 0.02 * noise(np.random.default_rng(4), N))


def verdicts(reward: Floats, at: Iterable[int], state: RunState | None = None) -> Iterator[tuple[int, Verdict]]:
    """Rows so far and the verdict then, of a run that is followed as it grows."""
    columns = {**learning_run(0, N), "score_mean": reward, "kl_ref": np.full(N, 0.02), "val_score": [None] * N}
    run, engine = FakeRun(columns, state=state), Engine()
    for rows in at:
        yield rows, engine.advance(run.grow(rows)).verdict


def loud(reward: Floats, *at: int, state: RunState | None = None) -> list[tuple[str, bool]]:
    falls = {"reward-collapse", "reward-peak-decline"}
    return [(said.decision, bool(falls & set(said.because))) for _, said in verdicts(reward, at, state)]


def test_a_young_fall_is_watched_and_a_lasting_one_stops() -> None:
    assert loud(course(0.5), AT + 35, AT + 90) == [("continue-watch", True), ("stop-use-best", True)]


def test_nothing_is_to_come_of_a_run_that_ended() -> None:
    assert loud(course(0.5), AT + 35, state=ENDED) == [("stop-use-best", True)]


def test_a_dip_that_heals_is_never_a_stop() -> None:
    said = verdicts(course(0.5, back=1.0), range(AT, N, 12))
    stops = {rows: told.decision for rows, told in said if told.decision not in ("continue", "continue-watch")}
    assert stops == {}


def test_what_comes_back_halfway_and_stays_has_lost_the_rest() -> None:
    assert loud(course(0.6, back=0.4), AT + 60, N) == [("continue-watch", True), ("stop-use-best", True)]


def test_a_fall_to_the_floor_is_not_waited_for() -> None:
    ((_, said),) = verdicts(np.maximum(0.0, course(1.0)), [AT + 35])
    assert said.decision in ("stop-use-best", "pause-and-fix", "abort-now")


def test_a_log_that_grows_is_told_to_be_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reward = course(0.5)
    rows = [{"step": i + 1, "reward": float(reward[i]), "kl": 0.01, "grad_norm": 0.5} for i in range(AT + 35)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main(["report", str(tmp_path), "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert told["run"]["state"] in ("running", "unknown")
    assert told["verdict"]["decision"] == "continue-watch"
    assert "reward-collapse" in told["verdict"]["because"]
