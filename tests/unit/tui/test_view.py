"""What the screen knows of a run: the order of findings, what a metric means, insights of older states."""

from __future__ import annotations

from msgspec.structs import replace

from rltui.run.run import StallCard
from rltui.sources.base import Link
from rltui.tui.view import ASK_AGAIN_S, INSIGHTS, STILL_ASK_S, View
from tests.unit.tui import canned, canned_source


def test_symptoms_stand_below_their_root_and_the_reason_of_the_verdict_comes_first() -> None:
    _, report = canned.make()
    view = View()
    view.take(report)
    shown = view.open_findings()
    assert {(f.id, f.subject) for f in shown} == {(f.id, f.subject) for f in report.findings if f.status == "active"}
    ids = [f.id for f in shown]
    for i, finding in enumerate(shown):
        if finding.root in ids:
            assert all(f.root == finding.root for f in shown[ids.index(finding.root) + 1 : i])
    roots = [f.id for f in shown if f.root not in ids]
    view.take(replace(report, verdict=replace(report.verdict, because=(roots[-1],))))
    assert view.open_findings()[0].id == roots[-1]


def test_a_metric_is_explained_in_a_line() -> None:
    _, report = canned.make()
    view = View()
    view.take(report)
    assert view.explained("entropy") == (
        "mean policy entropy per response token · in nats · healthy: falls slowly and stays clear of 0"
    )
    assert view.explained("a/key/of/their/own") == ""


def test_insights_of_an_older_state_are_shown_until_the_new_one_comes() -> None:
    frame, report = canned.make()
    view = View()
    view.take(report)
    insight = canned_source.CannedSource([frame]).insight(10)
    view.asked.add((10, None))
    view.learn(10, None, insight)
    view.now += 5.0
    view.take(replace(report, recording=replace(frame, live=True)))
    assert view.asked, "a live run is not asked at every row"
    view.now += 60.0
    view.take(replace(report, recording=replace(frame, live=True)))
    assert view.outlook is insight
    assert not view.asked
    view.leave("another run")
    assert view.outlook is None
    for step in range(3 * INSIGHTS):
        view.learn(step, None, insight)
    assert len(view.insights) == INSIGHTS


def test_while_nothing_is_read_insights_stand_longer_and_curves_stay_drawn() -> None:
    frame, report = canned.make()
    view = View()
    view.take(report)
    view.asked.add((10, None))
    view.sparks["entropy", 10, 1, 2, "block"] = "▁"
    view.now += 2 * ASK_AGAIN_S
    view.take(replace(report, recording=replace(frame, live=True)))
    assert view.sparks
    assert not view.asked, "it was asked before these rows"
    view.asked.add((10, None))
    view.now += 2 * ASK_AGAIN_S
    view.take(replace(report, recording=replace(frame, live=True)))
    assert view.asked
    view.take(replace(report, recording=replace(frame, live=True, series=dict(frame.series))))
    assert not view.asked
    assert not view.sparks
    view.asked.add((10, None))
    view.now += STILL_ASK_S
    view.take(replace(report, recording=replace(frame, live=True)))
    assert not view.asked


def test_what_the_first_line_says_of_a_run_that_is_over_does_not_age() -> None:
    frame, report = canned.make()
    view = View()
    assert view.ages
    for state, ages in (("running", True), ("stalled", True), ("finished", False), ("unknown", False)):
        view.take(replace(report, run=replace(report.run, state=state)))
        assert view.ages is ages
    for lost in (
        replace(frame, link=Link("reconnecting", 1.0)),
        replace(frame, stall=StallCard("unknown", unread="?")),
    ):
        view.take(replace(report, run=replace(report.run, state="unknown"), recording=lost))
        assert view.ages
