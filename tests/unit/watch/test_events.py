"""What is told of a run between two looks, and that nothing is told twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rltui.events.changes import Changes
from rltui.evidence.model import Diagnosis, Episode, Finding, Severity
from rltui.run.stall import StallCard, Word
from rltui.session import Frame
from rltui.session.locate import locate
from rltui.session.run_reader import OpenedRun
from tests.conftest import REPO


@pytest.fixture(scope="module")
def frame() -> Frame:
    """A frame of a run without trouble; tests put findings and cards into copies of it."""
    opened = OpenedRun(locate([str(REPO / "sample_runs" / "trl-grpo-healthy")])[0])
    opened.load()
    return opened.frame(1000.0)


def finding(
    severity: Severity = "warning",
    episodes: int = 1,
    life: str = "open",
    status: str = "active",
    peak: Severity = "warning",
    id: str = "kl-runaway",
) -> Finding:
    opened = tuple(Episode(10 * i, None, peak) for i in range(episodes))
    return Finding(
        id, None, "KL", severity, peak, status, opened, None, 10, 20, 0.9, "log", None, (), (), (), (), life, "KL rose."
    )  # type: ignore[arg-type]


def told(changes: Changes, frame: Frame, *findings: Finding, card: StallCard | None = None) -> list[str]:
    diagnosis: Diagnosis = replace(frame.diagnosis, findings=findings)
    return [e.kind for e in changes.of(replace(frame, diagnosis=diagnosis, stall=card))]


def test_the_life_of_a_finding_is_told_step_by_step_and_once(frame: Frame) -> None:
    changes = Changes()
    assert told(changes, frame) == ["summary"]
    warning, critical = finding(), finding("critical", life="worse", peak="critical")
    assert told(changes, frame, warning) == ["opened"]
    assert told(changes, frame, warning) == []
    assert told(changes, frame, critical) == ["worse"]
    assert told(changes, frame, critical) == []
    assert told(changes, frame, finding("warning", life="better", peak="critical")) == ["better"]
    gone = finding("info", status="resolved", life="resolved", peak="critical")
    assert told(changes, frame, gone) == ["resolved"]
    assert told(changes, frame, gone) == []
    assert told(changes, frame, finding("warning", episodes=2)) == ["opened"]
    assert changes.seen.worst == 2


def test_a_finding_that_flickers_between_two_looks_of_the_engine_is_told_once(frame: Frame) -> None:
    changes = Changes()
    told(changes, frame)
    assert told(changes, frame, finding()) == ["opened"]
    assert told(changes, frame) == []
    assert told(changes, frame, finding()) == []
    assert told(changes, frame, finding("critical")) == ["worse"]
    assert told(changes, frame, finding()) == []
    assert told(changes, frame, finding("critical")) == []


def test_what_came_and_went_between_two_frames_is_told(frame: Frame) -> None:
    changes = Changes()
    gone = finding("info", status="resolved", peak="critical")
    assert told(changes, frame, gone) == ["summary"], "what was over before the watch began is history"
    again = finding("info", episodes=2, status="resolved", peak="critical")
    assert told(changes, frame, again) == ["opened", "resolved"]
    notice = finding("info", status="resolved", peak="info", id="lr-schedule")
    assert told(changes, frame, again, notice) == []


def test_notices_make_no_line(frame: Frame) -> None:
    changes = Changes()
    told(changes, frame)
    assert told(changes, frame, finding("info", peak="info")) == []
    assert told(changes, frame, finding("warning")) == ["opened"]
    assert changes.seen.worst == 1


def card(word: Word, **more: bool) -> StallCard:
    return StallCard(word, ("no output for 41 min",), **more)  # type: ignore[arg-type]


def test_stall_recovery_end_and_a_further_attempt(frame: Frame) -> None:
    changes = Changes()
    stalled = finding("critical", id="run-stalled", peak="critical")
    assert told(changes, frame, card=card("fine")) == ["summary"]
    assert told(changes, frame, card=card("slow")) == []
    assert told(changes, frame, finding(id="run-stalled"), card=card("hung")) == ["stall"]
    assert told(changes, frame, stalled, card=card("hung", sure=True)) == ["worse"]
    assert told(changes, frame, stalled, card=card("hung", sure=True)) == []
    assert told(changes, frame, card=card("fine")) == ["recovery"]
    assert told(changes, frame, card=card("crashed", over=True)) == ["end"]
    assert told(changes, frame, card=card("crashed", over=True)) == []
    assert told(changes, frame, card=card("fine")) == ["recovery"]
    assert changes.seen.worst == 2


def test_another_run_in_the_same_place_is_told_and_the_count_goes_on(frame: Frame) -> None:
    changes = Changes()
    kl = finding()
    assert told(changes, frame, kl) == ["summary", "opened"]
    nothing = replace(frame, diagnosis=replace(frame.diagnosis, findings=(), at_step=None))
    assert changes.of(nothing) == []  # the file was truncated, and may come back as it was
    assert told(changes, frame, kl) == []
    first = replace(frame, diagnosis=replace(frame.diagnosis, findings=(kl,), at_step=1))
    restart, summary, opened = changes.of(first)
    assert (restart.kind, summary.kind, opened.kind) == ("restart", "summary", "opened")
    assert f"to step {frame.diagnosis.at_step}" in restart.text
    assert [event.seq for event in (restart, summary, opened)] == [3, 4, 5]


def test_nothing_is_told_of_a_run_still_being_read(frame: Frame) -> None:
    reading = replace(frame, loading=replace(frame.loading, done=False))
    changes = Changes()
    assert changes.of(reading) == []
    assert told(changes, frame) == ["summary"]


def test_events_are_plain_json(frame: Frame) -> None:
    (event,) = Changes().of(frame)
    values = event.as_dict()
    assert (values["schema"], values["event"], values["time"]) == (
        "rltui.event/1",
        "summary",
        "1970-01-01T00:16:40+00:00",
    )
    assert all(value is None or isinstance(value, str | int) for value in values.values())


def test_paths_may_be_anywhere(frame: Frame) -> None:
    assert Path(Changes().of(frame)[0].path).name == "trl-grpo-healthy"


def test_each_attempt_is_told_also_where_several_came_between_two_looks() -> None:
    opened = OpenedRun(locate([str(REPO / "sample_runs" / "trl-grpo-healthy")])[0])
    opened.load()
    frame, changes = opened.frame(1000.0), Changes()
    told(changes, frame)
    frame.run.history.table.restarts.extend([20, 30])
    assert [event.text for event in changes.of(frame)] == [
        "goes on from step 20 in a new attempt",
        "goes on from step 30 in a new attempt",
    ]
    assert told(changes, frame) == []
