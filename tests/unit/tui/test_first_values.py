"""The newest values stand on the screen before the run is read, and stay where they are when it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import pytest
from textual.pilot import Pilot

from rltui.plots.numbers import integer
from rltui.report.names import FirstValues
from rltui.tui.app import RltuiApp
from rltui.tui.messages import Choice
from tests.unit.tui.conftest import NARROW, WIDE, SampleOpener, screen_text

STEPS = 1500
KEYS = ("critic/score/mean", "actor/grad_norm", "actor/entropy", "actor/kl_loss", "response_length/mean")


class HeldOpener(SampleOpener):
    """What comes after the first values waits for `go`."""

    def __init__(self, log: Path, fails: bool = False) -> None:
        super().__init__(log)
        self.go = Event()
        self.fails = fails

    def first_values(self) -> FirstValues | None:
        if self.fails:
            raise OSError("the file went away")
        return super().first_values()

    def find(self) -> Sequence[Choice]:
        assert self.go.wait(60)
        return super().find()


async def wait_for(pilot: Pilot[None], condition: Callable[[], bool], what: str) -> None:
    """A run is opened, read and diagnosed: that takes a while on a busy machine."""
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until, f"never came true: {what}"
        await pilot.pause(0.01)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "console.log"
    with path.open("w") as out:
        for step in range(1, STEPS + 1):
            cells = (f"{key}:{0.1 * i + step / 1e4}" for i, key in enumerate(KEYS, 1))
            out.write(f"(main pid=1) step:{step} - {' - '.join(cells)}\n")
    return path


def rows_of(text: str) -> dict[str, str]:
    """Label of a metric -> the end of its row up to its value, without the curve between them."""
    labels = ("score mean", "gradient norm", "entropy", "KL to reference", "length mean")
    found = {}
    for line in text.splitlines():
        for label in labels:
            if line[:30].strip(" │▌").startswith(label):
                words = [word for word in line.split() if word[:1].isdigit()]
                found[label] = words[0] if words else ""
    return found


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_values_come_first_and_stay(log: Path, size: tuple[int, int]) -> None:
    opener = HeldOpener(log)
    app = RltuiApp(opener, target=str(log), clock=lambda: 1.8e9)
    async with app.run_test(size=size) as pilot:
        try:
            await wait_for(pilot, lambda: integer(STEPS) in screen_text(app).splitlines()[0], "the newest step")
            early = screen_text(app)
            assert app.view.report is None
            assert "reading" in early
            assert rows_of(early)["score mean"] == "0.250"
            assert len(rows_of(early)) > 2
            await pilot.press("2", "j", "enter", "escape", "slash", "s", "enter", "escape", "z", "escape", "1")
        finally:
            opener.go.set()
        await wait_for(
            pilot, lambda: app.view.recording is not None and app.view.recording.loading.done, "the whole run"
        )
        await wait_for(pilot, lambda: "reading" not in screen_text(app), "the last frame on the screen")
        late = rows_of(screen_text(app))
        assert {label: late.get(label) for label in rows_of(early)} == rows_of(early)


async def test_a_run_opens_where_its_first_values_cannot_be_had(log: Path) -> None:
    opener = HeldOpener(log, fails=True)
    opener.go.set()
    app = RltuiApp(opener, target=str(log), clock=lambda: 1.8e9)
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: app.view.report is not None, "the first frame")
        assert app.view.first is None


async def test_another_run_does_not_begin_with_the_values_of_the_one_before(log: Path) -> None:
    opener = HeldOpener(log)
    app = RltuiApp(opener, target=str(log), clock=lambda: 1.8e9)
    async with app.run_test(size=WIDE) as pilot:
        try:
            await wait_for(pilot, lambda: app.view.first is not None, "the first values")
            app.view.leave("another")
            app.redraw()
            await wait_for(pilot, lambda: integer(STEPS) not in screen_text(app).splitlines()[0], "an empty screen")
        finally:
            opener.go.set()
