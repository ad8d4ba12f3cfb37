"""Minutes of appending, truncating, rotating and replacing under a live reader, which ends equal to a fresh read."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest

from rltui.session.live import LiveRun
from rltui.session.locate import locate

from . import runs


class Trainer(threading.Thread):
    """Writes steps, in halves now and then; its file is truncated, replaced, moved away or gone for a moment."""

    def __init__(self, log: Path, seconds: float, seed: int) -> None:
        super().__init__(daemon=True)
        self.log = log
        self.until = time.monotonic() + seconds
        self.chance = random.Random(seed)
        self.step = 0
        self.written: dict[int, float] = {}  # what a reader that loses nothing holds at the end
        self.events = 0

    def run(self) -> None:
        while time.monotonic() < self.until:
            self._append()
            if self.chance.random() < 0.02:
                self._event()
            time.sleep(self.chance.uniform(0.0, 0.05))
        self._append()

    def _append(self) -> None:
        self.step += 1
        score = self.chance.random()
        text = runs.line(self.step, score)
        cut = self.chance.randrange(len(text)) if self.chance.random() < 0.3 else len(text)
        with self.log.open("a") as out:
            out.write(text[:cut])
            out.flush()
            if cut < len(text):
                time.sleep(0.02)
                out.write(text[cut:])
        self.written = {s: v for s, v in self.written.items() if s < self.step} | {self.step: score}

    def _event(self) -> None:
        """What was read before an event is settled first, as between two launches of a trainer."""
        time.sleep(3.0)
        self.events += 1
        kind = self.chance.choice(("truncate", "replace", "rotate", "vanish"))
        if kind == "truncate":
            self.step = max(0, self.step - self.chance.randint(1, 20))
            os.truncate(self.log, 0)
        elif kind == "replace":
            self.step = max(0, self.step - self.chance.randint(1, 20))
            fresh = self.log.with_suffix(".tmp")
            fresh.write_text("")
            fresh.replace(self.log)
        elif kind == "rotate":
            self.log.rename(self.log.with_name(f"old-{self.events}.txt"))
            self.log.write_text("")
        else:
            kept = self.log.read_bytes()
            self.log.unlink()
            time.sleep(0.5)
            self.log.write_bytes(kept)


@pytest.mark.soak
def test_five_minutes(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text(runs.line(0, 0.5))
    trainer = Trainer(log, float(os.environ.get("RLTUI_SOAK_S", "300")), seed=7)
    trainer.written[0] = 0.5
    live = LiveRun(locate([str(log)])[0])
    trainer.start()
    while trainer.is_alive():
        live.next_frame(0.5)
    runs.frames_until(live, lambda: (live.opened.run.history.table.head_step or 0) == trainer.step)
    series = live.opened.run.history.table.series("critic/score/mean")
    assert series is not None
    assert dict(zip(series.steps.tolist(), series.values.tolist(), strict=True)) == trainer.written
    last = runs.content(runs.opened(log))
    assert {step: cells for step, cells in runs.content(live.opened).items() if step in last} == last
    assert trainer.events > 0
    live.close()
