"""A line that begins where the one before it has no end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import rows

FORMS = (
    "step {n}/60 | loss {y:.4f} | reward {x:.3f} | kl 0.1250",
    "[2026-01-02 10:00:00] INFO trainer: Step {n}: loss={y:.4f}, reward={x:.3f}",
    "Iteration {n} - reward: {x:.3f} - loss: {y:.4f}",
    "GRPO round {n} of 60 reward {x:.3f} loss {y:.4f}",
)


def text(form: str, glue: str = "", cut: int = 0) -> str:
    """The log of 60 steps; some of its lines have no end, and lost so many signs."""
    out = ""
    for n in range(1, 61):
        line = form.format(n=n, x=n / 100, y=2 - n / 50)
        torn = n > 5 and n % 13 == 6
        out += (line[: len(line) - cut] if torn else line) + (glue if torn else "\n")
    return out


@pytest.mark.parametrize("glue", ["", " "])
@pytest.mark.parametrize("form", FORMS)
def test_both_lines_count(form: str, glue: str, tmp_path: Path) -> None:
    found = rows(tmp_path, text(form, glue))
    assert {n: (row["reward_mean"], row["total_loss"]) for n, row in found.items()} == {
        n: (pytest.approx(n / 100), pytest.approx(2 - n / 50)) for n in range(1, 61)
    }


@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.parametrize("form", FORMS)
def test_of_one_that_was_cut_off_nothing_is_guessed(form: str, cut: int, tmp_path: Path) -> None:
    found = rows(tmp_path, text(form, "", cut))
    torn = {n for n in range(6, 61) if n % 13 == 6}
    assert set(found) == set(range(1, 61)) - torn
    assert all(row["reward_mean"] == pytest.approx(n / 100) for n, row in found.items())
