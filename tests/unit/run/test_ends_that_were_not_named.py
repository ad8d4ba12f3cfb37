"""Ends that had no name of their own or another one's, and what is said beside an end that has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.reported import told
from tests.unit.run.test_crashes import rows, traceback
from tests.unit.run.test_ends_of_other_kinds import ended, report

TRL_ROWS = "".join(f"{ {'loss': 0.1, 'reward': 0.3 + i / 1000, 'epoch': i / 100} }\n" for i in range(60))


@pytest.mark.parametrize(
    ("error", "named", "to_do"),
    [
        ("filelock._error.Timeout: The file lock '/x/data.lock' could not be acquired.", "a file was in use", "lsof"),
        ("BlockingIOError: [Errno 11] Unable to lock file '/x/a.h5': errno = 11", "a file was in use", "lsof"),
        ("sqlite3.OperationalError: database is locked", "a file was in use", "lsof"),
        ("OSError: [Errno 24] Too many open files", "too many files were open", "ulimit"),
        ("AssertionError: loss is not finite", "NaN or infinity reached", "go back"),
        ("RuntimeError: gradients are not finite at step 60", "NaN or infinity reached", "go back"),
    ],
)
def test_an_end_is_named(error: str, named: str, to_do: str, tmp_path: Path) -> None:
    _, known = report(tmp_path, rows(1, 60) + traceback(error, "loop.py:step"))
    end = ended(known)
    assert named.lower() in end["summary"].lower()
    assert to_do in end["fixes"][0]["text"]


@pytest.mark.parametrize(
    "error",
    ["OSError: [Errno 28] No space left on device", "KeyboardInterrupt", "OSError: [Errno 24] Too many open files"],
)
def test_an_end_with_a_name_sends_nobody_to_look_for_another(error: str, tmp_path: Path) -> None:
    """The first error of the log is named, with its own remedy: "find the earliest error on any rank" is none."""
    _, known = report(tmp_path, rows(1, 60) + traceback(error, "loop.py:step"))
    assert not any("earliest error" in fix["text"] for fix in ended(known)["fixes"])


def test_of_an_error_without_a_name_the_earliest_is_looked_for(tmp_path: Path) -> None:
    page, known = report(tmp_path, rows(1, 60) + traceback("KeyError: 'answer'", "loop.py:<module>"))
    assert "earliest error" in ended(known)["fixes"][0]["text"]
    assert "module>" not in page, "it is no function"
    assert "mostly its consequence · high impact, low risk" in page, "a second colon would need a second reading"
    assert re.search(r"raised at \S*loop\.py:\d+", page)


def test_rows_that_are_counted_are_told_once(tmp_path: Path) -> None:
    """Without steps in the log the end is told by row, and not "at step 60: ... at row 60"."""
    path = tmp_path / "train.log"
    path.write_text(TRL_ROWS + traceback("KeyError: 'answer'", "loop.py:step"), encoding="utf-8")
    page, _, known = told(path)
    assert "at row 60" in ended(known)["summary"]
    assert "step 60" not in ended(known)["summary"]
    assert "The run ended at" not in page


@pytest.mark.parametrize("script", ["train.py", "/home/me/run_grpo.py", "scripts/ppo_trainer.py"])
def test_a_log_that_holds_only_the_error_of_a_trainer_is_read(script: str, tmp_path: Path) -> None:
    """It broke at an import, before it printed a word."""
    path = tmp_path / "out.log"
    error = f'Traceback (most recent call last):\n  File "{script}", line 3, in <module>\n    import flash_attn\n'
    path.write_text(f"{error}ModuleNotFoundError: No module named 'flash_attn'\n", encoding="utf-8")
    _, _, known = told(path)
    summary = ended(known)["summary"]
    assert summary.startswith("A module is missing or of the wrong version at the start. The module is flash_attn.")


def test_a_setting_goes_into_the_parenthesis_that_stands_there(tmp_path: Path) -> None:
    log = rows(1, 60) + "slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-03-02T11:22:01 DUE TO TIME LIMIT ***\n"
    page, _ = report(tmp_path, log)
    assert ") (" not in page.split("## 1")[0]
