"""Numbers below a heading: it may name several counts, and lines of anything else may stand between."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.test_opened_and_grown import looked_at

EACH = 8
Block = Callable[[int, int, str], str]

BLOCKS: dict[str, Block] = {
    "two counts": lambda e, s, x: f"Epoch {e}/2 | Batch {s}/{EACH}\n    Loss: 0.5\n    Mean reward: {x}\n\n",
    "two counts and a comma": lambda e, s, x: f"Epoch {e}/2, Step {s}/{EACH}\nLoss: 0.5\nMean reward: {x}\n\n",
    "two counts in brackets": lambda e, s, x: (
        f"=== Epoch {e}/2 (Batch {s}/{EACH}) ===\n  Loss: 0.5\n  Mean reward: {x}\n"
    ),
    "two counts of logging": lambda e, s, x: (
        f"2026-01-02 03:04:05 INFO [Epoch {e}/2] [Batch {s}/{EACH}]\n"
        f"2026-01-02 03:04:05 INFO   Loss: 0.5\n2026-01-02 03:04:05 INFO   Mean reward: {x}\n"
    ),
    "a sample": lambda e, s, x: (
        f"Epoch {e}/2, Step {s}/{EACH}\n"
        f'Generated: "How to bake 3 loaves? Step 1: use 500 g flour, wait 12 min..."\nLoss: 0.5\nMean reward: {x}\n\n'
    ),
    "a count of samples": lambda e, s, x: (
        f"===== Iteration {EACH * e - EACH + s}/100 =====\nRollout: 64 prompts x 8 samples\n"
        f"  Mean reward: {x}\n  Loss: 0.5\n"
    ),
    "words": lambda e, s, x: (
        f"===== Round {EACH * e - EACH + s}/100 =====\nGenerating completions ...\n  Mean reward: {x}\n"
        f"Updating the policy\n  Loss: 0.5\n"
    ),
    "what an answer says": lambda e, s, x: (
        f"===== Iteration {EACH * e - EACH + s}/100 =====\nThe answer is 7 since 3 + 4 = 7.\nx: 3\ny: {s}\n"
        f"  Mean reward: {x}\n  Loss: 0.5\n"
    ),
}
STEPS = [(e, s) for e in (1, 2) for s in range(1, EACH + 1)]


def log(block: Block) -> bytes:
    return "".join(block(e, s, f"0.{10 * e + s}") for e, s in STEPS).encode()


@pytest.mark.parametrize("block", BLOCKS)
def test_the_numbers_are_of_the_step_that_the_heading_names(block: str) -> None:
    found, _ = looked_at([log(BLOCKS[block])])
    expected = {i: {"Loss": 0.5, "Mean reward": float(f"0.{10 * e + s}")} for i, (e, s) in enumerate(STEPS, 1)}
    assert found == expected


@pytest.mark.parametrize("block", BLOCKS)
def test_where_it_was_opened_makes_no_difference(block: str) -> None:
    data = log(BLOCKS[block])[:320]  # some five blocks, of which the first three are learnt from
    whole = looked_at([data])[0]
    wrong = [at for at in cuts(data) if looked_at([data[:at], data[at:]])[0] != whole]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        "Epoch {e}/2 | Batch {s}/8\n",  # nothing below
        "Epoch {e}/2 | Batch {s}/8\nThe reward of patience\n12 of 40 done\n",
        "Chapter {e} | Page {s}\nLoss: 0.5\nMean reward: 0.1\n",
        "Epoch {e}/2, Step {s}/8\nfiles: 3\nlines: 40\n",
    ],
)
def test_other_headings_make_no_rows(line: str) -> None:
    assert looked_at(["".join(line.format(e=e, s=s) for e, s in STEPS).encode()])[0] == {}


@pytest.mark.parametrize("blocks", [2, 3, 4, 5])
def test_the_newest_of_few_blocks_is_read(blocks: int) -> None:
    text = "".join(f"=== Iteration {i} ===\nreturn: {i / 8}\nloss: {i / 16}\n" for i in range(1, blocks + 1))
    found, _ = looked_at([text.encode()])
    assert found == {i: {"return": i / 8, "loss": i / 16} for i in range(1, blocks + 1)}
    grown, _ = looked_at([text.encode(), b"=== Iteration 90 ===\nreturn: 2\nloss: 3\n"])
    assert grown == found | {90: {"return": 2, "loss": 3}}
