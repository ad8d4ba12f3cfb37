"""An outer loop of a home-made script, whose steps are counted anew in each of its rounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reading import cuts, read
from tests.unit.readers.reported import reported

TITLES = (
    *("=== round {k} ===", "Round {k}/4", "--- Round {k} ---", "### Stage {k}", "Cycle {k} begins", "Generation {k}"),
    *("=== Iteration {k} ===", "Outer iteration {k}", "== Phase {k}: {name} ==", "=== Epoch {k} ==="),
)
NAMES = ("", "warm-up", "main part", "anneal", "last")
ROWS = {
    "named": "step {i} reward={r:.3f} loss={l:.4f}",
    "with a total": "{i}/20 | reward {r:.3f} | loss {l:.4f}",
    "without a name": "  {i} | reward {r:.3f} | loss {l:.4f}",
    "in brackets": "[{i}] reward: {r:.3f}, loss: {l:.4f}",
}
FAULT = ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "RuntimeError: CUDA error"]


def steps(k: int, style: str = ROWS["named"], counts: range = range(1, 21), more: float = 0) -> list[str]:
    return [
        style.format(i=i, k=k, r=0.1 + (20 * k + i) / 400 + (i * 7 % 5) / 300 + more, l=1 / (20 * k + i + 1))
        for i in counts
    ]


def rounds(title: str, style: str, counts: range = range(1, 21), of: range = range(1, 5), more: float = 0) -> list[str]:
    return [line for k in of for line in (title.format(k=k, name=NAMES[k % 5]), *steps(k, style, counts, more))]


def run_of(lines: list[str], folder: Path) -> dict[str, Any]:
    (folder / "train.log").write_text("\n".join([*lines, ""]))
    found: dict[str, Any] = reported(folder)["run"]
    return found


def told(lines: list[str], folder: Path) -> tuple[int, int, int, int]:
    """The first step, the last, how many rows and how many restarts."""
    run = run_of(lines, folder)
    return run["steps"]["first"], run["steps"]["last"], run["steps"]["rows"], len(run["restarts"])


@pytest.mark.parametrize("style", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("title", TITLES)
def test_the_steps_go_on_from_round_to_round(title: str, style: str, tmp_path: Path) -> None:
    assert told(rounds(title, style), tmp_path) == (1, 80, 80, 0)


@pytest.mark.parametrize(
    "counts", [range(20), range(0, 100, 5), range(10, 201, 10), range(1, 5)], ids=["0", "fives", "tens", "few"]
)
@pytest.mark.parametrize("style", [ROWS["named"], ROWS["without a name"]])
def test_rounds_with_other_counts(style: str, counts: range, tmp_path: Path) -> None:
    first, last, rows, restarts = told(rounds("=== round {k} ===", style, counts), tmp_path)
    assert (first, rows, restarts) == (counts[0], 4 * len(counts), 0)
    assert last == counts[0] + (4 * len(counts) - 1) * counts.step


@pytest.mark.parametrize(
    "style",
    [
        "round {k} step {i} reward={r:.3f} loss={l:.4f}",
        "[round {k}/4] [step {i}/20] reward={r:.3f} loss={l:.4f}",
        "cycle={k} step={i} reward={r:.3f} loss={l:.4f}",
    ],
)
def test_the_round_in_each_line(style: str, tmp_path: Path) -> None:
    lines = [line for k in range(1, 5) for line in steps(k, style)]
    assert told(lines, tmp_path) == (1, 80, 80, 0)


@pytest.mark.parametrize("style", [ROWS["named"], ROWS["without a name"]])
def test_rounds_that_end_with_an_evaluation(style: str, tmp_path: Path) -> None:
    lines = [
        line
        for k in range(1, 5)
        for line in (
            *rounds("=== Round {k} ===", style, of=range(k, k + 1)),
            f"eval accuracy: {0.3 + k / 20}",
            f"Round {k} done in 33s",
            f"Saved checkpoint round_{k}",
        )
    ]
    assert told(lines, tmp_path) == (1, 80, 80, 0)


def test_a_long_round(tmp_path: Path) -> None:
    lines = rounds("=== Round {k} ===", ROWS["without a name"], range(1, 301), range(1, 4))
    assert told(lines, tmp_path) == (1, 900, 900, 0)


def test_a_run_that_fails_and_goes_on_with_its_round(tmp_path: Path) -> None:
    title, style = "=== Round {k} ===", ROWS["named"]
    broken = [*rounds(title, style, of=range(1, 3)), *rounds(title, style, range(1, 8), range(3, 4)), *FAULT]
    again = [["Resuming from round 3", *rounds(title, style, of=range(3, 6), more=0.02)]]
    again += [rounds(title, style, of=range(1, 6), more=0.02)]
    for lines in again:
        assert told([*broken, *lines], tmp_path) == (1, 100, 100, 1)


@pytest.mark.parametrize("style", [ROWS["named"], ROWS["without a name"]])
def test_rounds_in_pieces(style: str) -> None:
    text = "\n".join([*rounds("=== round {k} ===", style, range(1, 7), range(1, 4)), ""])
    whole = read("console", text).rows
    assert sorted({step for step, _ in whole}) == list(range(1, 19))
    for cut in cuts(text.encode()):
        assert read("console", text, [cut]).rows == whole, cut


IN_A_STEP = ("=== Round 1 ===", "=== Round 2 ===", "=== Round 3 ===")
ANSWER = ("Completion:", "Stage 2", "I think the first step is 3.", "Phase 4 of the plan")
AGAIN = {
    "rounds in each step, and a restart": (IN_A_STEP, ()),
    "rounds behind each step, and a restart": ((), IN_A_STEP),
    "answers with stages, and a restart": ((), ANSWER),
}


@pytest.mark.parametrize(("above", "below"), AGAIN.values(), ids=AGAIN)
def test_a_restart_is_told_whatever_rounds_are_in_a_step(
    above: tuple[str, ...], below: tuple[str, ...], tmp_path: Path
) -> None:
    each = [[*above, line, *below] for line in (*steps(1), *steps(1, counts=range(1, 41), more=0.02))]
    lines = [line for one in each[:20] for line in one] + FAULT + [line for one in each[20:] for line in one]
    assert told(lines, tmp_path) == (1, 40, 40, 1)


def test_attempts_are_restarts(tmp_path: Path) -> None:
    assert told(rounds("=== Attempt {k} ===", ROWS["named"]), tmp_path) == (1, 20, 20, 3)


def test_steps_that_are_counted_over_all_rounds(tmp_path: Path) -> None:
    lines = [
        line for k in range(4) for line in (f"=== Round {k} ===", *steps(0, counts=range(20 * k + 1, 20 * k + 21)))
    ]
    assert told(lines, tmp_path) == (1, 80, 80, 0)


@pytest.mark.parametrize(
    "inner", [(), [f"[{k}] reward: {k / 9:.2f}, loss: 0.1" for k in range(1, 9)]], ids=["alone", "answers"]
)
def test_rounds_that_are_the_steps(inner: list[str], tmp_path: Path) -> None:
    lines = [
        line
        for i in range(1, 31)
        for line in (f"=== Round {i} ===", *inner, f"mean_reward: {0.1 + i / 80:.3f}", f"policy_loss: {1 / i:.4f}")
    ]
    assert told(lines, tmp_path) == (1, 30, 30, 0)


ITERATIONS = ("=== Iteration {i} ===", "Iteration {i}")
INSIDE = ("epoch {k}", "minibatch {k}", "batch {k}/3", "ppo epoch {k}/3", "mb {k}/3")
UPDATES = ("update {k}", "update {k}/3", "substep {k}/3")
"""Below the title of a round, these may be the steps."""


@pytest.mark.parametrize(
    ("title", "inside"),
    [
        *((title, inside) for title in ITERATIONS for inside in (*INSIDE, *UPDATES)),
        *(("Round {i}/60", inside) for inside in INSIDE[2:]),
    ],
)
def test_parts_of_each_round_are_no_steps(title: str, inside: str) -> None:
    """A round is a step here: it passes over its samples several times, and then states its reward."""
    lines = []
    for i in range(1, 61):
        losses = [f"{inside.format(k=k)}: loss {1 + k / i:.3f}" for k in (1, 2, 3)]
        lines += [title.format(i=i), *losses, f"reward: 0.{i:03} kl: {i % 7 / 100}"]
    rows = read("console", "\n".join([*lines, ""])).rows
    told = {step: cells["reward"] for step, cells in rows if "reward" in cells}
    assert len(told) > 50
    assert told == {step: step / 1000 for step in told}
