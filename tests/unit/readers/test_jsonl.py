from __future__ import annotations

import json
from datetime import datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rltui.readers.base import NO_STEP
from rltui.readers.keys import COUNTED
from rltui.readers.rows import MAX_KEYS, TOO_MANY
from tests.unit.readers.reading import read


def test_verl_file_logger() -> None:
    found = read(
        "jsonl",
        '{"step":0,"data":{"val-core/x/acc/mean@1":0.25}}\n'
        '{"step":1,"data":{"actor/kl_loss":0.5,"actor/lr":1e-06,"training/global_step":1,"text":"x","on":true}}\n'
        '{"step":2,"data":{"actor/kl_loss":NaN,"actor/lr":-Infinity,"training/global_step":2,"text":null,"on":false}}\n'
        '{"step":3,"data":{"actor/kl_loss":null,"actor/lr":"0.0316","training/global_step":3,"text":"NaN","on":1}}\n',
    )
    assert found.rows == [
        (0, {"val-core/x/acc/mean@1": 0.25}),
        (1, {"actor/kl_loss": 0.5, "actor/lr": 1e-06, "training/global_step": 1.0}),
        (2, {"actor/kl_loss": None, "actor/lr": None, "training/global_step": 2.0}),
        (3, {"actor/lr": 0.0316, "training/global_step": 3.0, "text": None, "on": 1.0}),
    ]
    assert not found.reader.skipped


@pytest.mark.parametrize(
    ("row", "step"),
    [
        ({"step": 3, "loss": 0.5}, 3),
        ({"loss": 0.5, "train/global_step": 7}, 7),
        ({"loss": 0.5, "global_step": 7.0, "epoch": 0.1}, 7),
        ({"iteration": 2, "loss": 0.5}, 2),
        ({"training_step": 9, "global_step": 4608, "loss": 0.5}, 4608),
        ({"_step": 1, "loss": 0.5}, 1),
        ({"loss": 0.5}, NO_STEP),
        ({"step": -1, "loss": 0.5}, NO_STEP),
        ({"step": None, "loss": 0.5}, NO_STEP),
        ({"step": 10**30, "loss": 0.5}, NO_STEP),
    ],
)
def test_where_the_step_stands(row: dict[str, object], step: int) -> None:
    found = read("jsonl", json.dumps(row) + "\n")
    assert found.steps == [step]
    assert found.rows[0][1]["loss"] == 0.5
    assert "step" not in found.rows[0][1]


def test_planned_steps_of_swift_and_llama_factory() -> None:
    found = read("jsonl", '{"loss": 0.5, "global_step/max_steps": "3/100", "elapsed_time": "1m 2s"}\n')
    assert found.rows == [(3, {"loss": 0.5, "elapsed_time": 62.0})]
    assert [(n.kind, n.step, n.total) for n in found.notes] == [("progress", 3, 100)]
    found = read(
        "jsonl",
        '{"current_steps": 5, "total_steps": 40, "loss": 0.5}\n{"current_steps": 6, "total_steps": 40, "loss": 0.4}\n',
    )
    assert found.rows == [(5, {"loss": 0.5}), (6, {"loss": 0.4})]
    assert [(n.step, n.total) for n in found.notes] == [(6, 40)]


def test_times() -> None:
    iso = "2026-11-20T23:34:34+00:00"
    rows: list[dict[str, object]] = [
        {"step": 1, "time": 1750000000.5},
        {"step": 2, "timestamp": 1750000000500},
        {"step": 3, "timestamp": iso},
    ]
    found = read("jsonl", "".join(json.dumps({**row, "loss": 1}) + "\n" for row in rows))
    assert found.times == [1750000000.5, 1750000000.5, datetime.fromisoformat(iso).timestamp()]
    assert all(set(cells) == {"loss"} for _, cells in found.rows)
    duration = read("jsonl", '{"step": 1, "time": 12.5}\n')
    assert duration.rows == [(1, {"time": 12.5})]


def test_nested_cells_and_config_rows() -> None:
    found = read(
        "jsonl",
        '{"type": "meta", "config": {"model": {"name": "x"}, "hf_token": "abcdefghijklmnopqrstuv0123456789ab"}}\n'
        '{"step": 1, "reward": {"mean": 0.5, "parts": {"format": 1}}, "kl": 0.1}\n',
    )
    assert found.configs[0].values["config.model.name"] == "x"
    assert found.configs[0].values["config.hf_token"] == "[redacted]"
    assert found.rows == [(1, {"reward/mean": 0.5, "reward/parts/format": 1.0, "kl": 0.1})]


