"""A panel of reports as a reader gets them: short, first what is wrong, sentences with the run's own numbers.

One run here; forty (the samples, twenty labelled ones, written ones) and the median of their words with
`-m fuzz_full`."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from rltui.cli import main
from tests.conftest import labelled_runs
from tests.contradictions.labelled import all_labelled
from tests.unit.report.test_answer import SAMPLES, known, numbers, prose, written
from tests.unit.text.test_glossary import unwanted
from tests.unit.text.test_sentences import glued, said

RUNS = labelled_runs()
PANEL: list[Path | int] = sorted(path for path in SAMPLES.iterdir() if path.is_dir())
LABELLED = all_labelled(RUNS) if RUNS is not None else []
ONE = SAMPLES / "csv-entropy-collapse"
FORTY = [*PANEL, *LABELLED[:: max(1, len(LABELLED) // 20)][:20], *range(10, 24)]
HEAD, WORDS = 12, 900
FROM_TO = re.compile(
    r"from (?P<a>[-−\d.e]+) to (?P<b>[-−\d.e]+)\b[^.(]*(?:\.\d[^.(]*)*"
    r"\(medians of steps (?P<steps>\d+ to \d+ and \d+ to \d+)\)"
)


def placed(run: Path | int, folder: Path) -> Path:
    return run if isinstance(run, Path) else written(folder, run)


def wrong_of(run: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """How many words the report has, and what a reader could hold against it."""
    page, data = said(run, capsys), json.loads(said(run, capsys, "--format", "json"))
    words = len(page.split())
    head = re.sub(r"\\(.)", r"\1", "\n".join(page.splitlines()[:HEAD]))
    wrong = [f"{words} words"] if words > WORDS else []
    wrong += [
        f"{one['title']!r} stands below line {HEAD}" for one in led(data) if one["title"].lower() not in head.lower()
    ]
    own = known(data)
    wrong += [f"{one!r} is no number of the JSON" for one in numbers(prose(page)) if one not in own]
    wrong += [text for one in data["findings"] for text in unlike(one, run, capsys)]
    told = [*data["answer"].values(), *(one["summary"] for one in data["findings"])]
    return words, [*wrong, *(text for one in told for text in (*glued(one), *unwanted(one)))]


def led(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The open loud finding that the verdict names first."""
    loud = [one for one in data["findings"] if one["status"] == "active" and one["severity"] != "info"]
    return [one for one in loud if one["id"] in data["verdict"]["because"][:1]][:1]


def unlike(finding: dict[str, Any], run: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """Medians that a sentence names with their steps, and that no metric of its evidence has in the rows of the run."""
    for found in FROM_TO.finditer(finding["summary"]):
        keys = {one["metric"] for one in finding["evidence"]}
        whole = history(run, capsys)
        columns = [column for row in whole[:1] for column in row if column in keys]
        spans = [[int(step) for step in span.split(" to ")] for span in found["steps"].split(" and ")]
        for shown, (first, last) in zip((found["a"], found["b"]), spans, strict=True):
            rows = [row for row in whole if first <= float(row["step"]) <= last]
            own = [median(float(row[column]) for row in rows if row[column]) for column in columns]
            if own and not any(abs(value - float(shown.replace("−", "-"))) <= half_digit(shown) for value in own):
                yield f"{finding['id']}: {shown} at steps {first} to {last}, the rows have {own}"


def half_digit(shown: str) -> float:
    """Half of the last digit that is shown, with room for a tie: the most that rounding takes."""
    digits, _, exponent = shown.partition("e")
    return 0.51 * 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def history(run: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    assert main(["export", str(run), "--format", "csv"]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


@pytest.mark.long
def test_a_report_is_short_and_says_first_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert not wrong_of(ONE, capsys)[1]


@pytest.mark.long
def test_a_median_that_the_rows_do_not_have_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(said(ONE, capsys, "--format", "json"))
    told = next(one for one in data["findings"] if FROM_TO.search(one["summary"]))
    assert not list(unlike(told, ONE, capsys))
    lie = {**told, "summary": re.sub(r"from [\d.]+ to", "from 77 to", told["summary"])}
    assert list(unlike(lie, ONE, capsys))


@pytest.mark.fuzz_full
def test_forty_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counted, wrong = [], []
    for place, run in enumerate(FORTY):
        folder = tmp_path / str(place)
        folder.mkdir()
        words, found = wrong_of(placed(run, folder), capsys)
        counted.append(words)
        wrong += [f"{run}: {one}" for one in found]
    print(f"{len(counted)} reports, words: median {median(counted):.0f}, most {max(counted)}")
    assert median(counted) <= WORDS
    assert not wrong, "\n".join(wrong)
