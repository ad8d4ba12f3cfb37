"""Marks around names and numbers that a program printed as they are: rich's, those of a page, those of Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import STEPS, rows, steps

FORMS = (
    "[bold cyan]step {n}[/bold cyan] loss=[green]{loss}[/green] reward=[blue]{x}[/] kl=[#ff8800]{kl}[/]",
    "[dim]iter[/dim] {n} [red]loss[/red] {loss} [bold]reward[/] {x} kl {kl}",
    '<p>step <b>{n}</b>: loss=<span style="color: red">{loss}</span>, reward=<code>{x}</code>, kl={kl}</p>',
    "<li><strong>Update {n}</strong> | loss: {loss} | reward: {x} | kl: {kl}</li>",
    "- step `{n}`: `loss`={loss}, `reward`={x}, `kl`={kl}",
    "**Step {n}** loss: `{loss}`, reward: **{x}**, kl: `{kl}`",
)


@pytest.mark.parametrize("form", FORMS)
def test_marks_around_names_and_numbers_do_not_matter(form: str, tmp_path: Path) -> None:
    assert steps(tmp_path, form) == {
        n: {"total_loss": 1.25, "reward_mean": n / 1000, "kl_ref": 0.125} for n in range(1, STEPS + 1)
    }


def test_brackets_that_are_no_marks_stay(tmp_path: Path) -> None:
    found = steps(tmp_path, "[grpo] step {n} loss {loss} reward {x} E[R]=0.5 a[/tmp] path [/data/x] |g|=2.5 2**3**2")
    assert len(found) == STEPS
    assert all(row["E[R]"] == 0.5 and row["reward_mean"] == n / 1000 for n, row in found.items())


def test_code_in_answers_is_no_metric(tmp_path: Path) -> None:
    answer = "**Step 3**: loss: 9, reward: 8\n**Step 4**: loss: 7, reward: 6\n"
    answer += "Use `loss = 9`, then `reward: 7`; **Note** that <b>kl</b>=5 holds.\n"
    text = "".join(f"step {n} | loss 0.5 | reward {n / 100} | kl 0.1\n{answer}" for n in range(1, 31))
    assert rows(tmp_path, text) == {n: {"total_loss": 0.5, "reward_mean": n / 100, "kl_ref": 0.1} for n in range(1, 31)}
