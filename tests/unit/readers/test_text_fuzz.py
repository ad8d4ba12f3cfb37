"""Damaged bytes in pieces of any size: no reader raises, intact rows stay, memory is bounded."""

from __future__ import annotations

import json
import random

import pytest

from rltui.readers.config_file import PrintedDict
from rltui.readers.lines import MAX_LINE
from tests.unit.readers.reading import read

RAY = "\x1b[36m(TaskRunner pid=48123)\x1b[0m "
SAMPLES = {
    "verl-console": "".join(
        f"{RAY}{{'a': {{'b': {i},\n{RAY}       'c': 2}}}}\n{RAY}step:{i} - a/b:np.float64({i / 7}) - c:{i} - d:nan\n"
        f"Traceback (most recent call last):\n  File x\nValueError: {i}\n"
        for i in range(60)
    ),
    "trl-console": "".join(
        f"\r 1%|██ | {i}/90 [00:00<00:09, 2it/s]\r                \r{{'loss': '0.{i}', 'kl': nan, 'epoch': '0.{i}'}}\n"
        for i in range(1, 90)
    ),
    "console": "".join(f"epoch: 0|step: {i}|act_loss: 0.{i}|cri_loss: {i}\naverage reward: {i}\n" for i in range(90)),
    "jsonl": "".join(json.dumps({"step": i, "data": {"a": i / 7, "b/c": i, "d": None}}) + "\n" for i in range(90)),
    "csv": "step,a,b\n" + "".join(f"{i},{i / 7},\n" for i in range(90)),
    "trainer-state": json.dumps({"max_steps": 9, "log_history": [{"step": i, "loss": i / 7} for i in range(90)]}),
}


def damage(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.randint(1, 30)):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(7):
            case 0:
                out[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del out[at : at + chance.randrange(50)]
            case 2:
                out[at:at] = b"\0" * chance.randrange(1, 40)
            case 3:
                out[at:at] = chance.choice(
                    [b"\r", b"\r\n", b"\n", b"\x1b[A", b"\xff\xfe", b"\xe2\x82", b"'", b"{", b'"']
                )
            case 4:
                out[at:at] = "Größe，价格".encode(chance.choice(["utf-16", "latin-1", "gb18030"]), "replace")
            case 5:
                out[at:at] = chance.choice(
                    [b"step:9 - ", b"9" * 400, b" - " * 50, b"np.float64(", b"{'a': " * 30, b"%|"]
                )
            case _:
                cut = chance.randrange(len(out) + 1)
                out[at:at] = out[cut : cut + 200]
    return bytes(out)


@pytest.mark.parametrize("format", SAMPLES)
def test_damaged_bytes(format: str) -> None:
    for seed in range(10):
        chance = random.Random(seed)
        data = damage(SAMPLES[format].encode(), chance)
        sizes = [chance.choice([1, 7, 64, 500, 4096]) for _ in range(40)]
        found = read(format, data, sizes)
        if format != "trainer-state":
            assert found.rows == read(format, data).rows, seed


@pytest.mark.parametrize("format", SAMPLES)
def test_random_bytes(format: str) -> None:
    for seed in range(20):
        chance = random.Random(seed)
        read(format, chance.randbytes(4000), [chance.randrange(1, 500) for _ in range(9)])


@pytest.mark.parametrize(
    ("format", "good"), [("verl-console", "step:{} - a:1\n"), ("jsonl", '{{"step": {}, "a": 1}}\n'), ("csv", "{},1\n")]
)
@pytest.mark.parametrize("piece", [1 << 16, 1 << 20, 1 << 23])
def test_huge_lines_are_left_out_and_counted(format: str, good: str, piece: int) -> None:
    head = "step,a\n" if format == "csv" else ""
    data = (
        head
        + good.format(1)
        + "x" * (2 * MAX_LINE + 5)
        + "\n"
        + good.format(2)
        + "y" * (MAX_LINE + 1)
        + "\n"
        + good.format(3)
    )
    found = read(format, data, [piece] * (len(data) // piece))
    assert found.steps == [1, 2, 3]
    assert found.reader.skipped["line longer than 1 MiB"] == 2
    assert found.reader.skipped_at["line longer than 1 MiB"] == f"line {2 + bool(head)}"


def test_endless_line_keeps_no_memory() -> None:
    found = read("verl-console", "", finish=False)
    for _ in range(40):
        found.take(found.reader.feed(b"z" * (1 << 18)))
    assert len(found.reader._reader._buffer.rest) <= MAX_LINE  # type: ignore[attr-defined]
    found.take(found.reader.feed(b"\nstep:1 - a:1\n"))
    assert found.steps == [1]


@pytest.mark.long
def test_ever_new_keys_keep_bounded_memory() -> None:
    lines = "".join(f'{{"step": {i}, "k{i}": 1, "k{i + 1}": 2}}\n' for i in range(5200))
    found = read("jsonl", lines)
    assert found.steps == list(range(5200))
    assert len({key for _, cells in found.rows for key in cells}) <= 5000


def test_deep_nesting() -> None:
    read("jsonl", '{"step": 1, "a": ' + '{"b": ' * 3000 + "1" + "}" * 3000 + "}\n")
    read("trainer-state", '{"log_history": ' + "[" * 100_000)
    printed = PrintedDict(1)
    assert printed.add("{'a': {'b': " + "[" * 50_000) is None
    assert printed.add(" 1" + "]" * 50_000 + "}}") is None
    assert printed.failed
