"""What is told of attempts whose rows a later one took the place of."""

from __future__ import annotations

from rltui.readers.base import Note
from rltui.run.attempts import attempts
from rltui.run.history import History, Part
from tests.unit.run.test_history import block


def rows(steps: range, value: float) -> list[tuple[int, dict[str, float]]]:
    return [(step, {"loss": value + step, "reward": value - step}) for step in steps]


def test_a_run_begun_anew_in_one_file_names_the_earlier_attempts_and_what_ended_them() -> None:
    history, part = History(), Part("console.log", (20, 0.0))
    history.add_part(part)
    for value, steps in enumerate((range(1, 31), range(5, 12), range(2, 4))):
        history.add(part, block(rows(steps, 10.0 * value)))
    notes = [
        Note("traceback", "ChildFailedError: exit code 1", 90, step=30),
        Note("oom", "torch.OutOfMemoryError: CUDA out of memory.", 91, step=30),
        Note("warning", "deprecated", 92, step=11),
    ]
    assert [one.text for one in attempts(history, notes)] == [
        "steps 5 to 30, 26 rows, ended by: GPU memory ran out",
        "steps 2 to 11, 10 rows",
    ]
    assert history.table.steps.tolist() == [1, 2, 3]


def test_two_files_of_one_attempt_tell_it_once_as_the_one_that_saw_more() -> None:
    history = History()
    for name, first, steps in (("a", 0.0, range(1, 21)), ("b", 1.0, range(11, 31))):
        part = Part(f"tfevents.{name}", (40, first))
        history.add_part(part)
        history.add(part, block(rows(steps, first)))
    console = Part("console.log", (20, 0.0))
    history.add_part(console)
    history.add(console, block(rows(range(1, 18), 0.0)))
    history.add(console, block(rows(range(11, 31), 1.0)))
    history.rebuild()
    assert history.table.n == 30
    assert [(one.first, one.last) for one in attempts(history, [])] == [(11, 20)]
    assert attempts(History(), []) == ()
