"""What a live run does now: the phase or step, since when, and what it usually takes. In the first line and in the pane
of step times; nothing of it on a run that is over, in the past or in a replay."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rltui.plots.axis import labels
from rltui.readers.base import Note
from rltui.run.stall import StallCard, phase_name
from rltui.tui import panes
from rltui.tui.view import View
from tests.unit.tui import canned


def live(card: StallCard, state: str = "running", seconds: float = 7.0) -> View:
    frame, report = canned.make()
    view = View()
    own = replace(frame, live=True, stall=card)
    view.take(replace(report, run=replace(report.run, state=state), recording=own))
    view.now = (card.since or 0.0) + seconds
    return view


def text(rows: list[list[tuple[str, str]]]) -> str:
    return "\n".join("".join(part for part, _ in row) for row in rows)


GENERATES = StallCard("fine", phase="gen", since=1_000_000.0, usual_s=20.0, high_s=25.0)


def test_the_phase_under_way_has_its_name_its_seconds_and_what_is_usual() -> None:
    view = live(GENERATES)
    assert "live generation 7 s, usual 20 s" in text(panes.header.draw(view, 160, 1))
    rows = panes.phases.draw(view, 55, 9, focus=False)
    (clock,) = (line for line in text(rows).splitlines() if "●" in line)
    assert "generation" in clock
    assert "7 s / 20 s" in clock
    assert len(rows) <= panes.phases.needed(view)


def test_where_there_is_one_row_it_comes_first() -> None:
    (_, line) = text(panes.phases.draw(live(GENERATES), 78, 2, focus=False)).splitlines()
    assert line.split()[:6] == ["●", "generation", "7", "s", "/", "20"]


def test_a_log_that_announces_no_phase_has_the_clock_of_its_step() -> None:
    view = live(StallCard("fine", since=1_000_000.0, usual_s=30.0))
    assert "this step" in text(panes.phases.draw(view, 55, 9, focus=False))


def test_what_takes_far_longer_than_usual_is_coloured() -> None:
    rows = panes.phases.draw(live(GENERATES, seconds=60.0), 55, 9, focus=False)
    assert "warn" in {role for row in rows for part, role in row if "●" in part}


@pytest.mark.parametrize("state", ["finished", "crashed", "stalled", "unknown"])
def test_a_run_that_does_nothing_has_no_clock(state: str) -> None:
    view = live(GENERATES, state)
    assert "●" not in text(panes.phases.draw(view, 55, 9, focus=False))


def test_the_past_has_no_clock() -> None:
    view = live(GENERATES)
    view.cursor = 100
    assert "●" not in text(panes.phases.draw(view, 55, 9, focus=False))


@pytest.mark.parametrize(
    ("kind", "line", "name"),
    [
        ("phase", "(TaskRunner pid=7) Started: 'gen'", "gen"),
        ("phase", "▶ update weights (3/4)", "update weights"),
        ("phase", "Timer rollout start", "rollout"),
        ("phase", "Started: something that names nothing", ""),
        ("validation", "test_gen_batch meta info: {...}", "validation"),
        ("checkpoint", "Saving model checkpoint to /ckpt/global_step_100", "checkpoint"),
    ],
)
def test_a_phase_has_the_name_that_the_log_gives_it(kind: str, line: str, name: str) -> None:
    assert phase_name(Note(kind, line, 1)) == name  # type: ignore[arg-type]


def test_the_last_label_of_an_axis_is_the_newest_step() -> None:
    shown = labels(1, 143, 35, reached=137)
    assert shown.split()[-1] == "137"
    assert len(shown) == 35
    assert shown.rstrip() != shown, "the run has not come to the end of the axis"
    assert labels(1, 143, 35).split()[-1] == "143"
    assert labels(1, 12, 35, reached=2).split()[-1] == "2"
