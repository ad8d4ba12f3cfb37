"""A rate that rises by as much each time is no counter, if a number beside it is called like one."""

from __future__ import annotations

from tests.unit.readers.reading import read

BLOCK = """------------------------
| time/         |       |
|    fps        | {fps} |
|    iterations | {n}   |
| train/        |       |
|    loss       | 0.{n} |
|    approx_kl  | 0.25  |
------------------------
"""


def test_the_iterations_are_counted_not_the_rate() -> None:
    found = read("console", "".join(BLOCK.format(n=n, fps=900 + n) for n in range(10, 40)))
    assert found.steps == list(range(10, 40))
    assert [cells["fps"] for _, cells in found.rows] == [900.0 + n for n in range(10, 40)]
