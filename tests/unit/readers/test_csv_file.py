from __future__ import annotations

from math import isnan
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.readers.base import NO_STEP, Note, Rows
from rltui.readers.csv_file import UNTOLD, CsvReader
from rltui.readers.formats import make
from rltui.readers.sniff import sniff
from tests.unit.readers.reading import read
from tests.unit.readers_binary.collect import by_step
from tests.unit.readers_binary.collect import read as collected
from tests.unit.session.runs import content, opened


def test_sparse_columns_of_lightning() -> None:
    found = read("csv", "epoch,step,train_loss,val_loss\n0,9,0.5,\n0,9,,0.4\n1,19,nan,\n")
    assert found.rows == [
        (9, {"epoch": 0.0, "train_loss": 0.5}),
        (9, {"epoch": 0.0, "val_loss": 0.4}),
        (19, {"epoch": 1.0, "train_loss": None}),
    ]


def test_parsed_log_and_separators() -> None:
    for separator in ",;\t":
        text = "parsed_index,step,actor/kl_loss,note\r\n0,5,0.25,hello\r\n1,6,-inf,\r\n".replace(",", separator)
        assert read("csv", text).rows == [(5, {"actor/kl_loss": 0.25}), (6, {"actor/kl_loss": None})]


def test_exports_of_wandb_and_tensorboard() -> None:
    found = read("csv", '"Step","run-1 - reward","run-1 - reward__MIN","run-1 - reward__MAX"\n"1","0.5","0.1","0.9"\n')
    assert found.rows == [(1, {"reward": 0.5})]
    found = read("csv", "Wall time,Step,Value\n1750000000.5,10,0.25\n")
    assert found.rows == [(10, {"Value": 0.25})]
    assert found.times == [1750000000.5]


def test_no_step_column_and_bad_rows() -> None:
    found = read("csv", "\ufeffloss,kl\n1,2\n1,2,3\n\n3,x\n4")
    assert found.rows == [(NO_STEP, {"loss": 1.0, "kl": 2.0}), (NO_STEP, {"loss": 3.0})]
    assert found.reader.skipped == {"row with another number of cells than the header": 1}
    assert found.reader.skipped_at["row with another number of cells than the header"] == "line 3"
    assert all(isnan(time) for time in found.times)


def test_decimal_commas_of_a_german_excel() -> None:
    text = "sep=;\r\n\ufeffStep;run, seed 1 - reward;kl;tokens\r\n1;0,512;1,2E-03;1.234\r\n2;12,345;-,5;1.234.567,5\r\n"
    assert sniff(text.encode(), "export.csv") == "csv"
    assert read("csv", text).rows == [
        (1, {"reward": 0.512, "kl": 0.0012, "tokens": 1234.0}),
        (2, {"reward": 12.345, "kl": -0.5, "tokens": 1234567.5}),
    ]
    quoted = 'step,reward\n1,"0,25"\n1000,"1,5"\n'
    assert read("csv", quoted).rows == [(1, {"reward": 0.25}), (1000, {"reward": 1.5})]


def test_commas_between_thousands_are_no_decimal_commas() -> None:
    for text in (
        "step;tokens;kl\n1;1,234;0.5\n2;2,345,678.5;1.234\n",
        'step,tokens,kl\n1,"1,234",.5\n2,"2,345,678.5",1.234\n',
    ):
        assert sniff(text.encode(), "x.csv") == "csv"
        assert read("csv", text).rows == [(1, {"tokens": 1234.0, "kl": 0.5}), (2, {"tokens": 2345678.5, "kl": 1.234})]


def test_a_comma_waits_for_the_number_that_tells_what_it_is() -> None:
    text = "step;a\n1;12,345\n2;7,512\n3;%s\n"
    assert read("csv", text % "0,5").rows == [(1, {"a": 12.345}), (2, {"a": 7.512}), (3, {"a": 0.5})]
    assert read("csv", text % "0.5").rows == [(1, {"a": 12345.0}), (2, {"a": 7512.0}), (3, {"a": 0.5})]
    untold = read("csv", text % "4")
    assert untold.rows == [(1, {}), (2, {}), (3, {"a": 4.0})]  # rather nothing than a thousandth
    assert (untold.reader.skipped, untold.reader.skipped_at) == ({UNTOLD: 2}, {UNTOLD: "line 2"})
    mixed = read("csv", "step;a;b\n1;0,5;0.5\n2;1,234;1.234\n")
    assert mixed.rows == [(1, {"a": 0.5, "b": 0.5}), (2, {"b": 1.234})]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30), st.sampled_from([".6f", ".3f", ".1f", ".4e", ""]))
