"""A long file: what stands at its end is shown before its history is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.session import live as live_module
from rltui.session import run_reader as opened_module
from rltui.session.live import LiveRun
from rltui.session.locate import locate

from . import runs

STEPS = 2000


@pytest.fixture(autouse=True)
def _small_files_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_module, "LONG", 1)


def live_run(path: Path) -> LiveRun:
    return LiveRun(locate([str(path)])[0])


def verl_line(step: int) -> str:
    return f"(main pid=1) step:{step} - critic/score/mean:{step / 1000} - actor/grad_norm:0.5 - actor/entropy:0.7\n"


@pytest.mark.parametrize("kind", ["jsonl", "console", "csv"])
def test_the_first_frame_holds_the_newest_values(tmp_path: Path, kind: str) -> None:
    if kind == "jsonl":
        log = tmp_path / "metrics.jsonl"
        log.write_text("".join(runs.line(s, score=s / 1000) for s in range(1, STEPS + 1)))
        key = "critic/score/mean"
    elif kind == "console":
        log = tmp_path / "console.log"
        log.write_text("".join(verl_line(s) for s in range(1, STEPS + 1)))
        key = "critic/score/mean"
    else:
        log = tmp_path / "metrics.csv"
        log.write_text("step,score,filler\n" + "".join(f"{s},{s / 1000},{'1' * 40}\n" for s in range(1, STEPS + 1)))
        key = "score"
    live = live_run(log)
    first = live.next_frame(1.0)
    assert first is not None
    assert not first.loading.done
    assert first.loading.done_bytes == 0
    assert first.loading.total_bytes == log.stat().st_size
    assert first.diagnosis.verdict.decision == "not-enough-evidence"
    tail = first.series[key]
    assert (int(tail.steps[-1]), float(tail.values[-1])) == (STEPS, STEPS / 1000)
    frame = first
    while not frame.loading.done:
        frame = live.next_frame(1.0) or frame
    assert frame.series[key].steps.tolist() == list(range(1, STEPS + 1))
    live.close()


def test_the_end_of_binary_logs(labelled_path: Path) -> None:
    """Each container's last rows are those that the whole file ends with."""
    whole = runs.opened(labelled_path)
    live = live_run(labelled_path)
    first = live.next_frame(1.0)
    assert first is not None
    last = int(whole.run.history.table.steps[-1])
    assert max(int(s.steps[-1]) for s in first.series.values() if len(s)) == last
    for key, series in whole.frame().series.items():
        if series.steps[-1] == last and key in first.series:
            assert float(first.series[key].values[-1]) == pytest.approx(float(series.values[-1]), nan_ok=True)
    live.close()


@pytest.fixture(params=["wandb/offline-run-*/run-*.wandb", "outputs/runs/*/events.out.tfevents.*"])
def labelled_path(request: pytest.FixtureRequest, runs_dir: Path) -> Path:
    return next((runs_dir / "zoo" / "g01-add-s0").glob(request.param))


def test_reading_can_be_broken_off(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text(runs.lines(1, STEPS))
    live = live_run(log)
    assert live.next_frame(1.0) is not None
    live.close()
    assert live.next_frame(1.0) is None
    assert not live.opened.loading().done


def test_the_reading_of_the_history_is_held_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "GLANCE_EVERY_S", 0.0)  # the ends of the files are read at each look
    log = tmp_path / "metrics.jsonl"
    log.write_text(runs.lines(1, STEPS))
    live = live_run(log)
    assert live.next_frame(1.0) is not None
    live.pause(True)
    with log.open("a") as file:
        file.write(runs.line(STEPS + 1))
    held = live.next_frame(0.01)
    assert held is not None
    assert (held.loading.done, held.loading.done_bytes) == (False, 0)
    assert int(held.series["critic/score/mean"].steps[-1]) == STEPS + 1
    monkeypatch.setattr(live_module, "GLANCE_EVERY_S", 3600.0)
    assert live.next_frame(0.01) is None
    live.pause(False)
    runs.frames_until(live, lambda: live.opened.loading().done)
    assert list(runs.content(live.opened)) == list(range(1, STEPS + 2))
    live.close()
