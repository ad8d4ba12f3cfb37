"""Answers that are printed between the step lines may number steps and name losses themselves."""

from __future__ import annotations

import pytest

from tests.unit.readers.test_opened_and_grown import looked_at

SAMPLES = (
    "Answer: first we set up.\nStep 2: loss: {k}, kl: 3\nStep 3: reward: {k}, loss: 7\n",
    "Completion:\nStep 1: reward: 12, loss: {k}\nStep 2: loss: {k}, kl: 4\n",
    "<think>\nIteration 2: loss = {k}, reward = {k}\n</think>\n",
)
LINES = ("[step {i}] loss=0.{i:03}, reward=0.5, kl=0.001", "step {i} | loss 0.{i:03} | reward 0.5 | kl 0.001")


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("line", LINES)
def test_what_an_answer_says_of_steps_is_no_metric(line: str, sample: str) -> None:
    text = "".join(line.format(i=i) + "\n" + sample.format(k=10 * i) for i in range(1, 31))
    found, _ = looked_at([text.encode()])
    assert {i: cells for i, cells in found.items() if i > 3} == {
        i: {"loss": float(f"0.{i:03}"), "reward": 0.5, "kl": 0.001} for i in range(4, 31)
    }
    assert all(found[i]["loss"] == float(f"0.{i:03}") for i in range(1, 4))


def test_a_line_in_other_words_adds_what_the_first_does_not_tell() -> None:
    text = "".join(
        f"[step {i}] loss=0.{i:03}, reward=0.5\nStep {i}: entropy: 12.5, grad_norm: 3.25\n" for i in range(1, 21)
    )
    found, _ = looked_at([text.encode()])
    assert all(cells["loss"] == float(f"0.{i:03}") and 12.5 in cells.values() for i, cells in found.items())


def test_a_resume_in_other_words_goes_on() -> None:
    old = "".join(f"[step {i}] loss=0.{i:03}, reward=0.5\n" for i in range(1, 21))
    new = "".join(f"Step {i} | loss: 0.{i:03} | reward: 0.25\n" for i in range(21, 41))
    found, _ = looked_at([(old + new).encode()])
    assert {i: cells["reward"] for i, cells in found.items()} == {i: 0.5 if i < 21 else 0.25 for i in range(1, 41)}


ANSWERS = (
    '{{"question": "{k}+3", "answer": "{k}", "score": 1, "steps": {s}}}\n',
    "{{'prompt': 'What is {k}?', 'completion': 'It is {k}', 'reward': 0.0, 'steps': {s}}}\n",
)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("step", ["{{'step': {i}, 'loss': 0.{i:03}}}\n", "Update #{i} | lr 2.0e-06\nloss: 0.{i:03}\n"])
def test_the_steps_of_an_answer_in_a_dict_are_not_those_of_the_training(step: str, answer: str) -> None:
    count = (5, 17, 29, 8, 41, 3)
    text = "".join(answer.format(k=i, s=count[i % 6] + i) + step.format(i=i) for i in range(1, 31))
    found, _ = looked_at([text.encode()])
    assert {i: cells["loss"] for i, cells in found.items()} == {i: float(f"0.{i:03}") for i in range(1, 31)}
    assert not {"score", "reward", "question"} & set().union(*found.values())


def test_a_record_of_a_step_may_hold_a_text() -> None:
    text = "".join(f"{{'step': {i}, 'loss': 0.{i:03}, 'sample': 'It is {i}'}}\n" for i in range(1, 21))
    found, _ = looked_at([text.encode()])
    assert {i: cells["loss"] for i, cells in found.items()} == {i: float(f"0.{i:03}") for i in range(1, 21)}
