"""No text that a user reads is glued with semicolons: neither what a report says, nor what code and data files hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from tests.conftest import labelled_runs
from tests.contradictions.labelled import all_labelled
from tests.unit.reported import told
from tests.unit.text.visible import QUOTED, kept, of_code, of_data, texts

RUNS = labelled_runs()
LABELLED = all_labelled(RUNS)[::60] if RUNS is not None else []
LATER = 1.9e9
THE_RUNS_OWN = ("config", "other_config", "run", "notes")
"""Parts of the JSON that hold what the run wrote (notes quote lines of its log), and the remarks on its files, which
are lists."""


def glued(text: str) -> list[str]:
    """The places of a text where a semicolon joins two clauses; quotes and code may hold what they like."""
    return [found[0] for found in re.finditer(r".{0,40}; .{0,40}", QUOTED.sub("", text))]


def said(run: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["report", str(run), "--now", "2030-01-01T00:00:00Z", *words]) == 0
    return capsys.readouterr().out


def glue_in(page: str, long: str, data: dict[str, Any]) -> list[str]:
    """What is glued in the report of a run, apart from the run's own words."""
    own = [*data["notes"], *(source["note"] for source in data["run"]["sources"] if source["note"])]
    lines = [re.sub(r"\\(.)", r"\1", line) for line in [*page.splitlines(), *long.splitlines()]]
    lines = [line for line in lines if not any(one in line for one in own)]
    return [one for text in (*lines, *texts(kept(data, THE_RUNS_OWN))) for one in glued(text)]


@pytest.mark.parametrize("run", LABELLED, ids=str)
def test_no_report_glues_clauses(run: Path) -> None:
    """Of those that ship with rltui and of written ones: `tests/unit/report/test_answer.py`."""
    assert not glue_in(*told(run, LATER))


@pytest.mark.long
def test_no_text_of_data_and_code_glues_clauses() -> None:
    wrong = [f"{place}: {one}" for place, text in (*of_data(), *of_code()) for one in glued(text)]
    assert not wrong, "\n".join(wrong)


def test_the_check_sees_glue_and_leaves_quotes_alone() -> None:
    assert glued("Reward rose; validation holds.") == ["Reward rose; validation holds."]
    assert not glued("It says “a; b” and `c; d`.")
