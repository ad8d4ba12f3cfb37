"""Lines of numbers right below a step line that stated some: they are of its step, however they spread."""

from __future__ import annotations

import pytest

from tests.unit.readers.reading import Cells, read

N = 7


def told(line: str, below: str, between: str = "") -> dict[int, Cells]:
    text = "".join(f"{line.format(i=i)}\n{between}{below.format(x=f'0.{i}5')}\n" for i in range(1, N + 1))
    rows: dict[int, Cells] = {}
    for step, cells in read("console", text).rows:
        rows[step] = rows.get(step, {}) | cells
    return rows


@pytest.mark.parametrize(
    "lead", ["", "[RLOO] ", "trainer: ", "2026-03-01 10:00:00,000 - loop - INFO - ", "INFO:my.loop:", "[main] [RLOO] "]
)
@pytest.mark.parametrize("below", ["reward={x} | kl=0.5", "  reward: {x}, kl: 0.5", "  - reward: {x}\n  - kl: 0.5"])
def test_below_a_lead_that_is_not_repeated(lead: str, below: str) -> None:
    rows = told(lead + "step {i} | loss=0.25 | gain=0.75", below)
    wanted = {"loss": 0.25, "gain": 0.75, "kl": 0.5}
    assert rows == {i: wanted | {"reward": float(f"0.{i}5")} for i in range(1, N + 1)}


def test_words_between_lines_of_one_lead() -> None:
    rows = told("[RLOO] step {i} | loss=0.25 | gain=0.75", "[RLOO]   kl: {x}", between="saved a file\n")
    assert rows == {i: {"loss": 0.25, "gain": 0.75, "kl": float(f"0.{i}5")} for i in range(1, N + 1)}


@pytest.mark.parametrize(
    "below",
    ["copied=3 | files={x}", "reward model took a while, {x} of it", "Downloading: 3, left: 0.5"],
)
def test_lines_of_others_below_it(below: str) -> None:
    rows = told("[RLOO] step {i} | loss=0.25 | gain=0.75", below)
    assert rows == {i: {"loss": 0.25, "gain": 0.75} for i in range(1, N + 1)}


@pytest.mark.parametrize(
    "head", ["Step {i} | Time: 3.5s", "step {i} | loss 0.25 | time 3.5s", "=== Step {i} ===", "Update {i}/40"]
)
@pytest.mark.parametrize(
    ("spread", "names"),
    [
        ("± 0.5", ("std",)),
        ("+/- 0.5", ("std",)),
        ("± 0.5 [min -0.5, max 2.5]", ("std", "min", "max")),
        ("(min -0.5, max 2.5)", ("min", "max")),
        ("(std 0.5)", ("std",)),
        ("(std: 0.5, min: -0.5)", ("std", "min")),
        ("[std=0.5]", ("std",)),
    ],
)
def test_what_numbers_spread_by(head: str, spread: str, names: tuple[str, ...]) -> None:
    rows = told(head, f"  Reward: {{x}} {spread}\n  KL: 0.25 | Entropy: 1.5")
    value = {"std": 0.5, "min": -0.5, "max": 2.5}
    wanted = {"KL": 0.25, "Entropy": 1.5} | {f"Reward {name}": value[name] for name in names}
    for i in range(1, N + 1):
        assert wanted.items() | {("Reward", float(f"0.{i}5"))} <= rows[i].items()