def test_a_number_is_never_another_one(values: list[float], how: str) -> None:
    """Written with either mark, with or without marks between thousands: read as it is, or not at all."""
    english = [format(v, how if how.endswith("e") else f",{how}") for v in values]
    swap = str.maketrans(",.", ".,")
    for texts in (english, [t.replace(",", "") for t in english], [t.translate(swap) for t in english]):
        lines = "".join(f"{i};{text}\n" for i, text in enumerate(texts))
        for row, text in zip(read("csv", "step;a\n" + lines).rows, english, strict=True):
            if "a" in row[1]:
                assert row[1]["a"] == float(text.replace(",", ""))


def test_an_unterminated_last_row_counts_once() -> None:
    found = read("csv", "step,a\n1,2\n2,3")
    assert found.steps == [1, 2]
    found.take(found.reader.feed(b"\n3,4\n"))
    assert found.steps == [1, 2, 3]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["1,2,3", "2,,0.5", "x", "", "3,nan,1e-3", '4,"a,b",1', '5,"un,2']), max_size=10),
    st.lists(st.integers(1, 20), max_size=20),
)
def test_the_same_however_it_is_cut(lines: list[str], sizes: list[int]) -> None:
    data = "step,a,b\n" + "".join(line + "\n" for line in lines)
    assert read("csv", data, sizes).rows == read("csv", data).rows


def test_tensorboard_export_is_named_by_its_file() -> None:
    text = b"Wall time,Step,Value\n1700000000.5,1,0.25\n1700000001.5,2,NaN\n"
    for name, key in (
        ("run-.-tag-train_loss.csv", "train_loss"),
        ("run-exp_1-tag-kl.csv", "kl"),
        ("reward (1).csv", "reward"),
        ("reward.csv.gz", "reward"),
    ):
        records = collected(make("csv", name), text)
        assert {s: {k: repr(v) for k, v in c.items()} for s, c in by_step(records).items()} == {
            1: {key: "0.25"},
            2: {key: "nan"},
        }


def test_wandb_export() -> None:
    text = b'"Step","brave-sun-1 - train/loss","brave-sun-1 - train/loss__MIN","brave-sun-1 - train/loss__MAX"\n'
    text += b'"1","0.5","0.4","0.6"\n'
    assert by_step(collected(make("csv", "wandb_export_2026-01-01.csv"), text)) == {1: {"train/loss": 0.5}}


def test_wandb_export_of_several_runs_keeps_them_apart() -> None:
    text = b'"train/global_step","a - loss","a - loss__MIN","b - loss","b - loss__MAX"\n'
    text += b'"1","0.5","0.4","","0.6"\n"2","","","0.25",""\n'
    assert by_step(collected(make("csv"), text)) == {1: {"a - loss": 0.5}, 2: {"b - loss": 0.25}}


def test_lightning_rows_of_one_step() -> None:
    text = b"epoch,lr,step,train_loss,val_loss\n0,0.1,9,0.5,\n0,,9,,0.75\n1,0.1,19,0.25,\n"
    assert by_step(collected(make("csv", "metrics.csv"), text)) == {
        9: {"epoch": 0.0, "lr": 0.1, "train_loss": 0.5, "val_loss": 0.75},
        19: {"epoch": 1.0, "lr": 0.1, "train_loss": 0.25},
    }


@pytest.mark.parametrize("key", ["total_steps", "total_iterations", "max_steps"])
@pytest.mark.parametrize("rows", [40, 4000])
def test_a_column_with_the_planned_steps_is_the_plan(key: str, rows: int) -> None:
    reader = CsvReader()
    text = f"step,reward,loss,{key}\n" + "".join(f"{n},0.{n % 10},0.5,5000\n" for n in range(1, rows + 1))
    records = [*reader.feed(text.encode()), *reader.finish()]
    plans = [(record.step, record.total) for record in records if isinstance(record, Note)]
    assert plans[-1] == (rows, 5000)
    assert {key for record in records if isinstance(record, Rows) for key in record.values} == {"reward", "loss"}


@pytest.mark.parametrize("mark", ["|", ","])
def test_tables_whose_columns_are_the_next_steps(mark: str, tmp_path: Path) -> None:
    """A table of the newest five steps now and then; the last one is shorter."""
    lines = []
    for first in range(1, 24, 5):
        steps = range(first, min(first + 5, 24))
        rows = [
            ["metric", *(f"step {s}" for s in steps)],
            ["reward", *(f"{0.2 + s / 100:.2f}" for s in steps)],
            ["kl", *(f"{s / 1000:.3f}" for s in steps)],
        ]
        lines += [f"{mark} {f' {mark} '.join(row)} {mark}" if mark == "|" else mark.join(row) for row in rows]
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    expected = {s: {"reward": round(0.2 + s / 100, 2), "kl": round(s / 1000, 3)} for s in range(1, 24)}
    assert content(opened(path)) == expected
