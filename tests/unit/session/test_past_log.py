"""Which log lines were there at a step: by their time, else by the order of the file; never a later one."""

from __future__ import annotations

from rltui.readers.base import LogLine, Note
from rltui.session.frame import log_until

PLAIN = tuple(LogLine(f"line {n}", n) for n in range(1, 101))


def test_lines_without_a_time_come_in_proportion_to_the_rows() -> None:
    assert [line.line for line in log_until(PLAIN, (), 50, 0.5, None)] == list(range(1, 51))
    assert log_until(PLAIN, (), 100, 1.0, None) == PLAIN
    assert log_until((), (), 50, 0.5, None) == ()


def test_a_line_that_names_a_later_step_ends_it() -> None:
    later = Note("checkpoint", "saved", 30, step=60)
    earlier = Note("checkpoint", "saved", 10, step=20)
    assert log_until(PLAIN, (earlier, later), 50, 0.5, None)[-1].line == 29


def test_lines_with_a_time_go_by_it() -> None:
    timed = tuple(LogLine(f"line {n}", n, 1000.0 + n) for n in range(1, 101))
    assert log_until(timed, (), 50, 0.9, 1020.0) == timed[:20]


def test_lines_without_a_number_or_a_time_are_not_guessed() -> None:
    assert log_until((LogLine("loose", 0), *PLAIN), (), 50, 0.5, None)[0].line == 1
