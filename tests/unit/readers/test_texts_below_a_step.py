"""Responses that are printed between the heading of a step and its numbers, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.reported import ends, reported
from tests.unit.readers.test_wordings import by_step
from tests.unit.session.runs import content, opened

STEPS = range(1, 41)
TEXTS = (
    "First, 12 + 7 = 19.\nThen 19 * 2 = 38.\n\nThe answer is 38.",
    "```python\ndef area(n):\n    loss = 0.5\n    for i in range(10):\n        loss += n / 3\n    return loss\n```",
    "Step 1: compute 3 * 4 = 12\nStep 2: add 5 to get 17\nAnswer: 17",
    "Step 3:\nscore = 0.7\nreward: 4\n\n- accuracy 0.9\n- total = 14",
    "Step 2\nreward = 7\nStep 3\nloss = 8",
    "<think>\nThe reward is 5 apples: 5 - 2 = 3.\n</think>\n<answer>3</answer>",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
)
FORMS = {
    "a printed line": "=== step {n} ===\ncompletion: {text}\ntrain: reward {r} kl {k}\n",
    "with a bar": "=== step {n} ===\nprompt: What is 3+{n}?\ncompletion: {text}\ntrain | reward {r} | kl {k}\n",
    "pairs": "--- Step {n}/40 ---\n{text}\nreward={r} kl={k}\n",
    "a logger": "INFO - Step {n}/40\n{text}\nINFO - train: reward={r} kl={k}\n",
    "before and after": "=== step {n} ===\nreward: {r}\nSample completion:\n{text}\nkl: {k}\n",
}


def log(form: str, every: int = 1, last: int = STEPS[-1]) -> str:
    """The first steps have plain texts: what a heading looks like is known by then."""
    texts = {n: "fine" if n < 6 or n % every else TEXTS[(n // every) % len(TEXTS)] for n in STEPS}
    return "".join(FORMS[form].format(n=n, text=texts[n], r=n / 64, k=n / 128) for n in range(1, last + 1))


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_the_numbers_below_a_text_are_of_the_step(form: str, every: int, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(form, every))
    found = content(opened(path))
    assert list(found) == list(STEPS)
    assert [(row["reward"], row["kl"]) for row in found.values()] == [(n / 64, n / 128) for n in STEPS]
    assert "loss" not in {name for row in found.values() for name in row}
    report = reported(path)
    assert ends(report, "reward_mean") == (40, 1 / 64, 40 / 64)
    assert report["run"]["restarts"] == []


def test_another_launch_after_a_text_is_one(tmp_path: Path) -> None:
    """Its headings look like those before."""
    path = tmp_path / "train.log"
    again = "".join(FORMS["pairs"].format(n=n, text="fine", r=0.5 + n / 64, k=n / 128) for n in range(11, 31))
    path.write_text(log("pairs", last=20) + "loading the checkpoint at 10\n" + again)
    assert list(content(opened(path))) == list(range(1, 31))
    assert reported(path)["run"]["restarts"] == [11]


@pytest.mark.long
def test_where_the_bytes_are_cut_makes_no_difference() -> None:
    data = log("pairs", last=9).encode()
    whole = by_step([data])
    assert len(whole) == 9
    assert all(by_step([data[:at], data[at:]]) == whole for at in cuts(data, 201))
