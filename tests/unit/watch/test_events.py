"""What is told of a run between two looks, and that nothing is told twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rltui.events.changes import Changes
from rltui.evidence.model import Episode, Finding, Severity
from rltui.report.build import build
from rltui.report.model import Report
from rltui.run.stall import StallCard, Word
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.conftest import REPO


@pytest.fixture(scope="module")
def report() -> Report:
    """A report of a run without trouble; tests put findings and cards into copies of it."""
    opened = RunReader(locate([str(REPO / "sample_runs" / "trl-grpo-healthy")])[0])
    opened.load()
    return build(opened.frame(1000.0))


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


def told(changes: Changes, report: Report, *findings: Finding, card: StallCard | None = None) -> list[str]:
    recording = replace(report.recording, stall=card)
    return [e.kind for e in changes.of(replace(report, findings=findings, recording=recording))]


def test_the_life_of_a_finding_is_told_step_by_step_and_once(report: Report) -> None:
    changes = Changes()
    assert told(changes, report) == ["summary"]
    warning, critical = finding(), finding("critical", life="worse", peak="critical")
    assert told(changes, report, warning) == ["opened"]
    assert told(changes, report, warning) == []
    assert told(changes, report, critical) == ["worse"]
    assert told(changes, report, critical) == []
    assert told(changes, report, finding("warning", life="better", peak="critical")) == ["better"]
    gone = finding("info", status="resolved", life="resolved", peak="critical")
    assert told(changes, report, gone) == ["resolved"]
    assert told(changes, report, gone) == []
    assert told(changes, report, finding("warning", episodes=2)) == ["opened"]
    assert changes.seen.worst == 2


def test_a_finding_that_flickers_between_two_looks_of_the_engine_is_told_once(report: Report) -> None:
    changes = Changes()
    told(changes, report)
    assert told(changes, report, finding()) == ["opened"]
    assert told(changes, report) == []
    assert told(changes, report, finding()) == []
    assert told(changes, report, finding("critical")) == ["worse"]
    assert told(changes, report, finding()) == []
    assert told(changes, report, finding("critical")) == []


def test_what_came_and_went_between_two_frames_is_told(report: Report) -> None:
    changes = Changes()
    gone = finding("info", status="resolved", peak="critical")
    assert told(changes, report, gone) == ["summary"], "what was over before the watch began is history"
    again = finding("info", episodes=2, status="resolved", peak="critical")
    assert told(changes, report, again) == ["opened", "resolved"]
    notice = finding("info", status="resolved", peak="info", id="lr-schedule")
    assert told(changes, report, again, notice) == []


def test_notices_make_no_line(report: Report) -> None:
    changes = Changes()
    told(changes, report)
    assert told(changes, report, finding("info", peak="info")) == []
    assert told(changes, report, finding("warning")) == ["opened"]
    assert changes.seen.worst == 1


def card(word: Word, **more: bool) -> StallCard:
    return StallCard(word, ("no output for 41 min",), **more)  # type: ignore[arg-type]


def test_stall_recovery_end_and_a_further_attempt(report: Report) -> None:
    changes = Changes()
    stalled = finding("critical", id="run-stalled", peak="critical")
    assert told(changes, report, card=card("fine")) == ["summary"]
    assert told(changes, report, card=card("slow")) == []
    assert told(changes, report, finding(id="run-stalled"), card=card("hung")) == ["stall"]
    assert told(changes, report, stalled, card=card("hung", sure=True)) == ["worse"]
    assert told(changes, report, stalled, card=card("hung", sure=True)) == []
    assert told(changes, report, card=card("fine")) == ["recovery"]
    assert told(changes, report, card=card("crashed", over=True)) == ["end"]
    assert told(changes, report, card=card("crashed", over=True)) == []
    assert told(changes, report, card=card("fine")) == ["recovery"]
    assert changes.seen.worst == 2


def test_another_run_in_the_same_place_is_told_and_the_count_goes_on(report: Report) -> None:
    changes = Changes()
    kl = finding()
    assert told(changes, report, kl) == ["summary", "opened"]
    nothing = replace(report, findings=(), at_step=None)
    assert changes.of(nothing) == []  # the file was truncated, and may come back as it was
    assert told(changes, report, kl) == []
    first = replace(report, findings=(kl,), at_step=1)
    restart, summary, opened = changes.of(first)
    assert (restart.kind, summary.kind, opened.kind) == ("restart", "summary", "opened")
    assert f"to step {report.at_step}" in restart.text
    assert [event.seq for event in (restart, summary, opened)] == [3, 4, 5]


def test_nothing_is_told_of_a_run_still_being_read(report: Report) -> None:
    loading = replace(report.recording.loading, done=False)
    reading = replace(report, recording=replace(report.recording, loading=loading))
    changes = Changes()
    assert changes.of(reading) == []
    assert told(changes, report) == ["summary"]


def test_events_are_plain_json(report: Report) -> None:
    (event,) = Changes().of(report)
    values = event.as_dict()
    assert (values["schema"], values["event"], values["time"]) == (
        "rltui.event/1",
        "summary",
        "1970-01-01T00:16:40+00:00",
    )
    assert values["answer"]["what"] == report.verdict.text
    assert all(value is None or isinstance(value, str | int | dict) for value in values.values())


def test_paths_may_be_anywhere(report: Report) -> None:
    assert Path(Changes().of(report)[0].path).name == "trl-grpo-healthy"


def test_each_attempt_is_told_also_where_several_came_between_two_looks() -> None:
    opened = RunReader(locate([str(REPO / "sample_runs" / "trl-grpo-healthy")])[0])
    opened.load()
    report, changes = build(opened.frame(1000.0)), Changes()
    told(changes, report)
    report = replace(report, run=replace(report.run, restarts=(20, 30)))
    assert [event.text for event in changes.of(report) if event.kind == "restart"] == [
        "goes on from step 20 in a new attempt",
        "goes on from step 30 in a new attempt",
    ]
    assert told(changes, report) == []


def test_what_had_eased_before_anyone_looked_is_told_as_it_stands(report: Report) -> None:
    """Report and watch agree on how bad it is now: that it was critical once is no event of now."""
    changes = Changes()
    eased = finding("info", life="better", peak="critical")
    assert told(changes, report, eased) == ["summary"]
    assert changes.seen.worst == 0
    assert told(changes, report, eased) == []
    assert told(changes, report, finding("warning", life="worse", peak="critical")) == ["worse"]
    assert told(changes, report, finding("info", status="resolved", life="resolved", peak="critical")) == ["resolved"]
    assert changes.seen.worst == 1


def test_a_warning_that_was_critical_opens_as_a_warning(report: Report) -> None:
    changes = Changes()
    assert told(changes, report, finding("warning", life="better", peak="critical")) == ["summary", "opened"]
    assert changes.seen.worst == 1
