"""What an evaluation tells between the steps belongs to it: no step of the training is lost by it."""

from __future__ import annotations

import pytest

from tests.unit.readers.test_opened_and_grown import looked_at

TRAININGS = {
    "one metric": "step {i}: return={x:.3f}\n",
    "one metric, named": "Train iter {i}: return={x:.3f}\n",
    "one metric, in a table": "Step {i}/400 | return {x:.3f}\n",
    "two metrics": "step {i}: return={x:.3f}, entropy=0.7\n",
}
FOUND = {
    "Eval @ step {i}: {{'math500/pass': {y:.3f}}}\n": {"eval/math500/pass"},
    "Validation at step {i} -> {{'math500': {y:.3f}, 'aime': 0.125}}\n": {"eval/math500", "eval/aime"},
    'eval metrics at step {i}: {{"math500": {y:.3f}}}\n': {"eval/math500"},
    "Evaluating at iteration {i} ...\n  math500: {y:.3f} (37/500)\n  aime: 0.125 (3/24)\n": {
        "eval/math500",
        "eval/aime",
    },
    "Running validation at step {i}...\n  math500: {y:.3f}\n  mean answer length: 91.5\n": {
        "eval/math500",
        "eval/mean answer length",
    },
    "  Validation: math500={y:.3f} aime=0.125\n": {"eval/math500", "eval/aime"},
    "  [eval] math500: {y:.3f}, aime: 0.125\n": {"eval/math500", "eval/aime"},
}
NO_EVALUATIONS = (
    "Eval config at step {i}: {{'dataset': 'math500', 'n': 8}}\n",
    "Starting validation at step {i} with {{'batch_size': 8, 'temperature': 0.5}}\n",
    "  Validation: batch=8 workers=4\n",
)


def log(training: str, between: str) -> bytes:
    lines = (
        training.format(i=i, x=i / 50) + (between.format(i=i, y=i / 100) if i % 4 == 0 else "") for i in range(1, 21)
    )
    return "".join(lines).encode()


@pytest.mark.parametrize("between", FOUND)
@pytest.mark.parametrize("training", TRAININGS)
def test_every_step_and_every_evaluation_is_read(training: str, between: str) -> None:
    rows, _ = looked_at([log(TRAININGS[training], between)])
    assert {step: cells["return"] for step, cells in rows.items() if "return" in cells} == {
        i: i / 50 for i in range(1, 21)
    }
    told = {name for cells in rows.values() for name in cells} - {"return", "entropy"}
    assert told == FOUND[between]
    first = next(iter(sorted(name for name in told if "math500" in name)))
    assert {step: cells[first] for step, cells in rows.items() if first in cells} == {
        i: i / 100 for i in range(4, 21, 4)
    }


@pytest.mark.parametrize("between", NO_EVALUATIONS)
@pytest.mark.parametrize("training", TRAININGS)
def test_settings_between_the_steps_are_no_evaluation(training: str, between: str) -> None:
    rows, _ = looked_at([log(TRAININGS[training], between)])
    assert {step: cells.get("return") for step, cells in rows.items()} == {i: i / 50 for i in range(1, 21)}
    assert {name for cells in rows.values() for name in cells} <= {"return", "entropy"}


def test_a_dict_behind_its_step_alone_does_not_end_the_lines_of_the_training() -> None:
    lines = "".join(
        f"it {i} reward {i / 50}\n" + (f"step {i}: {{'grad_norm': 0.25}}\n" if i % 4 == 0 else "") for i in range(1, 21)
    )
    rows, _ = looked_at([lines.encode()])
    assert {step: cells["reward"] for step, cells in rows.items()} == {i: i / 50 for i in range(1, 21)}


@pytest.mark.parametrize("tag", ["val: ", "[eval] ", "  Validation | "])
def test_an_evaluation_below_the_first_steps_is_of_them(tag: str) -> None:
    lines = "".join(f"GRPO round {i}/40 -> loss {i / 8}\n{tag}loss={i / 16} accuracy={i / 64}\n" for i in range(1, 9))
    rows, _ = looked_at([lines.encode()])
    expected = {i: {"loss": i / 8, "eval/loss": i / 16, "eval/accuracy": i / 64} for i in range(1, 9)}
    assert rows == expected
