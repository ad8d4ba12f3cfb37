"""Numbers of a line that are no values of a metric: those of a condition or a count in a name, what a value was before,
and counts of the parts of a step."""

from __future__ import annotations

import pytest

from tests.unit.readers.test_opened_and_grown import looked_at

ROWS = range(1, 41)
NAMES = (
    "fraction (reward > 0.5)",
    "frac(adv<0)",
    "P(len >= 512)",
    "share (kl ≤ 0.01)",
    "reward (n=8)",
    "pass@4 [n=16]",
)
LINES = ("Step {i}/40 | loss: 0.5 | {name}: 0.{i:03} | kl: 0.2", "[step {i}] loss=0.5, {name}=0.{i:03}, kl=0.2")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("line", LINES)
def test_a_name_may_hold_a_condition_or_a_count(line: str, name: str) -> None:
    found, _ = looked_at(["".join(line.format(i=i, name=name) + "\n" for i in ROWS).encode()])
    assert found.keys() == set(ROWS)
    said = name.partition(" ")[0] if "=8" in name or "=16" in name else name
    for i, cells in found.items():
        assert cells.keys() == {"loss", said, "kl"}
        assert cells[said] == i / 1000


def test_a_value_in_brackets_stays_one() -> None:
    found, _ = looked_at(["".join(f"step {i} | reward 0.{i:03} (std=0.25) | kl 0.2\n" for i in ROWS).encode()])
    assert {cells["reward"] for cells in found.values()} == {i / 1000 for i in ROWS}
    assert all(0.25 in cells.values() for cells in found.values())


@pytest.mark.parametrize("arrow", [" → ", "→", " -> ", "->", " => ", " ⟶ "])
@pytest.mark.parametrize(
    "line", ["step {i}/40: loss {was}{arrow}{now} reward 0.5", "[{i}/40] loss={was}{arrow}{now} kl=0.1"]
)
def test_of_a_value_that_became_another_the_new_one_counts(line: str, arrow: str) -> None:
    text = "".join(line.format(i=i, was=f"0.{i + 100}", arrow=arrow, now=f"0.{i + 101}") + "\n" for i in ROWS)
    found, _ = looked_at([text.encode()])
    assert {step: cells["loss"] for step, cells in found.items()} == {i: (i + 101) / 1000 for i in ROWS}


GROUPS = (
    "  그룹 {g}/16 보상 0.{g:02}",
    "微批次 {g}/8 loss: 0.{g:02}",
    "Rollout {g}/16 done, mean reward 0.{g:02}",
    "({g}/4) score=0.{g:02}",
)
OF_STEPS = (
    "[{i}/40] loss: 0.5 | kl: 0.{i:03}",
    "update {i}/40 | loss: 0.5 | kl: 0.{i:03}",
    "Step {i} | loss: 0.5 | kl: 0.{i:03}",
)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("line", OF_STEPS)
def test_parts_above_the_line_of_their_step_are_no_steps(line: str, group: str) -> None:
    parts = int(group.partition("/")[2][:2].rstrip(") "))
    text = "".join(
        "".join(group.format(g=g) + "\n" for g in range(1, parts + 1)) + line.format(i=i) + "\n" for i in ROWS
    )
    found, _ = looked_at([text.encode()])
    assert {step: cells["kl"] for step, cells in found.items()} == {i: i / 1000 for i in ROWS}


@pytest.mark.parametrize("rows", [3, 9, 20])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_short_training_is_read_as_far_as_it_is(rows: int, at_once: bool) -> None:
    lines = [f"[{i}/20] loss=0.5 reward=0.{i:03}\n".encode() for i in range(1, rows + 1)]
    found, _ = looked_at([b"".join(lines)] if at_once else lines)
    assert {step: cells["reward"] for step, cells in found.items()} == {i: i / 1000 for i in range(1, rows + 1)}


def test_a_short_training_is_shown_as_it_goes_on() -> None:
    lines = [f"[{i}/20] loss=0.5 reward=0.{i:03}{' extra=1' if i % 4 == 0 else ''}\n".encode() for i in range(1, 13)]
    for seen in range(3, 13):
        found, _ = looked_at(lines[:seen])
        assert {step: cells["reward"] for step, cells in found.items()} == {i: i / 1000 for i in range(1, seen + 1)}
