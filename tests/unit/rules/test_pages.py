"""A page is read against its type: what does not fit is named with file and line, and never dropped in silence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.rules import catalogue


def test_every_shipped_page_is_read() -> None:
    assert catalogue.unread_pages() == {}


def test_ids_are_told_once() -> None:
    ids = [rule.id for path in catalogue.PAGES.glob("*.json") for rule in catalogue.read_page(path)]
    assert sorted(ids) == sorted(catalogue.rules())


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[dict[str, Any]], None]], Path]:
    """The pages with the first rule of one changed."""

    def change(how: Callable[[dict[str, Any]], None]) -> Path:
        pages = tmp_path / "pages"
        shutil.copytree(catalogue.PAGES, pages)
        page = pages / "grad.json"
        data = json.loads(page.read_text())
        how(data["rules"][0])
        page.write_text(json.dumps(data, indent=1))
        monkeypatch.setattr(catalogue, "PAGES", pages)
        catalogue._read.cache_clear()
        return page

    yield change  # type: ignore[misc]
    monkeypatch.undo()
    catalogue._read.cache_clear()


@pytest.mark.parametrize(
    ("how", "where", "problem"),
    [
        (lambda r: r["params"]["z"].update(value=[3, 4]), '"value"', "Expected `float`, got `array`"),
        (lambda r: r["params"]["z"].update(value="6"), '"value"', "Expected `float`, got `str`"),
        (lambda r: r.update(tittle="x"), '"tittle"', "unknown field `tittle`"),
        (lambda r: r.pop("kind"), "{", "missing required field `kind`"),
        (lambda r: r.update(kind="wobbly"), '"kind"', "Invalid enum value 'wobbly'"),
        (lambda r: r.update(confidence=1.5), '"confidence"', "<= 1"),
        (lambda r: r["traits"].append("funny"), '"funny"', "Invalid enum value 'funny'"),
        (lambda r: r["hold"].update(looks=0), '"looks"', ">= 1"),
        (lambda r: r["causes"][0].update(tests=[{"test": "stands", "metric": "lr", "op": "~"}]), '"op"', "value '~'"),
        (lambda r: r["relations"].update(caused=["x"]), '"caused"', "unknown field `caused`"),
    ],
    ids=["list", "text", "unknown", "missing", "kind", "share", "trait", "hold", "operator", "relation"],
)
def test_what_does_not_fit_is_named_with_file_and_line(
    broken: Callable[[Callable[[dict[str, Any]], None]], Path],
    how: Callable[[dict[str, Any]], None],
    where: str,
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = broken(how)
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(json.dumps({"step": n, "reward": 0.1, "grad_norm": 1.0}) + "\n" for n in range(1, 60)))
    assert main(["report", str(log), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    (told,) = data["checks_failed"]
    assert told["rule"] == "page grad.json"
    assert problem in told["error"]
    line = int(told["error"].split("pages/grad.json:", 1)[1].split(":")[0])
    assert where in page.read_text().splitlines()[line - 1]
    assert "grad-norm-explosion" not in {f["id"] for f in data["findings"]}


def test_doctor_names_a_page_that_cannot_be_read(
    broken: Callable[[Callable[[dict[str, Any]], None]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor"])
    assert "degraded  rules" not in capsys.readouterr().out
    broken(lambda r: r.update(kind="wobbly"))
    main(["doctor"])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "degraded  rules" in line)
    assert "page grad.json cannot be read: " in line
