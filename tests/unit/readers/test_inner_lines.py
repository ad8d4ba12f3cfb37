"""Lines of the optimiser below the line of their step, with counts of their own, the first of which counts; names that
hold the number of the step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import read
from tests.unit.readers.test_lines_of_home_made_loops import rows

INNER = {
    "an index": ("returns of step {i}: {x}\n0: kl= {y}, norm= 0.5\n", "returns"),
    "counts with their ends": (
        "rollout:{i}/90 reward:{x} time:21.5s mem:31.2/79.1GB\n"
        "  iter_num:{h} epoch:0/2 kl:{y} norm:0.5 mem:40.0/79.1GB\n"
        "  iter_num:{k} epoch:1/2 kl:9.5 norm:0.5 mem:40.0/79.1GB\n",
        "reward",
    ),
    "passes": ("Iter {i}/90, reward: {x}\n  epoch: 0/4, batch: 3/8, kl: {y}, norm: 0.5\n", "reward"),
}
NAMED = {
    "of": "mean score of step {i}: {x}\n",
    "at, with the plan": "mean score at iteration {i}/90 = {x}\n",
    "for": "mean score for update {i}: {x}\n",
}


def told(text: str) -> dict[int, dict[str, float | None]]:
    found: dict[int, dict[str, float | None]] = {}
    for step, cells in read("console", text).rows:
        found.setdefault(step, {}).update(cells)
    return found


@pytest.mark.parametrize("form", INNER)
def test_the_optimisers_numbers_are_of_the_step_above(form: str) -> None:
    lines, name = INNER[form]
    rows = told("".join(lines.format(i=i, x=i / 32, y=i / 64, h=2 * i, k=2 * i + 1) for i in range(1, 21)))
    assert {step: (cells[name], cells.get("kl"), cells.get("norm")) for step, cells in rows.items()} == {
        i: (i / 32, i / 64, 0.5) for i in range(1, 21)
    }


@pytest.mark.parametrize("form", NAMED)
def test_a_name_that_holds_its_step_is_one_column(form: str) -> None:
    rows = told("".join(NAMED[form].format(i=i, x=i / 32) for i in range(1, 21)))
    assert rows == {i: {"mean score": i / 32} for i in range(1, 21)}


@pytest.mark.parametrize(
    "beside",
    ["episode: {h}, reward: 1.0\n", "sample 3: reward= 1.0, length= 9\n", "Loaded 3/8 shards in 2.5s\n"],
)
def test_what_the_step_says_itself_stays(beside: str) -> None:
    rows = told("".join(f"GRPO round {i}/90 -> reward={i / 32}\n" + beside.format(h=7 * i) for i in range(1, 21)))
    assert {step: cells["reward"] for step, cells in rows.items()} == {i: i / 32 for i in range(1, 21)}


def test_an_index_that_rises_is_the_step() -> None:
    rows = told("Loaded 3/8 shards of 2 files\n" + "".join(f"{i}: loss= {i / 32}, kl= 0.5\n" for i in range(21)))
    assert rows == {i: {"loss": i / 32, "kl": 0.5} for i in range(21)}


ABOVE = (
    "[rollout {n}] reward {x} len {length}",
    "Rollout {n} | reward {x} | len {length}",
    "step {n} reward {x} len {length}",
    "=== Iteration {n}/60 ===\nreward {x} len {length}",
    "Episode {n} reward={x} len={length}",
)
BELOW = (
    "  inner {e}/3 pg_loss {y} vf_loss 0.5",
    "  update {e}/3: pg_loss={y} vf_loss=0.5",
    "  epoch {e}/3 | pg_loss {y} | vf_loss 0.5",
    "  [ppo epoch {e}] pg_loss {y} vf_loss 0.5 kl 0.01",
    "    minibatch {e}: pg_loss={y} vf_loss=0.5",
)


@pytest.mark.parametrize("inner", BELOW)
@pytest.mark.parametrize("outer", ABOVE)
def test_what_counts_up_below_each_step_is_no_step(outer: str, inner: str, tmp_path: Path) -> None:
    text = "".join(
        outer.format(n=n, x=f"{n / 1000:.3f}", length=300 + n)
        + "\n"
        + "".join(inner.format(e=e, y=f"0.{e}") + "\n" for e in range(1, 4))
        for n in range(1, 61)
    )
    found = rows(tmp_path, text)
    assert list(found) == list(range(1, 61))
    told = [(row["reward_mean"], row["response_length_mean"]) for row in found.values()]
    assert told == [(pytest.approx(n / 1000), 300 + n) for n in range(1, 61)]


def test_a_short_run_below_a_line_that_counts_something(tmp_path: Path) -> None:
    """It waits for more of what stands above it, but not beyond the end."""
    text = "epochs 3 | batch 4/8 | lr 1e-6\n" + "".join(f"rollout {n}: reward 0.{n} kl 0.01\n" for n in range(1, 8))
    assert list(rows(tmp_path, text)) == list(range(1, 8))


@pytest.mark.parametrize(
    "inner",
    [
        "  micro {e}/4 loss 0.{e}",
        "    accum {e}/4: loss=0.{e}",
        "  pass {e}/4 | loss 0.{e}",
        "ppo epoch {e}: loss 0.{e}",
        "minibatch {e}: loss 0.{e}",
    ],
)
def test_what_counts_up_above_each_step_is_no_step(inner: str, tmp_path: Path) -> None:
    text = "".join(
        "".join(inner.format(e=e) + "\n" for e in range(1, 5)) + f"step {n} | reward {n / 1000:.3f} | loss 1.25\n"
        for n in range(1, 61)
    )
    found = rows(tmp_path, text)
    assert list(found) == list(range(1, 61))
    assert {row["total_loss"] for row in found.values()} == {1.25}
