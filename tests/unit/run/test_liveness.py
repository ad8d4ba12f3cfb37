"""Running, stalled, finished, crashed or unknown: a traceback is not a crash, a banner is not success."""

from __future__ import annotations

import pytest

from rltui.readers.base import Exit, NoteKind, Rows
from rltui.run.run import Run
from tests.unit.run.builder import LOG, note, rows, run_of, trl

PLAN = {"max_steps": 100}
CRASH = "KeyError: 'deh'"


def run(steps: int = 60, config: dict[str, object] | None = None) -> Run:
    return run_of(rows(trl(steps)), config)


def more(a_run: Run, steps: int, first: int) -> None:
    block: Rows = rows(trl(steps), first=first)
    a_run.history.add(a_run.history.parts[0], block)


def test_all_planned_steps_done_is_finished_whatever_came_after() -> None:
    a_run = run(100, PLAN)
    a_run.add_note(note("traceback", "BrokenPipeError: while saving the plot", 900), LOG)
    a_run.exit = Exit(1)
    assert a_run.state().state == "finished"


@pytest.mark.parametrize(
    ("first", "every", "count", "planned"),
    [(0, 1, 100, 100), (1, 1, 100, 100), (5, 5, 20, 100), (10, 10, 9, 99)],
)
def test_the_last_step_of_a_plan_depends_on_how_rows_are_counted(
    first: int, every: int, count: int, planned: int
) -> None:
    a_run = run_of(rows(trl(count), first=first, every=every), {"max_steps": planned})
    assert a_run.state().state == "finished"
    shorter = run_of(rows(trl(count - 2), first=first, every=every), {"max_steps": planned})
    assert shorter.state().state == "stalled"


def test_an_error_that_ends_the_log_is_a_crash_and_is_quoted() -> None:
    a_run = run(60, PLAN)
    a_run.add_note(note("traceback", CRASH, 900), LOG)
    a_run.add_note(note("traceback", "RayTaskError: KeyError", 950), LOG)
    state = a_run.state()
    assert (state.state, state.quote) == ("crashed", CRASH)
    assert "step 60 of 100" in state.because


def test_errors_that_the_training_survived_are_no_crash() -> None:
    a_run = run(20, PLAN)
    for line in range(10):
        a_run.add_note(note("traceback", "TimeoutError: one sample", line), LOG)
    more(a_run, 40, 21)
    assert a_run.state().state == "stalled"
    a_run.add_note(note("end", "train_runtime", 800), LOG)
    assert a_run.state().state == "finished"


def test_survival_is_seen_where_only_a_progress_bar_tells() -> None:
    a_run = Run("r", "/r")
    a_run.add_note(note("progress", "", 1, step=5, total=50), LOG)
    a_run.add_note(note("traceback", CRASH, 2), LOG)
    a_run.add_note(note("progress", "", 3, step=5, total=50), LOG)
    assert a_run.state().state == "crashed"
    a_run.add_note(note("progress", "", 4, step=7, total=50), LOG)
    assert a_run.state().state == "unknown"


def test_the_row_of_the_failed_step_may_be_printed_after_the_error() -> None:
    a_run = run(64, PLAN)
    a_run.add_note(note("traceback", CRASH, 900, step=64), LOG)
    more(a_run, 1, 65)
    assert a_run.state().state == "crashed"
    more(a_run, 1, 66)
    assert a_run.state().state == "stalled"


def test_an_error_like_one_that_was_survived_is_no_crash() -> None:
    a_run = run(20, PLAN)
    a_run.add_note(note("traceback", "TimeoutError: sample 17 took 30 s", 1), LOG)
    more(a_run, 40, 21)
    a_run.add_note(note("traceback", "TimeoutError: sample 4 took 31 s", 2), LOG)
    assert a_run.state().state == "stalled"
    a_run.add_note(note("traceback", CRASH, 3), LOG)
    assert (a_run.state().state, a_run.state().quote) == ("crashed", CRASH)


def test_an_end_is_an_end_even_with_a_traceback_after_it() -> None:
    a_run = run(60)
    a_run.add_note(note("end", "train_runtime", 800), LOG)
    a_run.add_note(note("traceback", CRASH, 900), LOG)
    state = a_run.state()
    assert (state.state, state.quote) == ("finished", "train_runtime")


def test_a_banner_after_an_error_is_no_success() -> None:
    a_run = run(60, PLAN)
    a_run.add_note(note("oom", "ray.exceptions.OutOfMemoryError: host", 800), LOG)
    a_run.add_note(note("end", "Training finished!", 900), LOG)
    assert a_run.state().state == "crashed"


def test_a_second_launch_starts_afresh() -> None:
    a_run = run(20, PLAN)
    a_run.add_note(note("killed", "Killed", 500), LOG)
    a_run.add_note(note("start", "launch", 501), LOG)
    assert a_run.state().state == "stalled"


def test_the_exit_record() -> None:
    a_run = run(60, PLAN)
    a_run.exit = Exit(255)
    assert a_run.state().state == "crashed"
    a_run.exit = Exit(0)
    assert a_run.state().state == "finished"


def test_a_log_that_just_ends() -> None:
    assert run(60, PLAN).state().state == "stalled"
    assert run(60).state().state == "unknown"


def test_an_old_log_beside_a_newer_one_does_not_count() -> None:
    a_run = run(60, PLAN)
    a_run.add_note(note("progress", "", 1, step=3, total=100), "earlier attempt.log")
    a_run.add_note(note("traceback", CRASH, 2), "earlier attempt.log")
    assert a_run.state().state == "stalled"


class TestFollowed:
    """Rows every 10 s: the newest at 1600 s of this clock."""

    def followed(self) -> Run:
        a_run = run_of(rows(trl(60), start=1000.0), PLAN)
        a_run.followed = True
        return a_run

    def test_fresh_rows_are_a_running_run(self) -> None:
        assert self.followed().state(1620.0).state == "running"
        assert self.followed().state(1600.0 + 600.0).state == "running"

    def test_long_silence_is_a_stall(self) -> None:
        state = self.followed().state(1600.0 + 700.0)
        assert state.state == "stalled"
        assert "no output for 12 min" in state.because

    def test_an_error_counts_once_rows_stay_away(self) -> None:
        a_run = self.followed()
        a_run.add_note(note("traceback", CRASH, 900), LOG)
        assert a_run.state(1610.0).state == "running"
        assert a_run.state(1600.0 + 700.0).state == "crashed"

    @pytest.mark.parametrize(("said", "state"), [("closed", "finished"), ("failed", "crashed"), ("done", "stalled")])
    def test_last_words_count_once_nothing_comes_any_more(self, said: NoteKind, state: str) -> None:
        """It was seen to grow, and no process is known: whatever ran it says how it ended."""
        a_run = self.followed()
        a_run.listen()
        a_run.add_note(note(said, "exit code: 1", 900), LOG)
        a_run.heard(1602.0)
        assert a_run.state(1610.0).state == "running"
        assert a_run.state(1600.0 + 900.0).state == state

    def test_without_row_times_the_file_tells_its_age(self) -> None:
        from rltui.run.source_info import SourceInfo

        a_run = run(60, PLAN)
        a_run.sources = [SourceInfo(LOG, "trl-console", mtime=5000.0)]
        for a_run.followed in (True, False):
            young, old = a_run.state(5005.0), a_run.state(9000.0)
            assert (young.state, young.because) == ("unknown", "may be running: written 5 s ago")
            assert old.state == "stalled"
            assert old.because.startswith("stopped at 60 of 100, no end mark")
