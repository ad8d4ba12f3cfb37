"""The main screen: what it shows at which size, and where its keys lead."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from rltui.plots.numbers import integer
from rltui.session.frame import Loading
from rltui.tui.app import RltuiApp
from rltui.tui.messages import ReportArrived
from rltui.tui.rows import Row
from rltui.tui.screens.main import MainScreen
from tests.unit.tui import canned, canned_source
from tests.unit.tui.conftest import NARROW, WIDE, Open, screen_text, wait_for


def main(app: RltuiApp) -> MainScreen:
    screen = app.screen
    assert isinstance(screen, MainScreen)
    return screen


async def test_the_worst_finding_is_selected_and_shown_with_its_numbers(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, _):
        text = screen_text(app)
        assert "✗ STOP · KEEP 600" in text
        assert "Keep global_step_600" in text
        row = next(line for line in text.splitlines() if "▌✗ critical" in line)
        assert "KL rises and the reward does not" in row
        assert "since 640" in row
        assert "kl_loss_coef 0.001" in row
        assert "step 812 / 2000   41 %" in text


async def test_a_healthy_run_says_what_could_not_be_checked_and_how(open_app: Open) -> None:
    async with open_app([canned.make(healthy=True)]) as (app, _):
        text = screen_text(app)
        assert "✓ CONTINUE" in text
        assert "actor_rollout_ref.rollout.calculate_log_probs=True" in text
        assert "critical" not in text.split("↵")[0]


@pytest.mark.parametrize("size", [WIDE, (120, 40), (100, 50), NARROW, (60, 20), (300, 100)])
async def test_verdict_and_worst_finding_never_go(open_app: Open, size: tuple[int, int]) -> None:
    async with open_app([canned.make()], size) as (app, _):
        text = screen_text(app)
        assert "STOP · KEEP 600" in text
        assert "KL rises and the rew" in text
        assert "KL to reference" in text
        assert "? help" in text
        assert all(len(line) <= size[0] for line in text.splitlines())


async def test_metrics_with_findings_come_before_others_where_room_is_short(open_app: Open) -> None:
    async with open_app([canned.make()], NARROW) as (app, _):
        text = screen_text(app).split("2 Metrics")[1]
        for label in ("math500 accuracy", "KL to reference", "entropy", "cut at limit", "step time"):
            assert label in text


async def test_a_terminal_that_is_too_small_says_so_and_grows_back(open_app: Open) -> None:
    async with open_app([canned.make()], NARROW) as (app, pilot):
        await pilot.resize_terminal(40, 10)
        await wait_for(pilot, lambda: "too small" in screen_text(app), "the message")
        await pilot.resize_terminal(*WIDE)
        await wait_for(pilot, lambda: "6 Log and events" in screen_text(app), "the wide layout")


async def test_enter_and_escape_for_a_finding(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("w", "enter")
        await pilot.pause()
        text = screen_text(app)
        assert app.screen.name == "finding"
        assert "Validation past its peak" in text
        assert "Refuted if" in text
        assert "Resume from global_step_600" in text
        await pilot.press("escape")
        assert main(app).finding == 1


async def test_enter_and_escape_for_a_metric(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("2", "j", "enter")
        await pilot.pause()
        text = screen_text(app)
        assert "math500 accuracy" in text
        assert "val-core/math500/acc/mean@1" in text
        assert "first window" in text
        await pilot.press("y")
        assert "full range" in screen_text(app)
        await pilot.press("alt+escape")
        assert app.screen.name == "main"


async def test_escape_never_quits_and_q_does_at_the_top(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("escape", "escape", "escape")
        assert app.is_running
        assert app.screen.name == "main"
        await pilot.press("i", "q")
        assert app.screen.name == "main"
        await pilot.press("q")
        assert app._exit


async def test_ctrl_c_asks_first(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("ctrl+c")
        assert "press Ctrl+c again to quit" in screen_text(app)
        assert not app._exit
        await pilot.press("ctrl+c")
        assert app._exit


async def test_filter_narrows_while_typing_and_escape_clears(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("slash", *"kl !loss")
        assert main(app).names() == ["ppo_kl"]
        await pilot.press("backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "enter")
        assert set(main(app).names()) == {"kl_ref", "ppo_kl"}
        await pilot.press("n", "n", "enter")
        assert app.screen.name == "metric"
        await pilot.press("escape", "escape")
        assert len(main(app).names()) > 5
        assert main(app).pattern is None


async def test_the_step_cursor_moves_all_panes(open_app: Open) -> None:
    made = canned.make()
    async with open_app([made]) as (app, pilot):
        await pilot.press("left_curly_bracket", *["left_square_bracket"] * 2)
        assert app.view.cursor == 800
        await wait_for(pilot, lambda: "at step 800 of 812" in screen_text(app), "the diagnosis of that step")
        text = screen_text(app)
        gen = made[0].series["timing_s/gen"]
        assert f"{gen.values[799]:.0f} s" in text.split("3 Step time")[1]
        await pilot.press("escape")
        assert app.view.cursor is None
        await pilot.press("left_square_bracket", "G")
        assert app.view.cursor is None
        await pilot.press("left_square_bracket", "right_square_bracket")
        assert app.view.cursor is None


async def test_pause_keeps_what_is_shown(open_app: Open) -> None:
    first, second = canned.make(n=600), canned.make(n=700)
    async with open_app([first]) as (app, pilot):
        await pilot.press("p")
        app.post_message(ReportArrived(second[1]))
        await pilot.pause()
        assert app.view.span[1] == 600
        assert "paused" in screen_text(app)
        await pilot.press("f")
        app.post_message(ReportArrived(second[1]))
        await wait_for(pilot, lambda: app.view.report is second[1], "the newer frame")


async def test_zoom_shows_every_metric_and_the_raw_log(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("2", "2")
        assert main(app).zoomed
        assert set(main(app).names()) == set(canned.METRICS)
        await pilot.press("escape", "6", "6")
        assert "step:812 - actor/kl_loss" in screen_text(app)
        await pilot.press("z")
        assert not main(app).zoomed


async def test_all_findings_adds_resolved_ones_and_skipped_checks(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        assert "Gradient norm jumped" not in screen_text(app)
        await pilot.press("A")
        await pilot.press("G")
        await wait_for(pilot, lambda: "Gradient norm jumped" in screen_text(app), "what is resolved")
        assert "needs reward parts" in screen_text(app)


async def test_nothing_to_show_says_why(open_app: Open) -> None:
    async with open_app([canned.empty()]) as (app, pilot):
        text = screen_text(app)
        assert "no metric rows yet" in text
        assert "no phase times logged" in text
        assert "this source has no text log" in text
        for key in ("enter", "2", "enter", "j", "6", "6", "z", "left_square_bracket", "e"):
            await pilot.press(key)
        assert app.screen.name == "main"


async def test_without_gpus_the_pane_gives_the_reason(open_app: Open) -> None:
    async with open_app([canned.make(gpus=False)]) as (app, _):
        assert "no NVIDIA driver on this machine" in screen_text(app)


async def test_backspace_goes_to_the_last_place_and_back(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("enter", "escape", "backspace")
        assert app.screen.name == "finding"
        await pilot.press("backspace")
        assert app.screen.name == "main"


async def test_the_picker_opens_the_chosen_run(open_app: Open) -> None:
    async with open_app([canned.make()], choices=3) as (app, pilot):
        assert "run-2" in screen_text(app)
        await pilot.press("j", "escape", "enter")
        await wait_for(pilot, lambda: app.view.report is not None, "the frame of the chosen run")
        assert app.worker.opener.opened == [1]  # type: ignore[attr-defined]
        assert app.screen.name == "main"


async def test_what_cannot_be_opened_ends_with_a_message() -> None:
    from tests.unit.tui.conftest import CannedOpener

    app = RltuiApp(CannedOpener(canned_source.CannedSource([]), error="nowhere: no such file or directory"))
    async with app.run_test() as pilot:
        await wait_for(pilot, lambda: bool(app.failure), "the failure")
    assert app.return_code == 2
    assert app.failure == "nowhere: no such file or directory"


async def test_while_the_history_is_read_only_the_first_line_moves(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, report = canned.make()
    frame = replace(frame, loading=Loading(10, 100, "console.log", False))
    async with open_app([(frame, report)]) as (app, pilot):
        await wait_for(pilot, lambda: "10 %" in screen_text(app), "how far the reading is")
        await wait_for(pilot, lambda: bool(app.view.marks and app.view.insights), "answers, which draw everything")
        drawn: list[str] = []
        draw = MainScreen.draw

        def told(self: MainScreen, pane: str, width: int, height: int) -> list[Row]:
            drawn.append(pane)
            return draw(self, pane, width, height)

        monkeypatch.setattr(MainScreen, "draw", told)
        app.post_message(
            ReportArrived(replace(report, recording=replace(frame, loading=Loading(90, 100, "console.log", False))))
        )
        await wait_for(pilot, lambda: "90 %" in screen_text(app), "how far the reading is")
        assert set(drawn) == {"header"}
        app.post_message(ReportArrived(replace(report, recording=replace(frame, loading=Loading(100, 100, "", True)))))
        await wait_for(pilot, lambda: {"findings", "metrics", "log"} <= set(drawn), "the whole")


async def test_without_a_finding_it_says_why(open_app: Open) -> None:
    """While a history is read no check has run: that is not for want of rows."""
    frame, report = canned.make()
    reading = replace(frame, loading=Loading(10, 100, "console.log", False))
    none = replace(report, findings=(), checks=0, not_evaluable=(), recording=reading)
    async with open_app([(reading, none)]) as (app, pilot):
        await wait_for(pilot, lambda: "the checks begin when the log is read" in screen_text(app), "why there is none")
        app.post_message(ReportArrived(replace(none, recording=frame)))
        await wait_for(pilot, lambda: "no check could run yet: too few metric rows" in screen_text(app), "the whole")


async def test_the_best_value_is_named_where_room_is_short(open_app: Open) -> None:
    async with open_app([canned.make()], NARROW) as (app, _):
        row = next(line for line in screen_text(app).splitlines() if "Keep global_step_600" in line)
        assert "math500 acc" in row.split("0.")[0]


async def test_values_stand_below_each_other_with_and_without_a_sign(open_app: Open) -> None:
    async with open_app([canned.make()], NARROW) as (app, _):
        rows = screen_text(app).split("2 Metrics")[1].splitlines()
        share = next(line for line in rows if "cut at limit" in line)
        plain = next(line for line in rows if "entropy" in line)
        assert re.search(r"\d %", share)
        ends = [re.match(r".*?[^\d.,\-−]([\d.,]+)(?= )", row[30:]) for row in (share, plain)]
        assert ends[0] is not None
        assert ends[1] is not None
        assert ends[0].end(1) == ends[1].end(1)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_a_late_onset_is_whole(open_app: Open, size: tuple[int, int]) -> None:
    """Thousands are set apart by a blank, which takes a column, too."""
    frame, report = canned.make()
    late = tuple(replace(one, onset_step=60_210) for one in report.findings)
    steps = replace(report.run.steps, last=60_812, total=62_000)
    report = replace(report, findings=late, run=replace(report.run, steps=steps))
    async with open_app([(frame, report)], size) as (app, _):
        assert integer(60_210) in screen_text(app)