def test_bad_lines_are_counted_and_cost_no_row() -> None:
    found = read("jsonl", '{"step": 1, "a": 1}\n{"step": 2, "a":\n[1]\n\n{"step": 3, "a": 3}\n{"step": 4, "a')
    assert found.steps == [1, 3]
    assert found.reader.skipped == {"line that is not JSON": 1, "line that is not a JSON object": 1}
    assert found.reader.skipped_at["line that is not JSON"] == "line 2"


def test_an_unterminated_last_line_counts_once() -> None:
    found = read("jsonl", '{"step": 1, "a": 1}\n{"step": 2, "a": 2}')
    assert found.steps == [1, 2]
    found.take(found.reader.feed(b'\n{"step": 3, "a": 3}\n'))
    found.take(found.reader.finish())
    assert found.steps == [1, 2, 3]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["NaN", "0.5", "1e-3"]),
    st.dictionaries(st.sampled_from(["x", "y"]), st.one_of(st.floats(), st.none()), max_size=2),
    st.lists(st.integers(), max_size=2),
)
CELLS = st.dictionaries(st.sampled_from(["a", "b/c", "step", "data", "time", "é", "loss"]), VALUES, max_size=5)
ROWS = st.one_of(
    CELLS.map(json.dumps),
    st.tuples(st.integers(0, 99), CELLS).map(lambda row: json.dumps({"step": row[0], "data": row[1]})),
    st.tuples(st.integers(0, 99), st.floats(-9, 9)).map(
        lambda row: json.dumps({"step": row[0], "data": {"a": row[1]}})
    ),
    st.sampled_from(["", "{", "[]", "nul", '{"a": 1}{"a": 2}', "\x00"]),
)


@settings(max_examples=200, deadline=None)
@example(['{"step": null, "time": null}', '{"a": null, "step": null, "time": 100000001.0}'], [29])
@example(['{"step": 0, "data": {"a": 1.7e308}}', '{"step": 0, "data": {"a": 1.5e308}}'], [])
@given(st.lists(ROWS, max_size=12), st.lists(st.integers(1, 60), max_size=20))
def test_the_same_however_it_is_cut(lines: list[str], sizes: list[int]) -> None:
    data = "".join(line + "\n" for line in lines)
    whole, pieces = read("jsonl", data), read("jsonl", data, sizes)
    assert pieces.rows == whole.rows
    assert pieces.reader.skipped == whole.reader.skipped
    assert [c.values for c in pieces.configs] == [c.values for c in whole.configs]


def test_the_mean_of_values_whose_sum_is_past_the_largest_float() -> None:
    found = read("jsonl", '{"step": 3, "a": 1.5e308}\n{"step": 3, "a": 1.7e308}\n{"step": 3, "a": 1.6e308}\n')
    assert found.rows[-1][1]["a"] == pytest.approx(1.6e308)


def test_an_integer_of_any_length_is_a_number_that_is_not_finite() -> None:
    found = read("jsonl", f'{{"step": 1, "a": {"9" * 5000}, "b": 1}}\n{{"step": 2, "a": -{"9" * 400}, "b": 2}}\n')
    assert found.rows == [(1, {"a": None, "b": 1.0}), (2, {"a": None, "b": 2.0})]
    assert not found.reader.skipped


def test_metrics_beyond_the_first_so_many_are_counted() -> None:
    row = ", ".join(f'"m/{i}": {i}' for i in range(6000))
    found = read("jsonl", "".join(f'{{"step": {s}, {row}}}\n' for s in range(3)))
    assert [len(cells) for _, cells in found.rows] == [MAX_KEYS - 1] * 3  # the step is one
    assert found.reader.skipped == {TOO_MANY: 1001}
    assert found.reader.skipped_at == {TOO_MANY: "m/4999"}


def test_steps_that_are_no_steps() -> None:
    """An epoch under the name of the step: all rows are counted, none hides another."""
    for format, text in (
        ("jsonl", "".join(f'{{"step": {s / 2}, "a": {s}}}\n' for s in range(2, 9))),
        ("csv", "step,a\n" + "".join(f"{s / 2},{s}\n" for s in range(2, 9))),
    ):
        for sizes in ((), (40, 30, 20)):
            found = read(format, text, sizes)
            assert found.rows == [(1, {"a": 2.0}), *((NO_STEP, {"a": float(s)}) for s in range(3, 9))]
            assert found.reader.skipped == {COUNTED: 6}
    for odd in ("-1", f"1{'0' * 30}"):
        found = read("jsonl", f'{{"step": {odd}, "a": 1}}\n{{"step": 7, "a": 2}}\n{{"step": null, "a": 3}}\n')
        assert found.steps == [NO_STEP, 7, NO_STEP]
        assert (found.reader.skipped, found.reader.skipped_at) == ({COUNTED: 1}, {COUNTED: "line 1"})
