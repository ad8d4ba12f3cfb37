"""Truncated and damaged binary files: no exception, and nothing before the damage is lost."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from rltui.readers.tensorboard.events import TfeventsReader
from rltui.readers.wandb.blocks import BlockLog
from rltui.readers.wandb.reader import WandbReader
from tests.unit.readers_binary.collect import read, rows
from tests.unit.readers_binary.encode import BLOCK, blocks, event, field, history, output, simple, summary, tfrecords


def _wandb_file(steps: int) -> tuple[bytes, list[int]]:
    """A log, and where the history record of each row ends."""
    config = field(1, field(1, "trainer") + field(16, '{"lr": 0.1}'))
    records = [field(1, 1) + field(17, field(1, "id") + field(4, config))]
    at = []
    for i in range(steps):
        at.append(len(records))
        cells = {"train/loss": str(i / 7), "timing_s/step": "12.5", ("nested", "x"): "3", "_step": str(i)}
        records += [history(3 * i, cells, i), summary(3 * i + 1, cells), output(3 * i + 2, f"step {i}\n")]
    records.append(field(1, 9) + field(18, field(2, 60)))
    data, ends = blocks(records)
    return data, [ends[i] for i in at]


def _tf_file(steps: int) -> tuple[bytes, list[int]]:
    events = [event(s, simple("a", s / 8), simple("b/c", 0.1)) for s in range(steps)]
    return tfrecords(events)


Case = tuple[type[WandbReader] | type[TfeventsReader], bytes, list[int]]
CASES: list[Case] = [(WandbReader, *_wandb_file(2)), (TfeventsReader, *_tf_file(5))]
IDS = ["wandb", "tfevents"]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "data", "ends"), CASES, ids=IDS)
def test_truncated_at_every_length(
    kind: type[WandbReader] | type[TfeventsReader], data: bytes, ends: list[int]
) -> None:
    full = rows(read(kind(), data))
    assert len(full) == len(ends)
    for length in range(len(data)):
        reader = kind()
        assert rows(read(reader, data[:length])) == full[: sum(end <= length for end in ends)]
        assert not reader.skipped or length < 7
        assert rows([*read(reader, data[length:])]) == full[sum(end <= length for end in ends) :]


@pytest.mark.parametrize(("kind", "data", "ends"), CASES, ids=IDS)
def test_a_changed_byte_anywhere(kind: type[WandbReader] | type[TfeventsReader], data: bytes, ends: list[int]) -> None:
    full = rows(read(kind(), data))
    random_ = random.Random(5)
    for at in range(len(data)):
        broken = bytearray(data)
        broken[at] ^= 1 << random_.randrange(8)
        found = rows(read(kind(), bytes(broken)))
        before = sum(end <= at for end in ends)
        if kind is TfeventsReader and before:  # its data are not checked: a changed step may join the row before
            before -= 1
            assert found[before][0] == full[before][0]
        assert found[:before] == full[:before]


@pytest.mark.parametrize(("kind", "data", "ends"), CASES, ids=IDS)
def test_stretches_of_noise_zeros_and_missing_bytes(
    kind: type[WandbReader] | type[TfeventsReader], data: bytes, ends: list[int]
) -> None:
    full = rows(read(kind(), data))
    random_ = random.Random(6)
    for _ in range(300):
        at = random_.randrange(len(data))
        size = random_.randrange(1, 200)
        filler = random_.choice([random_.randbytes(size), bytes(size), b"", b"\xff" * size, data[:size]])
        broken = data[:at] + filler + data[at + random_.choice([0, size]) :]
        cuts = [random_.randrange(len(broken)) for _ in range(4)]
        found = rows(read(kind(), broken, cuts))
        before = sum(end <= at for end in ends)
        assert found[:before] == full[:before]


@pytest.mark.parametrize("kind", [WandbReader, TfeventsReader])
def test_noise_from_the_first_byte(kind: type[WandbReader] | type[TfeventsReader]) -> None:
    random_ = random.Random(7)
    for size in (0, 1, 6, 7, 8, 100, 70_000):
        assert rows(read(kind(), random_.randbytes(size))) == []
        assert rows(read(kind(), bytes(size))) == []


@pytest.mark.parametrize(("kind", "data", "ends"), CASES, ids=IDS)
def test_byte_by_byte(kind: type[WandbReader] | type[TfeventsReader], data: bytes, ends: list[int]) -> None:
    assert rows(read(kind(), data, range(len(data)))) == rows(read(kind(), data))


# -- blocks of the W&B log ---------------------------------------------------------------------------------------------


def _records(data: bytes, cuts: int) -> tuple[list[bytes], BlockLog]:
    log = BlockLog(b":W&B\xe1\xbe\x00")
    out = []
    for begin in range(0, len(data), cuts):
        out += log.feed(data[begin : begin + cuts])
    return out, log


@pytest.mark.parametrize("cut", [1, 7, 4096, BLOCK, 10**9])
def test_records_of_all_sizes_around_the_block_ends(cut: int) -> None:
    random_ = random.Random(8)
    sizes = [0, 1, 100, BLOCK - 7 - 7 - 7 * 3 - 101, 0, 3, 90_000, BLOCK - 14, *range(32_700, 32_720), 5]
    records = [random_.randbytes(n) for n in sizes]
    found, log = _records(blocks(records)[0], cut)
    assert found == records
    assert not log.skipped


def test_a_damaged_block_costs_its_own_records_only() -> None:
    records = [bytes([i]) * 1000 for i in range(200)]
    data, ends = blocks(records)
    broken = bytearray(data)
    at = 2 * BLOCK + 5000
    broken[at] ^= 1
    found, log = _records(bytes(broken), 777)
    lost = [i for i, r in enumerate(records) if r not in found]
    assert lost == list(range(lost[0], lost[-1] + 1))
    assert ends[lost[0]] > at >= ends[lost[0] - 1]
    assert ends[lost[-1] - 1] < 3 * BLOCK
    assert log.skipped == {"damaged block": 1}


def test_space_that_was_not_written_is_passed_over() -> None:
    records = [bytes([i]) * 1000 for i in range(60)]
    data, ends = blocks(records)
    hole = bytearray(data)
    hole[ends[9] : BLOCK] = bytes(BLOCK - ends[9])
    found, log = _records(bytes(hole), 1000)
    assert found[:10] == records[:10]
    assert found[10:] == [r for r, end in zip(records, ends, strict=True) if end - 1007 > BLOCK]
    assert log.skipped == {"unwritten space": 1}


def _disorder(chance: random.Random, records: list[bytes]) -> bytes:
    """Chunks whose kinds are in no order: beginnings without ends, ends without beginnings."""
    out = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        left = BLOCK - len(out) % BLOCK
        if left < 7 + len(record):
            out += bytes(left)
        kind = chance.choice((1, 1, 1, 2, 3, 4))
        out += struct.pack("<IHB", crc32(record, crc32(bytes([kind]))), len(record), kind) + record
    return bytes(out)


def test_many_blocks_at_once_are_read_like_one_after_another() -> None:
    """Chunks of many blocks are found side by side: what is lost and told must be what piecemeal reading loses."""
    chance = random.Random(11)
    for case in range(25):
        big = [chance.randbytes(chance.choice((0, 3, 40, 700, 5000, 30_000))) for _ in range(120)]
        summaries = [summary(n, {"a": "1" * chance.randrange(3000)}) for n in range(120)]
        records = [record for pair in zip(big, summaries, strict=True) for record in pair]
        data = bytearray(_disorder(chance, records) if case % 2 else blocks(records)[0])
        for _ in range(chance.randrange(6)):
            at, size = chance.randrange(len(data)), chance.choice((1, 7, 60, BLOCK))
            data[at : at + size] = chance.choice((bytes(size), chance.randbytes(size)))[: len(data) - at]
        for tag in (None, 3 << 3 | 2):
            whole, pieces = (BlockLog(b":W&B\xe1\xbe\x00", tag) for _ in range(2))
            found = whole.feed(bytes(data))
            assert found == [
                r for at in range(0, len(data), 20_011) for r in pieces.feed(bytes(data[at : at + 20_011]))
            ]
            assert (whole.skipped, whole.skipped_at) == (pieces.skipped, pieces.skipped_at)


# -- files of real runs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [(WandbReader, "wandb/*run-*/*.wandb"), (TfeventsReader, "tensorboard_log/**/events*")],
    ids=IDS,
)
def test_labelled_file_cut_and_damaged_at_random(
    labelled_run: Callable[[str], Path], kind: type[WandbReader] | type[TfeventsReader], pattern: str
) -> None:
    data = next(labelled_run("zoo/v01-add-s0").glob(pattern)).read_bytes()
    full = rows(read(kind(), data))
    random_ = random.Random(9)
    assert rows(read(kind(), data, [random_.randrange(len(data)) for _ in range(40)])) == full
    for _ in range(12):
        at = random_.randrange(len(data))
        assert rows(read(kind(), data[:at])) in [full[:n] for n in range(len(full) + 1)] or kind is TfeventsReader
        broken = data[:at] + random_.randbytes(64) + data[at + 64 :]
        found = rows(read(kind(), broken))
        assert len(found) > 0.7 * len(full)
