"""Of several counts in a row the same one is the step, however the row is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import ends, reported

N, EACH = 36, 12
Row = dict[str, Any]
Write = Callable[[Path, list[Row]], Path]


def table(tmp_path: Path, rows: list[Row]) -> Path:
    path = tmp_path / "progress.csv"
    path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n")
    return path


def objects(tmp_path: Path, rows: list[Row]) -> Path:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def in_form(between: str, joint: str, before: str = "", after: str = "") -> Write:
    def write(tmp_path: Path, rows: list[Row]) -> Path:
        path = tmp_path / "train.log"
        lines = [before + joint.join(f"{key}{between}{x}" for key, x in row.items()) + after for row in rows]
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


FORMS: dict[str, Write] = {
    "csv": table,
    "jsonl": objects,
    "pairs": in_form("=", " "),
    "bars": in_form(" ", " | "),
    "after words": in_form(": ", ", ", "train >> "),
    "brackets": in_form(" ", "] [", "[", "]"),
}


def rows(start: int, stride: int, *, first: str = "iter", epoch: bool = True) -> list[Row]:
    out: list[Row] = []
    for i in range(N):
        counts: Row = {"epoch": i // EACH} if epoch else {}
        counts |= {first: i % EACH if epoch else i, "global_step": start + stride * i}
        out.append(counts | {"reward": round(0.2 + 0.01 * i, 2), "kl": round(0.001 * i + 0.01, 3)})
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("start", "stride"), [(1, 1), (201, 1), (8, 8), (500, 10)])
@pytest.mark.parametrize("epoch", [True, False])
def test_the_global_step_is_the_step(tmp_path: Path, form: str, start: int, stride: int, epoch: bool) -> None:
    read = reported(FORMS[form](tmp_path, rows(start, stride, epoch=epoch)))
    steps = read["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (start, start + stride * (N - 1), N)
    assert ends(read, "reward_mean") == (N, 0.2, 0.55)


@pytest.mark.parametrize("form", FORMS)
def test_a_step_comes_before_the_steps_of_an_optimizer(tmp_path: Path, form: str) -> None:
    given = [{"optimizer_step": 4 * i + 4, "step": i + 1, "reward": 0.5, "kl": 0.01 * i} for i in range(N)]
    assert reported(FORMS[form](tmp_path, given))["run"]["steps"]["last"] == N


@pytest.mark.parametrize("form", ["pairs", "bars"])
def test_a_count_within_a_step_is_not_taken_for_it(tmp_path: Path, form: str) -> None:
    given = [
        {"iteration": i + 1, "micro_step": k, "reward": round(0.1 + 0.01 * i, 2), "kl": 0.01}
        for i in range(N)
        for k in range(1, 4)
    ]
    assert reported(FORMS[form](tmp_path, given))["run"]["steps"]["last"] == N


def test_a_global_step_that_comes_first_stays_the_step(tmp_path: Path) -> None:
    given = [
        {"global_step": 3 * i, "epoch": i // EACH, "step": i % EACH, "reward": 0.5, "kl": 0.01} for i in range(1, N)
    ]
    assert reported(FORMS["after words"](tmp_path, given))["run"]["steps"]["last"] == 3 * (N - 1)
