"""Which answer a text gives, whether it is the reference, and how well a reward follows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.rollouts.answers import final_answer, follows, value, verdict
from rltui.rollouts.formats import fields
from tests.unit.rollouts.dumps import index, lines


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{3}, no: \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"cut in the middle \boxed{12", None),
        ("<think>5</think><answer> 7 </answer>", " 7 "),
        ("72 / 2 = 36\n#### 36", "36"),
        ("The answer is: **1,200**.", "1,200"),
        ("the final answer is (B)", "(B)"),
        ("I think that the answer is a matter of taste", None),
        ("nothing", None),
    ],
)
def test_the_answer_of_a_text(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("$1,200.00$", 1200.0),
        (r"\text{B}", "B"),
        ("(C)", "C"),
        (r"-\dfrac{3}{4}", -0.75),
        ("3/4", 0.75),
        ("1/0", None),
        ("x + 1", None),
        ("50%", None),
        ("", None),
    ],
)
def test_only_numbers_and_choices_are_compared(text: str, known: float | str | None) -> None:
    assert value(text) == known


@pytest.mark.parametrize(
    ("record", "right"),
    [
        ({"output": r"\boxed{4.0}", "gts": "4"}, True),
        ({"completion": "<answer>5</answer>", "answer": 4}, False),
        ({"completion": "<answer>B</answer>", "ground_truth": "B"}, True),
        ({"response": r"\boxed{36}", "label": "half of 72 is 36\n#### 36"}, True),
        ({"response": r"\boxed{36}", "reward_model": {"ground_truth": "37"}, "ground_truth": ["37"]}, False),
        ({"response": r"\boxed{x}", "label": "4"}, None),
        ({"response": r"\boxed{B}", "label": "4"}, None),
        ({"response": r"\boxed{4}"}, None),
        ({"response": r"\boxed{4}", "gts": {"target": 4, "numbers": [1, 3]}}, None),
        ({"response": r"\boxed{4}", "label": True}, None),
    ],
)
def test_an_answer_against_the_reference_beside_it(record: dict[str, Any], right: bool | None) -> None:
    raw = fields.raw({"reward": 0.0, **record})
    assert raw is not None
    found = verdict(raw)
    assert (None if found is None else found.right) == right


def test_a_reference_that_is_a_number_is_no_part_of_the_reward() -> None:
    raw = fields.raw({"completion": "4", "answer": 118, "accuracy": 1.0})
    assert raw is not None
    assert raw.components == {"accuracy": 1.0}
    assert raw.extra == {"answer": 118}


def test_how_well_a_reward_follows() -> None:
    assert follows([1.0, 1.0], [0.0]) == 1.0
    assert follows([0.0, 1.0], [0.0, 1.0]) == 0.5
    assert follows([0.0], [1.0]) == 0.0
    assert follows([0.3], [0.3]) == 0.5
    assert follows([], [1.0]) is None


def rows(step: int, order: int, form: str = r"So it is \boxed{{{}}}.") -> list[dict[str, Any]]:
    """32 samples of four prompts, every third one right, with the rewards shifted by so many places."""
    right = [(n + step) % 3 == 0 for n in range(32)]
    return [
        {
            "prompt": f"{n // 8} + {step}?",
            "completion": form.format(n // 8 + step + (not right[n])),
            "answer": str(n // 8 + step),
            "reward": float(right[n - order]),
        }
        for n in range(32)
    ]


@pytest.mark.parametrize(
    "form", [r"So it is \boxed{{{}}}.", "<answer>{}</answer>", "Well.\n#### {}", "The answer is {}."]
)
@pytest.mark.parametrize("order", [0, 1, 8])
def test_rewards_of_other_samples_are_told_with_a_sample_to_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], order: int, form: str
) -> None:
    metrics = [{"step": s, "reward": 0.33 + 0.01 * (s % 3), "loss": 0.1, "grad_norm": 0.3} for s in range(1, 41)]
    lines(tmp_path / "metrics.jsonl", metrics)
    for step in range(5, 41, 5):
        lines(tmp_path / "rollouts" / f"{step}.jsonl", rows(step, order, form))
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    found = {f["id"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    assert ("reward-contradicts-answer" in found) == (order > 0)
    if order:
        told = found["reward-contradicts-answer"]
        assert told["severity"] in ("warning", "critical")
        number = int(told["summary"].partition("sample ")[2].split()[0])
        row = rows(40, order)[number - 1]
        assert f"the reference is {row['answer']}, and its reward is {row['reward']:.0f}" in told["summary"]


def test_the_numbers_of_a_step(tmp_path: Path) -> None:
    lines(tmp_path / "rollouts" / "5.jsonl", rows(5, 1))
    found = index(tmp_path)
    stats = found.read(found.entries[0]).stats()
    assert (stats.right, stats.wrong) == (11, 21)
    assert stats.follows is not None
    assert stats.follows < 0.5


def test_the_page_of_a_step_counts_right_and_wrong_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines(tmp_path / "rollouts" / "5.jsonl", rows(5, 0))
    assert main(["rollouts", str(tmp_path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "answers, by reference 11 right, 21 wrong" in text
    assert "right has more reward 100 %" in text
