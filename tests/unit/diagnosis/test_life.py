"""Persistence before a finding opens, twice as long before it eases, episodes."""

from __future__ import annotations

from msgspec.structs import replace

from rltui.diagnosis.life import Life, follow
from rltui.evidence.clock import REFERENCE
from rltui.evidence.signal import Signal


def run(
    levels: list[int], looks: int = 3, rows: int = 1, life: Life | None = None, start: int = 1, before: int = REFERENCE
) -> Life:
    """Looks at row `start` and those after it. `before`: rows before these, which make the run that long."""
    life = life or Life()
    for i, level in enumerate(levels):
        n = start + i
        life = follow(life, Signal(level, f"at {n}") if level else None, before + n, n, looks, rows)
    return life


def test_opens_only_after_it_has_held() -> None:
    assert run([2, 2]).level == 0
    assert run([2, 2, 2]).level == 2
    assert run([2, 2, 0, 2, 2]).level == 0


def test_rows_count_beside_looks() -> None:
    assert run([2] * 9, looks=1, rows=10).level == 0
    assert run([2] * 10, looks=1, rows=10).level == 2


def test_what_has_to_hold_for_many_rows_holds_for_fewer_in_a_short_run() -> None:
    """As large a part of it: half of the rows of one with half of them."""
    assert run([2] * 9, looks=1, rows=20, before=REFERENCE // 2).level == 0
    assert run([2] * 11, looks=1, rows=20, before=REFERENCE // 2).level == 2
    opened = run([2] * 11, looks=1, rows=20, before=REFERENCE // 2)
    assert run([0] * 20, looks=1, rows=20, life=opened, start=12, before=REFERENCE // 2).level == 2
    assert run([0] * 30, looks=1, rows=20, life=opened, start=12, before=REFERENCE // 2).level == 0


def test_what_holds_at_most_looks_opens_and_what_holds_now_and_then_does_not() -> None:
    """Near its threshold a condition that is there for good misses a look now and then."""
    assert run([2, 2, 2, 0] * 5, rows=10).level == 2
    assert run([2, 2, 2, 2, 0] * 4, looks=5, rows=10).level == 2
    assert run([2, 0] * 200, rows=10).level == 0
    assert run([2, 2, 0, 0, 2, 0] * 100, rows=10).level == 0
    assert run([2] * 9 + [0] * 9 + [2] * 9, rows=10).level == 0, "it begins anew after so long a break"


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


def test_numbers_of_a_finding_that_is_held_stay_new() -> None:
    """Level 0 brings numbers, and changes nothing of the life."""
    opened = run([2, 2, 2])
    silent = told = opened
    for n in range(REFERENCE + 4, REFERENCE + 9):
        silent = follow(silent, None, n, n, 3, 1)
        told = follow(told, Signal(0, f"eased at {n}"), n, n, 3, 1)
    assert told.eased is not None
    assert told.eased.summary == f"eased at {REFERENCE + 8}"
    assert replace(told, eased=None) == silent
    back = follow(told, Signal(2, "again"), REFERENCE + 9, REFERENCE + 9, 3, 1)
    assert (back.eased, back.signal) == (None, Signal(2, "again"))


def test_a_closed_finding_says_what_it_last_was() -> None:
    life = run([2, 2, 2])
    for n in range(4, 10):
        life = follow(life, Signal(0, f"eased at {n}"), n, n, 3, 1)
    assert (life.level, life.eased) == (0, None)
    assert life.signal == Signal(2, "at 3")
    assert run([], life=follow(life, Signal(0, "still eased"), 10, 10, 3, 1)).level == 0
