"""A real process that is stopped is hung within three usual steps; one that works on is not. Steps are 10 s long by the
rows' own times, and the clock is given, so that no test waits for them."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from rltui.session import Frame
from rltui.session.live import LiveRun
from rltui.session.locate import locate
from tests.unit.trainer import lines_of, trainer, wait_for

STEP_S = 10.0


def loaded(log: Path) -> LiveRun:
    live = LiveRun(locate([str(log)])[0])
    frames: list[Frame] = []

    def done() -> bool:
        frame = live.next_frame(0.05)
        frames.extend([frame] if frame else [])
        return bool(frames) and frames[-1].loading.done

    wait_for(done)
    return live


def word(live: LiveRun, steps: float) -> str:
    """The verdict so many usual steps after the last sign of life."""
    run = live.opened.run
    assert run.pulse.moved_at is not None
    card = run.state(run.pulse.moved_at + steps * STEP_S).card
    assert card is not None
    return card.verdict


@pytest.mark.long
def test_a_stopped_process_is_hung_and_recovers(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    with trainer(log) as child:
        wait_for(lambda: lines_of(log) > 20)
        live = loaded(log)
        try:
            wait_for(lambda: live.next_frame(0.05) and live.opened.run.pulse.heard)
            child.send_signal(signal.SIGSTOP)
            wait_for(lambda: live.next_frame(0.05) is None and _states(live) == {"stopped"})
            assert word(live, 0.9) == "fine"
            assert word(live, 3.0) == "hung"
            child.send_signal(signal.SIGCONT)
            wait_for(lambda: live.next_frame(0.05) is not None and "stopped" not in _states(live))
            assert word(live, 1.5) == "fine"
        finally:
            live.close()


@pytest.mark.long
def test_a_long_step_of_a_process_that_works_is_slow_not_hung(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    with trainer(log, busy_after=30):
        wait_for(lambda: lines_of(log) == 30)
        live = loaded(log)
        try:
            wait_for(lambda: live.next_frame(0.05) is None and bool(_states(live)))
            assert [word(live, steps) for steps in (1, 3, 10, 60)] == ["fine", "slow", "slow", "slow"]
            assert word(live, 70) == "hung"
        finally:
            live.close()


@pytest.mark.long
def test_a_killed_process_is_over(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    with trainer(log) as child:
        wait_for(lambda: lines_of(log) > 20)
        live = loaded(log)
        try:
            _killed(live, child)
        finally:
            live.close()


@pytest.mark.long
def test_a_run_that_another_process_resumes_is_alive_as_soon_as_it_writes(tmp_path: Path) -> None:
    """Who writes now is found later: that the one before is gone says nothing any more."""
    log = tmp_path / "metrics.jsonl"
    with trainer(log) as child:
        wait_for(lambda: lines_of(log) > 20)
        live = loaded(log)
        try:
            frames = _killed(live, child)
            with trainer(log):
                wait_for(lambda: frames.extend(f for f in [live.next_frame(0.05)] if f) or not _over(frames), 10.0)
                assert frames[-1].run.state.state == "running"
        finally:
            live.close()


def _killed(live: LiveRun, child: subprocess.Popen[bytes]) -> list[Frame]:
    """Kills the trainer once it was seen, and waits until the run is over; the frames until then."""
    wait_for(lambda: live.next_frame(0.05) and bool(_states(live)))
    child.kill()
    child.wait()
    frames: list[Frame] = []
    wait_for(lambda: frames.extend(f for f in [live.next_frame(0.05)] if f) or _over(frames))
    return frames


def _states(live: LiveRun) -> set[str]:
    return {fact.state for fact in live.opened.run.pulse.processes}


def _over(frames: list[Frame]) -> bool:
    return bool(frames) and frames[-1].stall is not None and frames[-1].stall.over
