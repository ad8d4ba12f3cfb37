"""The W&B reader on small files written by the tests."""

from __future__ import annotations

import json
from math import nan

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rltui.readers.base import ConfigRecord, Exit, HardwareRow, LogLine, RunInfo
from rltui.readers.wandb import history as wandb_history
from rltui.readers.wandb.reader import WandbReader
from tests.unit.readers_binary.collect import by_step, others, read, rows
from tests.unit.readers_binary.encode import blocks, field, history, output, summary

Cells = dict[str | tuple[str, ...], str]
TIMER = "profiling/Time taken: GRPOTrainer."


def _read(*records: bytes) -> WandbReader:
    reader = WandbReader()
    reader.result = read(reader, blocks(records)[0])  # type: ignore[attr-defined]
    return reader


def _steps(*records: bytes) -> dict[int, dict[str, float]]:
    return by_step(_read(*records).result)  # type: ignore[attr-defined]


def _many(n: int, start: int = 1) -> list[bytes]:
    return [history(i, {"a": str(i / 10), "b/c": "1e-05", "_step": str(i)}, i) for i in range(start, start + n)]


def test_rows_carry_step_time_and_values_but_not_internal_keys() -> None:
    reader = _read(history(1, {"loss": "0.1", "_timestamp": "1.7e9", "_runtime": "3", "_step": "7"}, 7))
    assert rows(reader.result) == [(7, 1.7e9, {"loss": "0.1"})]  # type: ignore[attr-defined]


@pytest.mark.parametrize("step", [None, 0, 1, 127, 128, 130, 16383, 16384, 2_000_000, 2**33])
def test_the_step_of_the_record_in_every_length(step: int | None) -> None:
    """Step 130 is `08 82 01` on the wire, which looks like the tag of a value."""
    records = [history(i, {"a": "1", "b": "2"}, step) for i in range(6)]
    assert set(_steps(*records)) == {-1 if step is None else step}


def test_the_step_stands_in_the_item_where_the_record_has_none() -> None:
    assert set(_steps(history(1, {"a": "1", "_step": "12"}))) == {12}


def test_not_finite_numbers_are_told_from_missing_ones() -> None:
    words = ["NaN", "Infinity", "-Infinity", '"NaN"', '"Infinity"', '"-Infinity"']
    cells: Cells = {f"k{i}": word for i, word in enumerate(words)} | {"text": '"yes"', "none": "null", "ok": "1"}
    for copies in (1, 9):
        steps = _steps(*[history(i, cells, i) for i in range(copies)])
        for i in range(copies):
            assert steps[i].pop("ok") == 1
            assert steps[i].keys() == {f"k{i}" for i in range(len(words))}
            assert all(value != value for value in steps[i].values())


def test_nested_keys_are_joined_and_media_left_out() -> None:
    cells: Cells = {
        "a": "1",
        ("nested", "x", "y"): "2",
        ("table", "_type"): '"table-file"',
        ("table", "nrows"): "16",
        "picture": '{"_type": "image-file", "width": 3}',
        "object": '{"p": 4, "q": {"r": NaN}}',
    }
    for copies in (1, 9):
        steps = _steps(*[history(i, cells, i) for i in range(copies)])
        assert steps[0].pop("object.q.r") != 0
        assert steps[0] == {"a": 1, "nested.x.y": 2, "object.p": 4}


def test_long_keys_and_values_take_the_slow_way_and_come_out_the_same() -> None:
    long = "k" * 200
    records = [*_many(10), history(11, {long: "1", "a": "5" * 60}, 11), *_many(3, 12)]
    steps = _steps(*records)
    assert steps[11] == {long: 1.0, "a": float("5" * 60)}
    assert steps[14]["a"] == 1.4


def test_keys_that_differ_only_in_the_middle_are_told_apart() -> None:
    keys = [f"val-aux/aime_202{d}/acc/best@16/std" for d in range(10)]
    steps = _steps(*[history(i, {k: str(n) for n, k in enumerate(keys)}, i) for i in range(8)])
    assert steps[3] == {k: float(n) for n, k in enumerate(keys)}


def test_summaries_and_unknown_records_are_passed_over() -> None:
    assert _steps(summary(1, {"a": "9"}), *_many(5), field(1, 9) + field(11, b"\x08\x01"), summary(8, {"a": "9"})) == (
        _steps(*_many(5))
    )


def test_control_fields_before_the_payload() -> None:
    record = field(1, 3) + field(16, field(8, "127.0.0.1:5")) + history(3, {"a": "1"}, 4)[2:]
    assert _steps(record) == {4: {"a": 1}}


# -- which key is the step ---------------------------------------------------------------------------------------------


