"""A confidence is how often statements like it were right on runs whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rltui.diagnosis.reliability import BANDS, LEANS, SURE, Counts, Reliability, band, of_clear, of_finding, reliability
from tests.evaluation.confidence import Told, counted, table


def known(
    warning: Counts, rules: dict[str, Counts] | None = None, clear: dict[str, dict[str, Counts]] | None = None
) -> Reliability:
    return Reliability("made up", "-", {"warning": {"60-199": warning}}, clear or {}, rules or {})


def told(run: str, rule: str | None, right: bool, rows: int = 100, share: float = 1.0) -> Told:
    return Told(run, "made up", rule, "info" if rule is None else "warning", rows, share, right)


@pytest.mark.parametrize(
    ("rows", "name"), [(0, "1-14"), (14, "1-14"), (15, "15-29"), (59, "30-59"), (199, "60-199"), (10**6, "200-")]
)
def test_rows_have_a_band(rows: int, name: str) -> None:
    assert band(rows) == name
    assert name in BANDS


def test_a_rule_that_nobody_has_measured_is_as_sure_as_others_of_its_severity() -> None:
    rates = known(Counts(80, 100))
    assert of_finding("never-seen", "warning", 100, rates) == pytest.approx(0.8, abs=0.03)
    assert of_finding("never-seen", "info", 100, rates) == of_finding("never-seen", "warning", 100, rates)


def test_a_rule_that_was_often_measured_is_as_sure_as_it_was_right() -> None:
    rates = known(Counts(80, 100), {"often-wrong": Counts(30, 100), "once-wrong": Counts(0, 1)})
    assert of_finding("often-wrong", "warning", 100, rates) == pytest.approx((30 + LEANS * 0.8) / 110, abs=0.01)
    once = of_finding("once-wrong", "warning", 100, rates)
    assert 0.65 < once < 0.8  # one run alone does not make it a liar


def test_silence_is_less_sure_where_it_was_more_often_wrong() -> None:
    silence = {"some": {"60-199": Counts(50, 100)}, "most": {"60-199": Counts(90, 100)}}
    rates = known(Counts(80, 100), clear=silence)
    assert of_clear(100, 0.6, rates) == 0.5
    assert of_clear(100, 1.0, rates) > 0.85
    assert of_clear(100, 0.1, rates) == 0.5  # nobody has measured that


def test_nothing_is_surer_than_runs_of_another_source_allow() -> None:
    rates = known(Counts(1000, 1000), {"ever-right": Counts(1000, 1000)})
    assert of_finding("ever-right", "warning", 100, rates) == SURE


def test_without_any_count_it_is_a_guess() -> None:
    nothing = Reliability("made up", "-", {}, {}, {})
    assert of_finding("any", "critical", 100, nothing) == 0.5
    assert of_clear(100, 1.0, nothing) == 0.5


def test_a_run_that_is_looked_at_often_counts_once() -> None:
    looks = [told("long", "some-rule", right=False) for _ in range(50)] + [told("short", "some-rule", right=True)]
    assert counted(looks).rules == {"some-rule": Counts(1, 2)}
    assert counted(looks).loud == {"warning": {"60-199": Counts(1, 2)}}


def test_the_table_shows_a_confidence_that_does_not_hold() -> None:
    def runs(right: Sequence[bool]) -> list[Told]:
        return [told(str(i), "some-rule", r) for i, r in enumerate(right)]

    (line,) = table(counted(runs([True] * 100)), runs([True] * 60 + [False] * 40))
    assert line[1:] == (100, pytest.approx(SURE), pytest.approx(0.6))


def test_every_shipped_count_is_of_runs() -> None:
    shipped = reliability()
    counts = [c for by in (*shipped.loud.values(), *shipped.clear.values()) for c in by.values()]
    assert sum(c.runs for c in counts) > 100
    assert all(c.right <= c.runs for c in [*counts, *shipped.rules.values()])
    assert {name for by in (*shipped.loud.values(), *shipped.clear.values()) for name in by} <= set(BANDS)
