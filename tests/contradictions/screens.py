"""What the screens say of one run."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

from rltui.tui.app import RltuiApp
from rltui.tui.screens.compare import ABOUT
from rltui.tui.screens.picker import PickerScreen
from tests.contradictions.surfaces import Said
from tests.unit.tui.conftest import SampleOpener, is_read, screen_text, wait_for

SIZE = (160, 50)
BEHIND: dict[str, tuple[str, ...]] = {
    "pipeline": ("P",),
    "coverage": ("C",),
    "config": ("i",),
    "rollouts": ("5",),
    "digest": ("d",),
    "help": ("?",),
    "phases": ("3", "3"),
    "gpu": ("4", "4"),
    "log": ("6", "6"),
}
"""Screen -> the keys that open it from the main one."""


async def look(said: Said, path: Path) -> None:
    """Adds the main, decision, pipeline, coverage, config, GPU, step time, log, samples, digest, metric and finding
    screens, and the main screen at the earlier steps that were reported."""
    app = RltuiApp(SampleOpener(path), target="here", clock=time.time)
    async with app.run_test(size=SIZE) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.pause()
        said.screens["main"] = screen_text(app)
        await pilot.press("D")
        await wait_for(pilot, lambda: "WHAT MUST HOLD" in screen_text(app) or app.view.report is None, "the decision")
        said.screens["decision"] = screen_text(app)
        await pilot.press("escape")
        for name, keys in BEHIND.items():
            await pilot.press(*keys)
            await wait_for(pilot, lambda name=name: app.screen.name == name, name)
            await wait_for(pilot, lambda: " reading …" not in screen_text(app), f"{name} is read")
            said.screens[name] = screen_text(app)
            await pilot.press("escape", "1")
        if said.report["metrics"]:
            await pilot.press("2", "enter")
            await wait_for(pilot, lambda: "first window" in screen_text(app), "the metric")
            said.screens["metric"] = screen_text(app)
            await pilot.press("escape", "1")
        if said.loud:
            await pilot.press("enter")
            await wait_for(pilot, lambda: app.screen.name == "finding", "the finding")
            said.screens["finding"] = screen_text(app)
            await pilot.press("escape")
        last = said.report["run"]["steps"]["last"]
        for step in (step for step in said.earlier if step < last):  # at the last step it follows
            app.set_cursor(step)
            await wait_for(pilot, lambda step=step: app.view.past is not None and app.view.past[0] == step, "the past")
            await pilot.pause()
            said.travelled[step] = screen_text(app)


async def look_picker(paths: list[Path]) -> dict[Path, str]:
    """Run -> its line in the list of runs, once every one has been looked at."""
    from rltui.tui.start import SessionOpener

    app = RltuiApp(SessionOpener([str(path) for path in paths], {}, None), target="here", clock=time.time)
    async with app.run_test(size=(200, max(24, len(paths) + 12))) as pilot:
        await wait_for(pilot, lambda: isinstance(app.screen, PickerScreen), "the list")
        await wait_for(pilot, lambda: "attention first" in screen_text(app), "every run is looked at")
        lines = screen_text(app).splitlines()
    return {path: line for path in paths for line in lines if line[1:].strip().lstrip("▌ ").startswith(path.name + " ")}


async def look_comparison(folder: Path, names: list[str]) -> dict[str, str]:
    """Run -> its group and its row on the screen of the comparison of all runs of a folder."""
    from rltui.tui.start import SessionOpener

    app = RltuiApp(SessionOpener([str(folder / names[0])], {}, None), target="here", clock=time.time)
    found: dict[str, str] = {}
    async with app.run_test(size=SIZE) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.press("c")
        await wait_for(pilot, lambda: f"{len(names)} runs   by" in screen_text(app), "the comparison")
        for group in ("good", "bad", "ugly"):
            await wait_for(pilot, lambda group=group: ABOUT[group] in screen_text(app), group)
            lines = [re.sub(r"^[ ▌•]+", "", line) for line in screen_text(app).splitlines()]
            for name in names:
                drawn = re.compile(rf"{re.escape(name)} +◆? *[▁▂▃▄▅▆▇█](?!.*this run, (?!{group}))")
                row = next((line for line in lines if drawn.match(line)), None)
                if row is not None:
                    found[name] = f"{group}\n{row}"
            await pilot.press("tab")
            await pilot.pause()
    return found


def look_now(said: Said, path: Path) -> None:
    """`look`, outside a test: keys and pauses wait as Textual has them."""
    asyncio.run(look(said, path))
