"""Every screen leaves as Markdown, as a picture and as a copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from textual.pilot import Pilot

from rltui.tui.app import RltuiApp
from tests.conftest import REPO
from tests.unit.tui.conftest import NARROW, WIDE, SampleOpener, is_read, screen_text, wait_for
from tests.unit.tui.test_keys import OPENS

FLIP = REPO / "sample_runs" / "trl-reward-flip"
PLACES = {**OPENS, "help": ["question_mark"]}


async def written(pilot: Pilot[None], folder: Path, suffix: str, do: Callable[[], object]) -> str:
    """The text of the file that appears."""
    before = set(folder.glob(f"*{suffix}"))
    do()
    found: list[Path] = []

    def there() -> bool:
        found[:] = [path for path in folder.glob(f"*{suffix}") if path not in before and path.stat().st_size]
        return bool(found)

    await wait_for(pilot, there, f"a file *{suffix}")
    return found[0].read_text(encoding="utf-8")


def lines_of(text: str) -> set[str]:
    """Lines without what goes on moving: ages, charts that are drawn one after the other."""
    return {
        line.strip() for line in text.splitlines() if len(line.split()) > 2 and not any("⠀" <= c <= "⣿" for c in line)
    }


@pytest.mark.long
@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_each_screen_leaves_as_markdown_picture_and_copy(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = RltuiApp(SampleOpener(FLIP), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=size) as pilot:
        await wait_for(pilot, lambda: is_read(app) and bool(app.view.insights), "the run is read")
        for screen, keys in PLACES.items():
            await pilot.press("1")
            for key in keys:
                if app.screen.name != screen:  # where a pane has no room its first key opens it
                    await pilot.press(key)
            assert app.screen.name == screen
            await wait_for(pilot, lambda: not app.view.asked - set(app.view.insights), "what is asked")
            await leaves(app, pilot, tmp_path, screen)
            while app.screen.name != "main":
                await pilot.press("escape")
                await pilot.pause()


async def leaves(app: RltuiApp, pilot: Pilot[None], folder: Path, screen: str) -> None:
    """The screen that is open writes what it shows."""
    await pilot.pause()  # a key may have moved the focus, which the next paint shows
    shown = lines_of(app.exports.screen_text())
    assert shown or screen == "rollouts"

    report = await written(pilot, folder, ".md", app.screen.action_snapshot)  # type: ignore[attr-defined]
    assert "reward-flip" in report, screen
    if screen != "main":
        assert report.startswith("```text\n"), screen
        assert len(shown & lines_of(report)) >= len(shown) // 2, screen
    assert "# " in report, screen

    picture = await written(pilot, folder, ".svg", app.exports.picture)
    ElementTree.fromstring(picture)
    words = max((line for line in shown), key=len, default="").split()
    assert sum(word.replace("&", "&amp;") in picture for word in words) >= len(words) // 2, screen

    copied = await written(pilot, folder, ".txt", app.screen.action_copy)  # type: ignore[attr-defined]
    assert app.clipboard.strip() == copied.strip(), screen
    assert copied.strip(), screen


async def test_the_list_of_runs_leaves_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = RltuiApp(SampleOpener(FLIP, FLIP), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: app.screen.name == "picker", "the list")
        await wait_for(pilot, lambda: "trl-reward-flip" in screen_text(app), "the runs")
        text = await written(pilot, tmp_path, ".md", app.screen.action_snapshot)  # type: ignore[attr-defined]
        assert "which run?" in text
        copied = await written(pilot, tmp_path, ".txt", app.screen.action_copy)  # type: ignore[attr-defined]
        assert "which run?" in copied


@pytest.mark.parametrize("verb", ["picture", "report"])
async def test_the_palette_writes_the_screen_below_it(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = RltuiApp(SampleOpener(FLIP), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.press("i", "colon", *verb)
        await wait_for(pilot, lambda: app.screen.name == "palette", "the palette")
        await pilot.press("enter")
        suffix = ".svg" if verb == "picture" else ".md"
        await wait_for(pilot, lambda: any(p.stat().st_size for p in tmp_path.glob(f"*{suffix}")), "the file")
        text = next(tmp_path.glob(f"*{suffix}")).read_text(encoding="utf-8")
        assert "SOURCES" in text
