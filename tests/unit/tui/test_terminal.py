"""What goes to the terminal: bytes on demand, bandwidth mode, mouse, clipboard, colours that it can show."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from rich.color import ColorType

from rltui.plots.glyphs import ASCII
from rltui.tui.app import RltuiApp
from rltui.tui.messages import ReportArrived
from rltui.tui.start import default_theme
from tests.unit.tui import canned, canned_source
from tests.unit.tui.conftest import WIDE, CannedOpener, Open, screen_text, wait_for


async def test_in_bandwidth_mode_a_new_frame_waits(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("B")
        assert "bandwidth mode on" in screen_text(app)
        drawn = app._drawn
        _, report = canned.make()
        app.post_message(ReportArrived(report))
        await pilot.pause()
        assert app._drawn == drawn
        await pilot.press("B")
        app.post_message(ReportArrived(report))
        await pilot.pause()
        assert app._drawn > drawn


async def test_the_rate_on_the_wire_is_told_and_nothing_is_drawn_without_change(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        app.view.wire = "0.9 KB/s"
        app.redraw()
        await pilot.pause()
        assert screen_text(app).rstrip().endswith("0.9 KB/s")
        sent = app.wire.bytes
        for _ in range(3):
            app.redraw()
            await pilot.pause()
        assert app.wire.bytes == sent


async def test_the_mouse_can_be_turned_off_and_a_click_opens_what_is_selected(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("f2")
        assert not app.mouse_on
        await pilot.press("f2")
        assert app.mouse_on
        await pilot.click("#findings", offset=(20, 1))  # the one that is selected
        await pilot.pause()
        assert app.screen.name == "finding"


async def test_a_copy_goes_out_as_osc_52_and_to_a_file(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("enter")
        sent: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", sent.append)
        await pilot.press("Y")
        await wait_for(pilot, lambda: bool(list(tmp_path.glob("*.txt"))), "the file")
        text = next(tmp_path.glob("*.txt")).read_text(encoding="utf-8")
        assert base64.b64encode(text.rstrip("\n").encode()).decode() in "".join(sent)
        assert "]52;c;" in "".join(sent)
        await wait_for(pilot, lambda: str(tmp_path) in app.view.message, "the path")


async def test_ctrl_z_is_bound_and_says_so_where_it_cannot(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("ctrl+z")
        assert app.is_running


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({"NO_COLOR": "1", "TERM": "xterm-256color"}, "mono"),
        ({"TERM": "screen"}, "ansi-16"),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "light"),
        ({"TERM": "xterm-256color"}, "dark"),
    ],
)
def test_the_theme_follows_the_terminal(environ: dict[str, str], theme: str) -> None:
    assert default_theme(environ) == theme


@pytest.mark.parametrize("theme", ["mono", "ansi-16"])
async def test_few_colours_are_the_terminals_own(open_app: Open, theme: str) -> None:
    async with open_app([canned.make()], theme=theme) as (app, pilot):
        await pilot.press("enter")
        await pilot.pause(0.05)
        used = {
            colour.type
            for strip in app.screen._compositor.render_strips()
            for segment in strip._segments
            if segment.style is not None
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour is not None
        }
        assert used <= ({ColorType.DEFAULT} if theme == "mono" else {ColorType.DEFAULT, ColorType.STANDARD})
        assert "✗ critical" in screen_text(app)


async def test_ascii_shows_nothing_else_on_any_pane(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, report = canned.make()
    monkeypatch.setattr("rltui.report.build.build", lambda frame, **_: report)
    app = RltuiApp(CannedOpener(canned_source.CannedSource([frame])), target="here", glyphs=ASCII, clock=canned.clock)
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: app.view.report is not None, "the first frame")
        for keys in ([], ["enter"], ["escape", "2", "enter"], ["escape", "1", "3", "3"], ["escape", "D"]):
            await pilot.press(*keys)
            await pilot.pause(0.05)
            assert screen_text(app).isascii(), keys
