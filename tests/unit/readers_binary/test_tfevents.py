"""The TensorBoard reader on small files written by the tests."""

from __future__ import annotations

import json
import struct
from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.readers.base import ConfigRecord
from rltui.readers.tensorboard import events as tfevents
from rltui.readers.tensorboard.events import TfeventsReader, shortest
from rltui.readers.tensorboard.records import RecordLog, masked_crc32c, masked_crc32cs
from tests.unit.readers_binary.collect import Steps, by_step, others, read, rows
from tests.unit.readers_binary.encode import event, field, plugin, simple, tfrecords, varint


def _steps(*events: bytes) -> Steps:
    return by_step(read(TfeventsReader(), tfrecords(events)[0]))


def _loop(steps: range, tags: int = 5) -> list[bytes]:
    """What a trainer writes: a scalar for each tag and step."""
    return [event(s, simple(f"train/metric{t}", s + t / 8), wall=1.7e9 + s) for s in steps for t in range(tags)]


def test_checksum_is_the_published_one() -> None:
    """The check value of CRC-32C is 0xE3069283 (for "123456789")."""
    crc = 0xE3069283
    assert masked_crc32c(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@given(st.lists(st.binary(min_size=8, max_size=90), max_size=30))
def test_checksums_of_many_are_those_of_each(pieces: list[bytes]) -> None:
    lengths = np.array([len(piece) for piece in pieces], dtype=np.int64)
    ends = np.cumsum(lengths)
    joined = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    assert masked_crc32cs(joined, ends - lengths, lengths).tolist() == [masked_crc32c(piece) for piece in pieces]


@pytest.mark.parametrize("copies", [1, 20])
def test_a_number_that_the_disk_turned_over_is_left_out_and_counted(copies: int) -> None:
    data = bytearray(tfrecords(_loop(range(copies)))[0])
    at = data.rindex(b"train/metric4") + len(b"train/metric4") + 2  # in the value
    data[at] ^= 1
    reader = TfeventsReader()
    steps = by_step(read(reader, bytes(data)))
    assert steps[copies - 1] == {f"train/metric{t}": copies - 1 + t / 8 for t in range(4)}
    assert sum(map(len, steps.values())) == 5 * copies - 1
    assert reader.skipped == {"damaged record": 1}
    assert reader.skipped_at["damaged record"].startswith("byte ")


@pytest.mark.parametrize("copies", [1, 20])
def test_one_row_for_each_step(copies: int) -> None:
    records = read(TfeventsReader(), tfrecords(_loop(range(copies)))[0])
    assert [row[:2] for row in rows(records)] == [(s, 1.7e9 + s) for s in range(copies)]
    assert by_step(records)[0] == {f"train/metric{t}": t / 8 for t in range(5)}


def test_steps_beyond_every_length_of_a_varint() -> None:
    wanted = [0, 1, 127, 128, 16383, 16384, 2**21, 2**28, 2**35, 2**40, -1]
    assert sorted(_steps(*[event(s, simple("a", 1)) for s in wanted])) == sorted(wanted)


def test_values_that_are_not_finite_are_kept_as_such() -> None:
    for copies in (1, 20):
        steps = _steps(*[
            event(s, simple("bad", bad), simple("ok", 0.0)) for s in range(copies) for bad in (float("nan"),)
        ])  # fmt: skip
        assert steps.keys() == set(range(copies))
        assert all(isnan(cells["bad"]) and cells["ok"] == 0.0 for cells in steps.values())


def test_inf_in_bulk() -> None:
    assert all(isnan(c["a"]) for c in _steps(*[event(s, simple("a", float("-inf"))) for s in range(30)]).values())


def test_float32_values_are_the_decimals_that_were_logged() -> None:
    logged = [0.1, 2e-4, 1e-6, 0.3, 123.456, 1e-20, 3.0e25, -0.07]
    for copies in (1, 4):
        events = [event(s * len(logged) + i, simple("a", v)) for s in range(copies) for i, v in enumerate(logged)]
        assert [c["a"] for _, c in sorted(_steps(*events).items())] == logged * copies


def _tensor(dtype: int, number: int, payload: bytes | int) -> bytes:
    return field(8, field(1, dtype) + field(number, payload))


def test_scalars_in_tensors() -> None:
    values = {
        "float_content": _tensor(1, 4, struct.pack("<f", 0.1)),
        "double_content": _tensor(2, 4, struct.pack("<d", 0.2)),
        "half_content": _tensor(19, 4, struct.pack("<e", 0.5)),
        "int64_content": _tensor(9, 4, struct.pack("<q", -7)),
        "float_packed": _tensor(1, 5, struct.pack("<f", 0.3)),
        "float_single": field(8, field(1, 1) + varint(5 << 3 | 5) + struct.pack("<f", 0.4)),
        "double_packed": _tensor(2, 6, struct.pack("<d", 0.6)),
        "half_packed": _tensor(19, 13, varint(0x3C00)),
        "int_value": _tensor(3, 7, 42),
    }
    more = {"matrix": _tensor(1, 4, struct.pack("<ff", 1, 2)), "text": _tensor(7, 8, b"words")}
    items = [field(1, tag) + tensor + plugin("scalars") for tag, tensor in (values | more).items()]
    other = field(1, "histogram") + _tensor(1, 4, struct.pack("<f", 1)) + plugin("histograms")
    assert _steps(event(3, *items, other)) == {
        3: {
            "float_content": 0.1, "double_content": 0.2, "half_content": 0.5, "int64_content": -7.0,
            "float_packed": 0.3, "float_single": 0.4, "double_packed": 0.6, "half_packed": 1.0, "int_value": 42.0,
        }
    }  # fmt: skip


def _text(tag: str, text: str) -> bytes:
    return event(0, field(1, f"{tag}/text_summary") + field(8, field(1, 7) + field(8, text)) + plugin("text"))


def test_config_in_text_tags_and_hparams() -> None:
    entry = field(1, "lr") + field(2, field(2, 1e-6))
    hparams = field(1, field(1, "model") + field(2, field(3, "qwen"))) + field(1, entry)
    start = field(1, "_hparams_/session_start_info") + plugin("hparams", field(3, hparams))
    records = read(
        TfeventsReader(),
        tfrecords([
            _text("args", json.dumps({"beta": 0.04, "hub_token": "hf_abcdefghijklmnop"})),
            _text("model_config", json.dumps({"hidden": {"size": 64}})),
            _text("sample", "not JSON"),
            event(0, start),
        ])[0],
    )  # fmt: skip
    assert records == [
        ConfigRecord({"beta": 0.04, "hub_token": "[redacted]"}, "TensorBoard text tag args"),
        ConfigRecord({"model_config.hidden.size": 64}, "TensorBoard text tag model_config"),
        ConfigRecord({"model": "qwen", "lr": 1e-6}, "TensorBoard HParams"),
    ]


def test_a_changed_cycle_loses_nothing() -> None:
    """Every tenth step logs two tags more; the length of the step number changes at 128."""
    events = []
    for s in range(400):
        events += _loop(range(s, s + 1), tags=7)
        if s % 10 == 0:
            events += [event(s, simple("eval/a", s)), event(s, simple("eval/with/longer/name", s))]
    steps = _steps(*events)
    assert len(steps) == 400
    assert all(len(cells) == (9 if s % 10 == 0 else 7) for s, cells in steps.items())
    assert all(cells["train/metric3"] == s + 3 / 8 for s, cells in steps.items())


def test_damage_in_a_header_costs_that_record_only() -> None:
    events = _loop(range(200))
    data, ends = tfrecords(events)
    for victim in (0, 7, 600, 999):
        begin = ends[victim - 1] if victim else 0
        reader = TfeventsReader()
        broken = bytearray(data)
        broken[begin + 9] ^= 0xFF
        steps = by_step(read(reader, bytes(broken)))
        assert sum(map(len, steps.values())) == len(events) - 1
        assert reader.skipped == {"damaged record": 1}
        assert reader.skipped_at == {"damaged record": f"byte {begin}"}


# -- properties --------------------------------------------------------------------------------------------------------

_tag = st.sampled_from(["train/loss", "a", "train/reward", "t" * 130, "timing_s/step"])
_value = st.floats(width=32)
_scalar = st.tuples(st.integers(0, 400), st.lists(st.tuples(_tag, _value), min_size=1, max_size=3)).map(
    lambda found: event(found[0], *[simple(tag, value) for tag, value in found[1]])
)
_file = st.lists(st.one_of(_scalar, _scalar, st.binary(max_size=30)), max_size=40)


@settings(max_examples=60, deadline=None)
@given(_file, st.lists(st.integers(0, 4000), max_size=12))
def test_any_cutting_gives_the_same(events: list[bytes], cuts: list[int]) -> None:
    data, _ = tfrecords(events)
    whole, cut = TfeventsReader(), TfeventsReader()
    at_once, in_pieces = read(whole, data), read(cut, data, cuts)
    assert rows(at_once) == rows(in_pieces)
    assert others(at_once) == others(in_pieces)
    assert whole.skipped == cut.skipped
    assert whole.skipped_at == cut.skipped_at


@settings(max_examples=60, deadline=None)
@given(_file)
def test_bulk_and_one_by_one_decoding_agree(events: list[bytes]) -> None:
    data, _ = tfrecords(events)
    bulk = rows(read(TfeventsReader(), data))
    few, tfevents.FEW = tfevents.FEW, 1 << 30
    try:
        assert rows(read(TfeventsReader(), data)) == bulk
    finally:
        tfevents.FEW = few


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=9), st.integers(30, 200), st.integers(50, 5000))
def test_framing_finds_every_record_whatever_its_cycle(cycle: list[int], repeats: int, cut: int) -> None:
    records = [bytes([9]) * n for n in cycle] * repeats + [b"x" * 33] + [bytes([9]) * n for n in cycle] * repeats
    data, _ = tfrecords(records)
    log = RecordLog()
    found = []
    for begin in range(0, len(data), cut):
        buffer, starts, lengths = log.feed(data[begin : begin + cut])
        found += [buffer[s : s + n] for s, n in zip(starts.tolist(), lengths.tolist(), strict=True)]
    assert found == records
    assert not log.skipped


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=50))
def test_shortest_decimal_is_the_one_that_numpy_prints(values: list[float]) -> None:
    singles = np.array(values, dtype=np.float32)
    assert shortest(singles).tolist() == [float(str(v)) for v in singles]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9_999_999), st.integers(-18, 12)), min_size=1, max_size=50))
def test_a_decimal_of_seven_digits_or_fewer_survives_float32(parts: list[tuple[int, int]]) -> None:
    decimals = [float(f"{digits}e{exponent}") for digits, exponent in parts]
    singles = np.array(decimals, dtype=np.float32)
    assert shortest(singles).tolist() == [float(str(v)) for v in singles]
