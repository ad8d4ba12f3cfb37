"""Steps that begin again in each epoch, where the epoch is told in a letter or two: no epoch replaces another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import rows

N = 30
HEADS = (
    "[E{e}] step {i}/30 | ",
    "E{e} step {i}/30 | ",
    "ep{e} it {i}: ",
    "Ep {e} | step {i}/30 | ",
    "[ep {e}][step {i}] ",
    "[e{e} s{i}] ",
    "E{e}/3 S{i}/30 ",
    "EP{e} STEP {i} ",
    "Ep. {e} step {i} ",
    "Ep: {e} Step: {i} ",
    "E{e:02d} B{i:03d} ",
    "2026-03-01 09:00:00 INFO [E{e}] step {i}/30 - ",
)
BODIES = (
    "loss {x} reward 0.4",
    "loss={x} reward=0.4",
    "loss: {x}, reward: 0.4",
    "Loss={x} reward=0.4: : {i}it [22:08,  1.18it/s]",
)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("head", HEADS)
def test_each_epoch_goes_on_from_the_one_before(head: str, body: str, tmp_path: Path) -> None:
    each = [(e, i) for e in (1, 2, 3) for i in range(1, N + 1)]
    lines = [(head + body).format(e=e, i=i, x=f"{3 - (N * (e - 1) + i) / 100:.3f}") for e, i in each]
    found = rows(tmp_path, "\n".join(lines) + "\n")
    assert {step: row["total_loss"] for step, row in found.items()} == {
        step: pytest.approx(3 - step / 100) for step in range(1, 3 * N + 1)
    }


def test_a_line_at_the_end_of_each_epoch(tmp_path: Path) -> None:
    lines = [f"[E{e}] step 500/500 | loss={1 / e:.3f} reward={e / 9:.3f}\nsaved to best.pt" for e in range(1, 9)]
    found = rows(tmp_path, "\n".join(lines) + "\n")
    assert list(found) == [500 * e for e in range(1, 9)]


def test_words_that_begin_with_the_letter_are_no_epochs(tmp_path: Path) -> None:
    lines = [f"e2e step {i}/40 loss {i / 100:.3f} reward 0.4" for i in range(1, 41)]
    assert list(rows(tmp_path, "\n".join(lines) + "\n")) == list(range(1, 41))
