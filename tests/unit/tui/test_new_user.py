"""Somebody who never saw the screen, with the screen alone: each key that is pressed stands on it before."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from rltui.tui.app import RltuiApp
from rltui.tui.start import SessionOpener
from tests.conftest import REPO
from tests.unit.tui.conftest import NARROW, WIDE, SampleOpener, is_read, screen_text, wait_for

NAMES = {"↵": "enter", "^s": "ctrl+s"}


async def press(app: RltuiApp, pilot: Pilot[None], shown: str, what: str) -> None:
    """Presses a key that the footer offers for `what`; of a pair the first one."""
    footer = screen_text(app).splitlines()[-1]
    assert f"{shown} {what}" in footer, f"the footer offers no {shown} for {what}: {footer}"
    key = shown.split()[0]
    await pilot.press(NAMES.get(key, key))
    await pilot.pause()


async def read_on(app: RltuiApp, pilot: Pilot[None], words: str) -> str:
    """Goes on down until the words are there; the line that holds them."""
    for _ in range(30):
        found = next((line for line in screen_text(app).splitlines() if words in line), None)
        if found is not None:
            return found
        await press(app, pilot, "j k", "read on")
    raise AssertionError(f"{words} is nowhere:\n{screen_text(app)}")


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_finding_evidence_config_key_checkpoint_and_file(
    size: tuple[int, int], own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (own_state / "welcomed").unlink()
    app = RltuiApp(SampleOpener(REPO / "sample_runs" / "trl-reward-flip"), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=size) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await wait_for(pilot, lambda: "opens what is selected" in screen_text(app), "the hint")
        app.say("")  # the hint goes

        # the worst finding: selected, with its numbers; the verdict and the checkpoint to keep above it
        text = screen_text(app)
        selected = next(line for line in text.splitlines() if line.startswith((" ▌", "▌")))
        assert ("✗ critical" if size[0] > 100 else "✗ Reward function at fault") in selected
        assert "FIX · RERUN" in text
        assert "checkpoint-100" in text

        # its evidence
        await press(app, pilot, "↵", "open")
        await wait_for(pilot, lambda: any("⣀" <= char <= "⣿" for char in screen_text(app)), "its chart")
        assert "Evidence" in screen_text(app)
        assert "onset" in screen_text(app)

        # the config key to change
        await read_on(app, pilot, "Fixes")
        assert "log_completions" in await read_on(app, pilot, "log_completions")

        # the file
        await press(app, pilot, "^s", "snapshot")
        await wait_for(pilot, lambda: "snapshot written to" in app.view.message, "the path")
        assert "snapshot written to" in screen_text(app)
    written = Path(app.view.message.removeprefix("snapshot written to "))
    assert "Reward function at fault" in written.read_text(encoding="utf-8")


@pytest.mark.parametrize("begun", ["", "\n\n", "Loading model\nStarting\n"])
async def test_opened_before_the_first_row_it_waits_for_it(tmp_path: Path, begun: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(begun)
    app = RltuiApp(SessionOpener([str(log)], {}, None), target=str(log), clock=lambda: 1.8e9)
    async with app.run_test(size=NARROW) as pilot:
        await wait_for(pilot, lambda: "Waiting for a run, q quits" in screen_text(app), "it says that it waits")
        assert str(tmp_path)[:40] in "".join(screen_text(app).split())  # the rest may have no room
        with log.open("a") as more:
            more.writelines(f"step {i} reward {i / 50:.3f} kl 0.0{i}\n" for i in range(1, 30))
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.pause()
        assert "reward" in screen_text(app)
        assert "Waiting" not in screen_text(app)


@pytest.mark.parametrize(
    "text", ["%PDF-1.4 \x00\x01", "It was a dark night.\nNobody spoke of steps, and so it went\non."]
)
async def test_what_can_become_no_log_is_refused_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.txt").write_text(text)
    app = RltuiApp(SessionOpener([str(tmp_path / "notes.txt")], {}, None), target="notes", clock=lambda: 1.8e9)
    async with app.run_test(size=NARROW) as pilot:
        await wait_for(pilot, lambda: app.return_code == 2, "it ends")
        assert "no training log recognised" in app.failure
