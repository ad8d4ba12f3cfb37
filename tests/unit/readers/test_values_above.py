"""Numbers that stand above the line with their step belong to it, and not to the step before."""

from __future__ import annotations

import pytest

from tests.unit.readers.test_opened_and_grown import looked_at

ABOVE = {
    "a line with a metric": "Mean return: {x}\nEpoch 1/1, Iter {i}/400, loss: {y}\n",
    "a line with two metrics": "Mean return: {x}\nstep {i}: loss={y}, entropy=0.7\n",
    "several above": "Mean return: {x}\nValue loss: {y}\nround {i}/400 -> loss {y} lr 1e-6\n",
    "a heading below": "Mean return: {x}\nloss: {y}\nIteration {i} done\n",
    "a heading with its time": "Mean return: {x}\nloss: {y}\nFinished step {i}/400 (31.2s)\n",
    "a heading in words": "Mean return: {x}\nloss: {y}\n=> update {i} done in 31.2s\n",
    "a heading with its plan": "  Mean return: {x}\n  loss: {y}\n--- Step {i}/400 finished ---\n",
}
BELOW = {
    "a line with a metric": "Epoch 1/1, Iter {i}/400, loss: {y}\nMean return: {x}\n",
    "a line with two metrics": "step {i}: loss={y}, entropy=0.7\nMean return: {x}\n",
    "a heading": "Iteration {i}\nMean return: {x}\nloss: {y}\n",
}
STEPS = 14


def log(form: str, first: int = 1, stride: int = 1) -> bytes:
    return "".join(form.format(i=first + stride * i, x=(i + 1) / 32, y=(i + 1) / 64) for i in range(STEPS)).encode()


def returns(data: list[bytes]) -> dict[int, float | None]:
    rows, _ = looked_at(data)
    return {step: cells["Mean return"] for step, cells in rows.items() if "Mean return" in cells}


@pytest.mark.parametrize(("first", "stride"), [(1, 1), (0, 1), (10, 10)])
@pytest.mark.parametrize("form", ABOVE)
def test_numbers_above_are_of_the_step_below(form: str, first: int, stride: int) -> None:
    rows, _ = looked_at([log(ABOVE[form], first, stride)])
    assert {step: (cells.get("Mean return"), cells.get("loss")) for step, cells in rows.items()} == {
        first + stride * i: ((i + 1) / 32, (i + 1) / 64) for i in range(STEPS)
    }


@pytest.mark.parametrize("form", ABOVE)
def test_how_the_log_grows_makes_no_difference(form: str) -> None:
    data = log(ABOVE[form])
    expected = returns([data])
    ends = [at for at in range(len(data) // 2, len(data)) if data[at - 1 : at] == b"\n"]
    assert [at for at in ends if returns([data[:at], data[at:]]) != expected] == []


@pytest.mark.parametrize("before", ["", "Baseline return: 0.125\n", "lr: 1e-6\n", "Mean length: 91.5\nloss: 3\n"])
@pytest.mark.parametrize("form", BELOW)
def test_numbers_below_stay_of_the_step_above(form: str, before: str) -> None:
    data = before.encode() + log(BELOW[form])
    assert returns([data]) == {i + 1: (i + 1) / 32 for i in range(STEPS)}


@pytest.mark.parametrize("form", BELOW)
def test_of_a_log_that_was_cut_the_first_numbers_are_of_no_step(form: str) -> None:
    data = log(BELOW[form], 31)
    cut = data[data.index(b"Mean") :]
    assert returns([cut]) == {31 + i: (i + 1) / 32 for i in range(1, STEPS)}


RESUMED = [
    "Resuming from checkpoint ckpt/step_500\n",
    "resumed from step 500\nbatch size: 64\n",
    "INFO loading the model\nContinuing training from global step 500\n",
]


def both(data: bytes) -> dict[int, tuple[float | None, float | None]]:
    rows, _ = looked_at([data])
    return {step: (cells.get("Mean return"), cells.get("loss")) for step, cells in rows.items()}


LATE = {501 + i: ((i + 1) / 32, (i + 1) / 64) for i in range(STEPS)}


@pytest.mark.parametrize("before", RESUMED)
@pytest.mark.parametrize("form", {**ABOVE, **BELOW})
def test_a_log_that_says_that_it_resumes_was_not_cut(form: str, before: str) -> None:
    assert both(before.encode() + log({**ABOVE, **BELOW}[form], 501)) == LATE


@pytest.mark.parametrize("before", ["", "lr: 1e-6\nloading the model\n"])
@pytest.mark.parametrize("form", [form for form in ABOVE if form.startswith("a heading")])
def test_a_heading_that_says_that_its_step_is_over(form: str, before: str) -> None:
    """Nothing of its step follows it, so it does not matter whether the log was cut."""
    assert both(before.encode() + log(ABOVE[form], 501)) == LATE


def test_a_heading_with_a_colon_goes_on_below() -> None:
    data = log("Iteration {i} done:\nMean return: {x}\nloss: {y}\n", 501)
    cut = data[data.index(b"Mean") :]
    assert both(cut) == {step: cells for step, cells in LATE.items() if step > 501}


@pytest.mark.parametrize("form", [form for form in ABOVE if form.startswith("a heading")])
@pytest.mark.parametrize("size", [97, 211])
def test_a_log_that_is_looked_at_after_each_piece(size: int, form: str) -> None:
    """Rows that come after an early look and before the form is settled are read as all others. A look at the first
    lines alone cannot tell yet to which step their numbers belong."""
    data = log(ABOVE[form])
    rows, _ = looked_at([data[at : at + size] for at in range(0, len(data), size)])
    found = {step: (cells.get("Mean return"), cells.get("loss")) for step, cells in rows.items() if step > 3}
    assert found == {1 + i: ((i + 1) / 32, (i + 1) / 64) for i in range(3, STEPS)}
