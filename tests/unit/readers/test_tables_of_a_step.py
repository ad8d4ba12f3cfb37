"""A small table below the title of each step, and words between the rows of a table over all steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.session.runs import content, opened

STEPS = 30


def _cells(step: int) -> dict[str, float]:
    return {"loss": (150 - step) / 100, "reward": step / 50, "kl": step / 1000}


def _read(tmp_path: Path, lines: list[str]) -> dict[int, dict[str, float]]:
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return content(opened(path))


BOX = """{title}
┏━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━┓
┃    loss ┃  reward ┃      kl ┃
┡━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━┩
│ {loss:>7.4f} │ {reward:>7.4f} │ {kl:>7.5f} │
└─────────┴─────────┴─────────┘"""
PLAIN_BOX = """{title}
┌─────────┬─────────┬─────────┐
│ loss    │ reward  │ kl      │
├─────────┼─────────┼─────────┤
│ {loss:>7.4f} │ {reward:>7.4f} │ {kl:>7.5f} │
└─────────┴─────────┴─────────┘"""
ASCII = """{title}
+---------+---------+---------+
|    loss |  reward |      kl |
+---------+---------+---------+
| {loss:>7.4f} | {reward:>7.4f} | {kl:>7.5f} |
+---------+---------+---------+"""
GAPS = "{title}\n  loss     reward   kl\n  {loss:<7.4f}  {reward:<7.4f}  {kl:<7.5f}\n"


@pytest.mark.parametrize(
    "title", ["           Step {step}           ", "      Iteration {step}/30", "=== step {step} ==="]
)
@pytest.mark.parametrize("table", [BOX, PLAIN_BOX, ASCII, GAPS], ids=["rich", "plain", "ascii", "gaps"])
def test_the_columns_of_a_table_below_a_title_name_its_numbers(tmp_path: Path, table: str, title: str) -> None:
    told = {step: _cells(step) for step in range(1, STEPS + 1)}
    lines = [table.format(title=title.format(step=step), **cells) for step, cells in told.items()]
    assert _read(tmp_path, lines) == told


STATISTICS = """      Step {step}
┏━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━┓
┃ Metric ┃    Mean ┃     Std ┃
┡━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━┩
│ reward │ {reward:>7.4f} │ {kl:>7.5f} │
│ loss   │ {loss:>7.4f} │  0.2500 │
└────────┴─────────┴─────────┘"""


def test_columns_of_statistics_go_with_the_name_of_the_row(tmp_path: Path) -> None:
    lines = [STATISTICS.format(step=step, **_cells(step)) for step in range(1, STEPS + 1)]
    assert _read(tmp_path, lines) == {
        step: {"reward Mean": step / 50, "reward Std": step / 1000, "loss Mean": (150 - step) / 100, "loss Std": 0.25}
        for step in range(1, STEPS + 1)
    }


def test_words_between_the_rows_of_a_table_are_no_row(tmp_path: Path) -> None:
    """As many words as the table has columns, or one more, as with the index that pandas prints."""
    told = {step: _cells(step) for step in range(1, STEPS + 1)}
    lines = ["step    loss      reward    kl"]
    for step, cells in told.items():
        lines.append("{:<8d}{loss:<10.4f}{reward:<10.4f}{kl:<10.5f}".format(step, **cells))
        if step % 10 == 0:
            told[step]["eval/math500 acc"] = step / 100
            lines += [f">>> eval: math500 acc {step / 100}", f"saved checkpoint {step} ok", lines[0]]
    assert {step: set(cells.values()) for step, cells in _read(tmp_path, lines).items()} == {
        step: set(cells.values()) for step, cells in told.items()
    }
    table = tmp_path / "metrics.txt"
    table.write_text("\n".join(line for line in lines if not line.startswith(">>>")) + "\n")
    assert content(opened(table)) == {step: _cells(step) for step in told}
