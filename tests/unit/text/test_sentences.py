"""No text that a user reads is glued with semicolons: neither what a report says, nor what the data files hold."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rltui
from rltui.cli import main
from tests.conftest import labelled_runs
from tests.contradictions.labelled import all_labelled
from tests.unit.report.test_answer import FAULTS, SAMPLES, written

ROOT = Path(rltui.__file__).parent
RUNS = labelled_runs()
LABELLED = all_labelled(RUNS)[::30] if RUNS is not None else []
QUOTED = re.compile(r"`[^`]*`|“[^”]*”")
THE_RUNS_OWN = ("config", "other_config", "run", "notes")
"""Parts of the JSON that hold what the run wrote (notes quote lines of its log), and the remarks on its files, which
are lists."""
FOR_EXPERTS = ("formula", "thresholds", "params", "why", "applies_if", "sources", "range", "kl_estimator_source")
"""Fields that hold formulas and where they come from."""


def glued(text: str) -> list[str]:
    """The places of a text where a semicolon joins two clauses; quotes and code may hold what they like."""
    return [found[0] for found in re.finditer(r".{0,40}; .{0,40}", QUOTED.sub("", text))]


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(part)


def kept(value: Any, without: tuple[str, ...]) -> Any:
    """The same without the fields of these names, at any depth."""
    if isinstance(value, dict):
        return {key: kept(part, without) for key, part in value.items() if key not in without}
    return [kept(part, without) for part in value] if isinstance(value, list) else value


def said(run: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["report", str(run), "--now", "2030-01-01T00:00:00Z", *words]) == 0
    return capsys.readouterr().out


@pytest.fixture(params=[*sorted(p for p in SAMPLES.iterdir() if p.is_dir()), *range(len(FAULTS)), *LABELLED], ids=str)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return request.param if isinstance(request.param, Path) else written(tmp_path, request.param)


def test_no_report_glues_clauses(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [*said(run, capsys).splitlines(), *said(run, capsys, "--long").splitlines()]
    data = json.loads(said(run, capsys, "--format", "json"))
    own = [*data["notes"], *(source["note"] for source in data["run"]["sources"] if source["note"])]
    pages = [line for line in (re.sub(r"\\(.)", r"\1", line) for line in lines) if not any(one in line for one in own)]
    wrong = [one for text in (*pages, *texts(kept(data, THE_RUNS_OWN))) for one in glued(text)]
    assert not wrong, wrong


def test_no_text_of_a_data_file_glues_clauses() -> None:
    wrong = []
    for file in sorted(ROOT.rglob("*.json")) + sorted(ROOT.rglob("*.toml")):
        read = json.loads if file.suffix == ".json" else tomllib.loads
        data = kept(read(file.read_text(encoding="utf-8")), FOR_EXPERTS)
        wrong += [(file.name, one) for text in texts(data) for one in glued(text)]
    assert not wrong, wrong


def test_the_check_sees_glue_and_leaves_quotes_alone() -> None:
    assert glued("Reward rose; validation holds.") == ["Reward rose; validation holds."]
    assert not glued("It says “a; b” and `c; d`.")