def test_a_known_step_key_wins_over_the_counter_of_calls() -> None:
    records = [history(i, {"rollout/step": str(10 * i), "x": "1"}, i) for i in range(1, 4)]
    reader = _read(*records, history(4, {"y": "2"}, 4))
    result = reader.result  # type: ignore[attr-defined]
    assert by_step(result) == {10: {"x": 1}, 20: {"x": 1}, 30: {"x": 1, "y": 2}}
    assert RunInfo({"step_key": "rollout/step"}) in result


def test_a_declared_step_metric_wins() -> None:
    metric = field(1, 1) + field(12, field(2, "*") + field(4, "my_step"))
    assert _steps(metric, history(2, {"a": "1"}, 0), history(3, {"a": "2", "my_step": "5"}, 1)) == {
        0: {"a": 1},
        5: {"a": 2},
    }


def test_a_step_metric_of_some_keys_only_changes_nothing() -> None:
    metric = field(1, 1) + field(12, field(2, "eval/*") + field(4, "eval/step"))
    assert _steps(metric, history(2, {"a": "1", "eval/step": "77"}, 3)).keys() == {3}


def _timed(name: str, seconds: float, step: int | None) -> Cells:
    return {TIMER + name: repr(seconds)} | ({} if step is None else {"train/global_step": str(step)})


@pytest.mark.parametrize("synced", [True, False], ids=["with the last step", "without a step"])
def test_timers_go_to_the_next_step_and_are_summed(synced: bool) -> None:
    rows_: list[Cells] = []
    for step in (1, 2, 3, 4):
        before = step - 1 if synced else None
        rows_ += [_timed("compute_loss", 0.25, before), _timed("compute_loss", 0.5, before)]
        rows_ += [_timed("generate", float(step), before)]
        rows_ += [{"train/loss": "0.1", "train/global_step": str(step)}]
    steps = _steps(*[history(i, cells, i) for i, cells in enumerate(rows_)])
    assert steps == {
        s: {"train/loss": 0.1, TIMER + "compute_loss": 0.75, TIMER + "generate": float(s)} for s in (1, 2, 3, 4)
    }


def test_timers_of_a_trainer_that_logs_every_five_steps_are_seconds_a_step() -> None:
    """Resumed at step 100: what lies before the first logged step is known once the second one is."""
    rows_: list[Cells] = []
    for step in (105, 110, 115):
        rows_ += [_timed("generate", 2.0, None)] * 5
        rows_ += [{"train/loss": "0.1", "train/global_step": str(step)}]
    steps = _steps(*[history(i, cells, i) for i, cells in enumerate(rows_)])
    assert steps == {s: {"train/loss": 0.1, TIMER + "generate": 2.0} for s in (105, 110, 115)}


def test_timers_of_an_evaluation_do_not_touch_the_training_step() -> None:
    rows_ = [
        _timed("generate", 1.0, 0), {"train/loss": "1", "train/global_step": "1"},
        _timed("generate", 2.0, 1), {"train/loss": "1", "train/global_step": "2"},
        _timed("generate", 50.0, 2), {"eval/loss": "1", "train/global_step": "2"},
        _timed("generate", 3.0, 2), {"train/loss": "1", "train/global_step": "3"},
    ]  # fmt: skip
    steps = _steps(*[history(i, cells, i) for i, cells in enumerate(rows_)])
    assert [steps[s][TIMER + "generate"] for s in (1, 2, 3)] == [1.0, 2.0, 3.0]


# -- what is not history -----------------------------------------------------------------------------------------------


def test_run_config_stats_and_exit() -> None:
    config = {"_wandb": {}, "trainer": {"lr": 1e-6, "hosts": ["a", "b"]}, "api_key": "abcdefgh1234"}
    items_ = b"".join(field(1, field(1, k) + field(16, json.dumps(v))) for k, v in config.items())
    run = field(1, "id1") + field(3, "proj") + field(4, items_) + field(8, "name1") + field(13, "node7")
    run += field(17, field(1, 1_700_000_000))
    stats = field(2, field(1, 1_700_000_015)) + field(3, field(1, "gpu.0.powerWatts") + field(16, "310.5"))
    environment = field(2, "CPython 3.11") + field(12, "node7") + field(18, "NVIDIA H100") + field(19, 8)
    reader = _read(
        field(1, 1) + field(17, run),
        field(1, 2) + field(26, environment),
        field(1, 3) + field(7, stats),
        field(1, 4) + field(5, field(1, field(1, "late") + field(16, "true"))),
        field(1, 5) + field(18, field(1, 1) + field(2, 60)),
    )
    assert reader.result == [  # type: ignore[attr-defined]
        RunInfo({
            "run_id": "id1", "name": "name1", "project": "proj", "host": "node7", "start_time": "1700000000.0",
        }),
        ConfigRecord({"trainer.lr": 1e-6, "trainer.hosts": ["a", "b"], "api_key": "[redacted]"}, "wandb config"),
        RunInfo({"python": "CPython 3.11", "host": "node7", "gpu": "NVIDIA H100", "gpu_count": "8"}),
        HardwareRow(1_700_000_015.0, {"gpu.0.powerWatts": 310.5}),
        ConfigRecord({"late": True}, "wandb config"),
        Exit(1, 1_700_000_060.0),
    ]  # fmt: skip


