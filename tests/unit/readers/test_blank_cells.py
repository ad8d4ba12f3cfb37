"""A table whose columns only blanks set apart, of which some cells are blank: no row is lost, and each number is in its
own column."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.readers.base import Rows
from rltui.readers.csv_file import CsvReader
from tests.unit.session.runs import content, opened

LAST = 40
FORMS = {
    "right": ("{:>6}{:>10}{:>10}{:>10}{:>10}", " {:>5}"),
    "left": ("{:<6}{:<10}{:<10}{:<10}{:<10}", "{:<6}"),
    "wide": ("{:>8}  {:>12}  {:>12}  {:>12}  {:>12}", "{:>8}"),
}
NAMES = ("step", "reward", "val", "kl", "loss")


def cells(step: int) -> tuple[float | None, ...]:
    """The numbers of a row: the reward and the validation are not always there."""
    reward = None if step % 7 == 3 else (step + 1) / 64
    return reward, step / 128 if step % 10 == 0 else None, step / 1024, -step / 256


def table(form: str, names: tuple[str, ...] = NAMES, above: str = "") -> str:
    rows = [[str(step), *("" if x is None else f"{x:.5f}" for x in cells(step))] for step in range(1, LAST + 1)]
    return above + "".join(form.format(*row).rstrip() + "\n" for row in (names, *rows))


def told(path: Path) -> dict[int, dict[str, float]]:
    return content(opened(path))


def expected(names: tuple[str, ...] = NAMES) -> dict[int, dict[str, float]]:
    return {
        step: {name: round(x, 5) for name, x in zip(names[1:], cells(step), strict=True) if x is not None}
        for step in range(1, LAST + 1)
    }


@pytest.mark.parametrize("name", ["metrics.txt", "train.log"])
@pytest.mark.parametrize("form", FORMS)
def test_each_number_is_in_its_column(form: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(table(FORMS[form][0]))
    assert told(path) == expected()


@pytest.mark.parametrize("form", FORMS)
def test_also_below_other_lines(form: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(table(FORMS[form][0], above="Loading the model\nTraining begins\n"))
    assert told(path) == expected()


def test_names_of_two_words(tmp_path: Path) -> None:
    names = ("step", "reward", "val acc", "kl", "loss")
    path = tmp_path / "train.log"
    path.write_text(table(FORMS["wide"][0], names))
    assert {step: set(row) for step, row in told(path).items()} == {s: set(r) for s, r in expected(names).items()}


def test_the_last_cells_behind_single_blanks(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    rows = "".join(f"{i} {i / 64} {i / 128}{f' {i / 256}' if i % 10 == 0 else ''}\n" for i in range(1, LAST + 1))
    path.write_text("step reward kl val\n" + rows)
    found = told(path)
    assert sorted(found) == list(range(1, LAST + 1))
    assert [step for step, row in found.items() if "val" in row] == [10, 20, 30, 40]


def test_rows_that_only_a_full_one_can_place_wait_for_it(tmp_path: Path) -> None:
    rows = "".join(f"{i:>6}  {i / 64:.5f}  {f'{i / 128:.4f}' if i % 2 == 0 else ''}\n" for i in range(1, LAST + 1))
    path = tmp_path / "metrics.txt"
    path.write_text("  step   reward  val\n" + rows)
    found = told(path)
    assert sorted(found) == list(range(1, LAST + 1))
    assert found[3] == {"reward": round(3 / 64, 5)}


def test_a_row_whose_places_tell_nothing_is_counted() -> None:
    reader = CsvReader()
    text = table(FORMS["right"][0]) + "    41 0.5\n"
    rows = [step for record in reader.feed(text.encode()) if isinstance(record, Rows) for step in record.steps]
    assert rows == list(range(1, LAST + 1))
    assert reader.skipped == {"row with another number of cells than the header": 1}


def test_what_pandas_prints_below_a_table_is_no_row(tmp_path: Path) -> None:
    rows = "".join(f"{i - 1:<4}{i:>6}{i / 64:>10.5f}{i / 128:>10.5f}\n" for i in range(1, 9))
    path = tmp_path / "metrics.txt"
    path.write_text(
        f"{'':4}{'step':>6}{'reward':>10}{'kl':>10}\n{rows}..     ...       ...       ...\n\n[60 rows x 3 columns]\n"
    )
    assert sorted(told(path)) == list(range(1, 9))
