"""Lines with two counters: the one that goes on tells the step, not the one that begins anew within it."""

from __future__ import annotations

import pytest

from tests.unit.readers.test_opened_and_grown import looked_at

EACH_LINE = (
    "inner iter: {k}/8 | global iter: {g}/5000 | loss: 0.5 | reward: 0.{g:03}",
    "[iter {k}/8] [step {g}/5000] loss 0.5 reward 0.{g:03}",
    "micro step {k}, global step {g}, loss=0.5, reward=0.{g:03}",
    "local_step={k} step={g} loss=0.5 reward=0.{g:03}",
    "train | data_epochs  0/10 | inner iter:   {k}/  8 | global iter: {g:6}/  5000| loss: 0.5 | reward: 0.{g:03}",
    "update {g}/100 | step {h}/51200 | loss 0.5 | reward 0.{g:03}",  # both count the run: the first tells the step
    "step {g}/100 | update {h} | loss 0.5 | reward 0.{g:03}",
)
EACH_EIGHT = (
    "inner iter: {k}/8 | global iter: {o}/5000 | loss: 0.5 | reward: 0.{g:03}",
    "Iteration {o}/100 | PPO update {k}/8 | loss 0.5 | reward 0.{g:03}",
)


def log(form: str) -> bytes:
    lines = (form.format(g=g, k=(g - 1) % 8 + 1, o=(g - 1) // 8 + 1, h=512 * g) + "\n" for g in range(1, 41))
    return "".join(lines).encode()


@pytest.mark.parametrize("form", EACH_LINE)
def test_the_number_that_goes_on_is_the_step(form: str) -> None:
    found, _ = looked_at([log(form)])
    assert {step: cells["reward"] for step, cells in found.items()} == {g: g / 1000 for g in range(1, 41)}


@pytest.mark.parametrize("form", EACH_EIGHT)
def test_a_step_of_several_lines_has_the_numbers_of_the_last(form: str) -> None:
    found, _ = looked_at([log(form)])
    assert {step: cells["reward"] for step, cells in found.items()} == {o: 8 * o / 1000 for o in range(1, 6)}


@pytest.mark.parametrize("form", [EACH_LINE[0], EACH_EIGHT[1]])
def test_where_it_was_opened_makes_no_difference(form: str) -> None:
    data = log(form)[:1500]
    whole = looked_at([data])[0]
    ends = [at for at in range(0, len(data), 7) if looked_at([data[:at], data[at:]])[0] != whole]
    assert ends == []