def test_captured_console_is_joined_to_lines() -> None:
    reader = _read(output(1, "Loading the model and the data of "), output(2, "this run"), output(3, "\n"))
    lines = [r for r in reader.result if isinstance(r, LogLine)]  # type: ignore[attr-defined]
    assert lines == [LogLine("Loading the model and the data of this run", 0, 1_700_000_000.0)]


def test_every_line_of_a_busy_console_reaches_the_log() -> None:
    records = [output(i, f"line {i}\n", seconds=1_700_000_000 + i // 500) for i in range(1200)]
    lines = [r for r in _read(*records).result if isinstance(r, LogLine)]  # type: ignore[attr-defined]
    assert [line.text for line in lines] == [f"line {i}" for i in range(1200)]
    assert [line.time for line in lines] == [1_700_000_000.0 + i // 500 for i in range(1200)]


VERL_LINES = [f"step:{i} - actor/pg_loss:{i}.5 - critic/score/mean:0.25 - timing_s/step:9.0\n" for i in range(1, 6)]


def test_step_lines_of_the_captured_console_become_rows_where_there_is_no_history() -> None:
    steps = _steps(*[output(i, line) for i, line in enumerate(VERL_LINES)])
    assert [steps[i]["actor/pg_loss"] for i in range(1, 6)] == [1.5, 2.5, 3.5, 4.5, 5.5]


def test_step_lines_of_the_captured_console_are_left_out_where_there_is_history() -> None:
    records = [output(1, VERL_LINES[0])]
    for i, line in enumerate(VERL_LINES[1:], 2):
        records += [history(2 * i, {"actor/pg_loss": "0.125"}, i - 1), output(2 * i + 1, line)]
    assert _steps(*records) == {i: {"actor/pg_loss": 0.125} for i in range(1, 5)}


# -- properties --------------------------------------------------------------------------------------------------------


def _record(number: int, cells: dict[str, str], step: int | None, shape: str) -> bytes:
    if shape == "declares a step key":
        return field(1, number) + field(12, field(2, "*") + field(4, "train/global_step"))
    usual = history(number, cells, step)
    head = len(field(1, number))
    return usual if shape == "usual" else usual[:head] + field(16, field(1, 1)) + usual[head:]


_key = st.sampled_from(["actor/loss", "a", "critic/score/mean", "k" * 130, "_timestamp", "train/global_step", "step"])
_value = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(
        ["NaN", "-Infinity", '"x"', "null", "true", "[1, 2]", "", "1,2", "-", "1]", "{", "0x1", "\x82\x01"]
    ),
)
_shape = st.sampled_from(["usual", "with a field before the payload", "declares a step key"])
_row = st.tuples(
    st.dictionaries(_key, _value, max_size=6), st.one_of(st.none(), st.integers(0, 300), st.integers(0, 2**34)), _shape
)
_records = st.lists(st.one_of(_row, st.binary(max_size=40)), max_size=30).map(
    lambda found: [r if isinstance(r, bytes) else _record(i, *r) for i, r in enumerate(found)]
)


@settings(max_examples=60, deadline=None)
@example([_record(0, {"step": "0.0"}, None, "usual"), _record(1, {}, None, "declares a step key")], [32])
@given(_records, st.lists(st.integers(0, 4000), max_size=12))
def test_any_cutting_gives_the_same(records: list[bytes], cuts: list[int]) -> None:
    data, _ = blocks(records)
    whole, cut = WandbReader(), WandbReader()
    all_at_once, in_pieces = read(whole, data), read(cut, data, cuts)
    assert rows(all_at_once) == rows(in_pieces)
    assert others(all_at_once) == others(in_pieces)
    assert whole.skipped == cut.skipped


@settings(max_examples=60, deadline=None)
@given(_records)
def test_bulk_and_field_by_field_decoding_agree(records: list[bytes]) -> None:
    data, _ = blocks(records)
    bulk = rows(read(WandbReader(), data))
    few, wandb_history.FEW = wandb_history.FEW, 1 << 30
    try:
        assert rows(read(WandbReader(), data)) == bulk
    finally:
        wandb_history.FEW = few


def test_a_key_that_is_seen_once_only_leaves_other_rows_empty() -> None:
    reader = _read(*_many(10), history(11, {"rare": "3"}, 11))
    steps = by_step(reader.result)  # type: ignore[attr-defined]
    assert steps[11] == {"rare": 3.0}
    assert "rare" not in steps[10]
    assert nan not in steps[10].values()
