"""Themes of the user's own, and terminals that change under the app."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.tui.theme import load_theme, theme_names
from tests.unit.tui import canned
from tests.unit.tui.conftest import WIDE, Open, screen_text, wait_for

MINE = (Path(__file__).resolve().parents[3] / "themes" / "dark.toml").read_text().replace('"dark"', '"mine"')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    made = tmp_path / "rltui" / "themes"
    made.mkdir(parents=True)
    for cached in (load_theme, theme_names):
        cached.cache_clear()
    yield made
    for cached in (load_theme, theme_names):
        cached.cache_clear()


def test_a_theme_in_the_config_directory_can_be_chosen(folder: Path) -> None:
    (folder / "mine.toml").write_text(MINE.replace("#62b0f4", "#ff00ff"))
    assert theme_names()[-1] == "mine"
    accent = load_theme("mine").styles["accent"].color
    assert accent is not None
    assert accent.name == "#ff00ff"


@pytest.mark.parametrize(
    ("text", "why"),
    [("name =", "theme bad"), ("ansi = false", "is missing"), (MINE.replace("#62b0f4", "nocolour"), "bad")],
)
def test_a_broken_theme_is_told_by_name(folder: Path, text: str, why: str) -> None:
    (folder / "bad.toml").write_text(text)
    with pytest.raises(ValueError, match=why):
        load_theme("bad")


def test_an_unknown_theme_names_the_others() -> None:
    with pytest.raises(ValueError, match="high-contrast"):
        load_theme("nonesuch")


async def test_a_storm_of_resizes_ends_with_the_screen_of_the_last_size(open_app: Open) -> None:
    async with open_app([canned.make()], WIDE) as (app, pilot):
        for i in range(30):
            await pilot.resize_terminal(60 + 7 * i, 20 + i)
        await pilot.resize_terminal(40, 10)
        await pilot.resize_terminal(*WIDE)
        await wait_for(pilot, lambda: "STOP · KEEP 600" in screen_text(app), "the screen")
        assert app._exception is None
