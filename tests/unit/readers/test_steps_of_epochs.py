"""Steps that are counted anew in each epoch go on; steps that are done again from a checkpoint are done again."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rltui.readers.lines import MANY_BYTES
from tests.unit.readers.reading import read

Row = dict[str, float]
EPOCHS, EACH = 4, 6


def rows(first: int = 0, stride: int = 1) -> list[Row]:
    return [
        {"epoch": epoch, "step": first + stride * i, "loss": (epoch * EACH + i) / 64, "reward": 0.5}
        for epoch in range(1, EPOCHS + 1)
        for i in range(EACH)
    ]


def lines(some: list[Row], step: str = "step") -> str:
    return "".join(json.dumps({(step if key == "step" else key): x for key, x in row.items()}) + "\n" for row in some)


def within(some: list[Row]) -> str:
    return "".join(json.dumps({"step": row.pop("step"), "data": row}) + "\n" for row in map(dict, some))


def table(some: list[Row]) -> str:
    return ",".join(some[0]) + "\n" + "".join(",".join(map(str, row.values())) + "\n" for row in some)


def words(some: list[Row]) -> str:
    return "".join(
        f"step {row['step']} | epoch {row['epoch']} | loss {row['loss']} | reward {row['reward']}\n" for row in some
    )


def dicts(some: list[Row]) -> str:
    return "".join(f"{row}\n" for row in some)


FORMS: dict[str, tuple[str, Callable[[list[Row]], str]]] = {
    "JSON lines": ("jsonl", lines),
    "JSON lines of iterations": ("jsonl", lambda some: lines(some, "iteration")),
    "JSON lines with data": ("jsonl", within),
    "CSV": ("csv", table),
    "lines of words": ("console", words),
    "printed dicts": ("console", dicts),
}


def told(form: str, some: list[Row], copies: int = 1) -> dict[int, float]:
    format, write = FORMS[form]
    found: dict[int, float] = {}
    for step, cells in read(format, write(some * copies)).rows:
        if (loss := cells.get("loss")) is not None:
            found[step] = loss
    return found


@pytest.mark.parametrize(("first", "stride"), [(0, 1), (1, 1), (10, 10)])
@pytest.mark.parametrize("form", FORMS)
def test_the_steps_of_an_epoch_go_on_behind_those_before(form: str, first: int, stride: int) -> None:
    expected = {first + stride * i: (EACH + i) / 64 for i in range(EPOCHS * EACH)}
    assert told(form, rows(first, stride)) == expected


@pytest.mark.parametrize("form", FORMS)
def test_what_is_done_again_within_an_epoch_is_done_again(form: str) -> None:
    some = rows()
    again = [{**row, "loss": row["loss"] + 1} for row in some[2 * EACH + 2 :]]
    expected = {i: (EACH + i) / 64 + (i >= 2 * EACH + 2) for i in range(EPOCHS * EACH)}
    assert told(form, some[: 2 * EACH + 5] + again) == expected
    earlier = [{**row, "loss": row["loss"] + 1} for row in some[EACH + 3 :]]  # an epoch before
    expected = {i: (EACH + i) / 64 + (i >= EACH + 3) for i in range(EPOCHS * EACH)}
    assert told(form, some[: 2 * EACH + 5] + earlier) == expected


@pytest.mark.parametrize("form", FORMS)
def test_steps_that_go_on_through_the_epochs_stay(form: str) -> None:
    some = [{**row, "step": i} for i, row in enumerate(rows(), 3)]
    again = some[:15] + [{**row, "loss": row["loss"] + 1} for row in some[10:]]  # restarted once
    assert told(form, some) == {i: (EACH + i - 3) / 64 for i in range(3, 3 + len(some))}
    assert told(form, again) == {i: (EACH + i - 3) / 64 + (i >= 13) for i in range(3, 3 + len(some))}


@pytest.mark.parametrize("form", ["JSON lines", "CSV", "printed dicts"])
def test_parts_of_epochs_tell_nothing_of_the_count(form: str) -> None:
    some: list[Row] = [{"epoch": i / 8, "step": i, "loss": i / 64, "reward": 0.5} for i in range(20)]
    later: list[Row] = [{**row, "epoch": row["epoch"] + 2.25, "loss": row["loss"] + 1} for row in some[12:]]
    assert told(form, some + later) == {i: i / 64 + (i >= 12) for i in range(20)}


@pytest.mark.parametrize("form", ["JSON lines", "JSON lines with data", "CSV"])
def test_many_rows_at_once_are_read_as_one_by_one(form: str) -> None:
    some: list[Row] = [
        {"epoch": epoch, "step": 2 * i, "loss": (epoch * 1000 + i) / 65536, "reward": 0.5}
        for epoch in (*range(5), 3, 4, 5)
        for i in range(500 if epoch == 3 else 0, 1000)
    ]
    format, write = FORMS[form]
    data = write(some)
    assert len(data) > MANY_BYTES
    at_once = read(format, data).rows
    pieces = read(format, data, [900] * (len(data) // 900)).rows
    assert [(step, cells["loss"]) for step, cells in at_once] == [(step, cells["loss"]) for step, cells in pieces]
    assert at_once[-1][0] == max(step for step, _ in at_once)
