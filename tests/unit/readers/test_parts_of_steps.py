"""Lines of several parts of one step: none hides a number of another, and none begins the steps anew."""

from __future__ import annotations

import pytest

from tests.unit.readers.reading import read

FORMS = {
    "critic first": ("critic", "critic step {i} loss={x}\nactor step {i} loss={y} reward=0.5\n"),
    "actor first": ("critic", "Actor iter {i}/90 | loss {y} | reward 0.5\nCritic iter {i}/90 | loss {x}\n"),
    "tags": ("critic", "[Critic] step {i}: loss={x}, lr=1e-5\n[Actor] step {i}: loss={y}, reward=0.5\n"),
    "with a rate": ("value", "value step {i}: loss {x}, lr 1e-5\npolicy step {i}: loss {y}, reward 0.5\n"),
}


def log(form: str) -> str:
    return "".join(form.format(i=i, x=i / 16, y=-i / 64) for i in range(1, 21))


@pytest.mark.parametrize("form", FORMS)
def test_each_part_keeps_its_numbers(form: str) -> None:
    part, lines = FORMS[form]
    found: dict[int, dict[str, float | None]] = {}
    steps = []
    for step, cells in read("console", log(lines)).rows:
        found.setdefault(step, {}).update(cells)
        steps.append(step)
    assert steps == sorted(steps)
    assert list(found) == list(range(1, 21))
    for i, cells in found.items():
        told = {name.lower(): x for name, x in cells.items()}
        assert told[f"{part}/loss"] == i / 16
        assert told["reward"] == 0.5
        assert [x for name, x in told.items() if name.endswith("loss") and not name.startswith(part)] == [-i / 64]


def test_names_that_one_part_alone_has_stay() -> None:
    lines = "".join(f"rollout step {i}: reward {i / 64}\nactor step {i}: loss {i / 16}\n" for i in range(1, 21))
    found: dict[int, dict[str, float | None]] = {}
    for step, cells in read("console", lines).rows:
        found.setdefault(step, {}).update(cells)
    assert found == {i: {"reward": i / 64, "loss": i / 16} for i in range(1, 21)}
