"""Persistence before a finding opens, twice as long before it eases, episodes."""

from __future__ import annotations

from rltui.diagnosis.life import Life, follow
from rltui.diagnosis.signal import Signal


def run(levels: list[int], looks: int = 3, rows: int = 1, life: Life | None = None, start: int = 1) -> Life:
    life = life or Life()
    for i, level in enumerate(levels):
        n = start + i
        life = follow(life, Signal(level, f"at {n}") if level else None, n, n, looks, rows)
    return life


def test_opens_only_after_it_has_held() -> None:
    assert run([2, 2]).level == 0
    assert run([2, 2, 2]).level == 2
    assert run([2, 2, 0, 2, 2]).level == 0


def test_rows_count_beside_looks() -> None:
    assert run([2] * 9, looks=1, rows=10).level == 0
    assert run([2] * 10, looks=1, rows=10).level == 2


def test_a_mixed_level_opens_at_the_one_that_held() -> None:
    assert run([1, 2, 3]).level == 1
    assert run([3, 2, 3]).level == 2


def test_eases_after_twice_as_long() -> None:
    opened = run([2, 2, 2])
    assert run([0] * 5, life=opened, start=4).level == 2
    closed = run([0] * 6, life=opened, start=4)
    assert closed.level == 0
    assert closed.word == "resolved"
    assert closed.openings[0].end_step == 3
    assert closed.peak == 2


def test_one_relapse_starts_the_wait_anew() -> None:
    opened = run([2, 2, 2])
    assert run([0] * 5 + [2] + [0] * 5, life=opened, start=4).level == 2


def test_worse_then_better() -> None:
    worse = run([2] * 3 + [3] * 3)
    assert (worse.level, worse.word) == (3, "worse")
    better = run([2] * 6, life=worse, start=7)
    assert (better.level, better.word, better.peak) == (2, "better", 3)


def test_a_second_opening_is_a_second_episode() -> None:
    life = run([2] * 3 + [0] * 6 + [2] * 3)
    assert len(life.openings) == 2
    assert life.openings[1].end_step is None


def test_steady_when_nothing_changes() -> None:
    assert run([2] * 40).word == "steady"
