"""Beside a run that is over the machine is looked at more rarely, until something is written again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.hardware.base import HardwareHistory, HardwareSample
from rltui.hardware.sampler import Sampler
from rltui.session import Frame
from rltui.session.live import HARDWARE_EVERY_S, REST_AFTER_S, REST_EVERY_S, LiveRun
from rltui.session.locate import locate
from tests.unit.session.runs import opened
from tests.unit.trainer import wait_for

NOW = 1.8e9
ROW = "step:{} - critic/score/mean:0.5 - actor/entropy:0.7\n"


class Given(Sampler):
    """Samples whose time the test gives."""

    time = NOW
    least = 0.0

    def start(self) -> None:
        """Nothing is sampled."""

    def rest(self, least_s: float) -> None:
        self.least = least_s

    def latest(self) -> HardwareSample:
        return HardwareSample(self.time)

    def history(self) -> HardwareHistory:
        return HardwareHistory(samples=[self.latest()])


def frame_where(live: LiveRun, holds: Callable[[Frame], bool]) -> Frame:
    """The first frame for which it holds."""
    found: list[Frame] = []

    def come() -> bool:
        frame = live.next_frame(0.05)
        found.extend([frame] if frame is not None and holds(frame) else [])
        return bool(found)

    wait_for(come)
    return found[0]


def test_a_run_that_is_over_rests_until_it_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    done = "".join(ROW.format(step) for step in range(1, 20)) + "Training Progress: 100%|##| 19/19 [10:00<00:00]\n"
    log.write_text(done)
    written = time.time() - 2 * REST_AFTER_S
    os.utime(log, (written, written))
    sampler = Given("here", None)
    live = LiveRun(locate([str(log)])[0], sampler=sampler)
    over = frame_where(live, lambda frame: frame.loading.done and sampler.least == REST_EVERY_S)
    assert over.stall is not None
    assert over.stall.over
    wait_for(lambda: live.next_frame(0.05) is None)
    sampler.time += REST_EVERY_S - 1
    assert live.next_frame(0.05) is None
    sampler.time += 1
    again = frame_where(live, lambda frame: frame.hardware[-1].time == sampler.time)
    assert again.series is over.series, "nothing was read"
    with log.open("a") as out:
        out.write(ROW.format(20) + ROW.format(21))
    goes_on = frame_where(live, lambda frame: frame.series["critic/score/mean"].steps[-1] == 21)
    assert goes_on.series is not over.series
    assert sampler.least == 0.0
    sampler.time += HARDWARE_EVERY_S
    frame_where(live, lambda frame: frame.hardware[-1].time == sampler.time)
    live.close()


def test_what_a_reader_held_back_of_a_dead_copy_is_no_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log without a step gets its hint once it rests: nothing was written."""
    log = tmp_path / "console.log"
    answers = [
        f"----- 07-21-08-{i % 60:02d} Accuracy reward: {i % 2}.0 -----\nContent: {i * 37 % 101}\n" for i in range(90)
    ]
    log.write_text("".join(answers))
    written = time.time() - 3600
    os.utime(log, (written, written))
    monkeypatch.setattr("rltui.session.run_reader.REST_S", -1.0)
    run = opened(log, follow=True)
    assert run.rest(), "the reader tells what would have its lines read"
    assert run.run.state(time.time()).state == "unknown"
