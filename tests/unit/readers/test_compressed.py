"""Compressed and UTF-16 logs read as the plain file does, cut anywhere; a torn or damaged end costs only itself."""

from __future__ import annotations

import gzip
import importlib.util
import lzma
import random
import sys
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.readers import compressed
from rltui.readers.formats import make, make_unpacking
from rltui.readers.sniff import sniff
from tests.unit.readers_binary.collect import by_step, read, rows

LOG = "".join(f'{{"step": {s}, "kl": {s / 7}, "grad/norm": {s * 0.5}}}\n' for s in range(1, 400)).encode()
PLAIN = rows(read(make("jsonl"), LOG))
HAS_ZSTD = sys.version_info >= (3, 14) or bool(
    importlib.util.find_spec("backports") and importlib.util.find_spec("backports.zstd")
)


def zstd(data: bytes) -> bytes:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    packed: bytes = importlib.import_module(name).compress(data)
    return packed


needs_zstd = pytest.mark.skipif(not HAS_ZSTD, reason="no zstd here: Python below 3.14 without backports.zstd")
PACKERS = [
    pytest.param(gzip.compress, id="gz"),
    pytest.param(lzma.compress, id="xz"),
    pytest.param(zstd, id="zst", marks=needs_zstd),
    pytest.param(lambda data: data.decode().encode("utf-16"), id="utf-16"),
    pytest.param(lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"), id="utf-16-be"),
    pytest.param(bytes, id="plain"),
]
Packer = Callable[[bytes], bytes]


@pytest.mark.parametrize("pack", PACKERS)
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 60_000), max_size=6))
def test_cut_anywhere(pack: Packer, cuts: list[int]) -> None:
    reader = make_unpacking("jsonl")
    assert rows(read(reader, pack(LOG), cuts)) == PLAIN
    assert not reader.skipped


@pytest.mark.parametrize("pack", PACKERS[:3])
def test_several_members(pack: Packer) -> None:
    half = LOG.index(b"\n", len(LOG) // 2) - 5  # inside a row
    data = pack(LOG[:half]) + pack(LOG[half:])
    for cuts in ([], [len(pack(LOG[:half]))], range(0, len(data), 7)):
        assert rows(read(make_unpacking("jsonl"), data, cuts)) == PLAIN


@pytest.mark.parametrize("pack", PACKERS[:3])
def test_a_torn_end_waits(pack: Packer) -> None:
    data = pack(LOG)
    reader = make_unpacking("jsonl")
    records = reader.feed(data[:-20])
    assert not reader.skipped
    records += reader.feed(data[-20:])
    assert rows([*records, *reader.finish()]) == PLAIN


@pytest.mark.parametrize("pack", PACKERS[:3])
def test_an_end_that_never_comes_is_told_until_it_comes(pack: Packer) -> None:
    data = pack(LOG)
    reader = make_unpacking("jsonl")
    reader.feed(data[:-20])
    reader.finish()
    assert [reason.split(":")[0] for reason in reader.skipped] == ["compressed data that breaks off"]
    assert reader.skipped_at.keys() == reader.skipped.keys()
    reader.feed(data[-20:])
    reader.finish()
    assert (+reader.skipped, reader.skipped_at) == (Counter(), {})


def test_the_mark_of_an_editor_costs_no_row() -> None:
    for format, text in (
        ("jsonl", LOG),
        ("csv", b"step,kl\n1,0.5\n"),
        ("verl-console", b"step:1 - actor/kl_loss:0.5\n"),
    ):
        plain = rows(read(make_unpacking(format), text))
        for cuts in ((), (1, 1, 1, 2)):
            reader = make_unpacking(format)
            assert rows(read(reader, b"\xef\xbb\xbf" + text, cuts)) == plain
            assert not reader.skipped


@pytest.mark.parametrize(("format", "begun"), [("jsonl", b'{"step": 2,}'), ("csv", b"2")])
def test_a_look_at_an_unfinished_line_counts_nothing_and_hides_nothing(format: str, begun: bytes) -> None:
    good, bad = (b'{"step":1,"a":2}\n', b"bad\n") if format == "jsonl" else (b"step,a\n1,2\n", b"1,2,3\n")
    reader = make_unpacking(format)
    reader.feed(good + bad + begun)
    reader.finish()
    assert reader.skipped.total() == 1
    reader.feed(b"x\n" + bad)
    assert reader.skipped.total() == 3


@pytest.mark.parametrize("pack", PACKERS[:3])
def test_damage_costs_what_follows(pack: Packer) -> None:
    first = LOG[: LOG.index(b"\n", 3000) + 1]
    whole = by_step(read(make("jsonl"), first))
    rest = bytearray(pack(LOG[len(first) :]))
    numbers = random.Random(2)
    for _ in range(40):
        broken = bytearray(rest)
        for _ in range(8):
            broken[numbers.randrange(6, len(rest))] ^= 1 << numbers.randrange(8)
        found = by_step(read(make_unpacking("jsonl"), pack(first) + bytes(broken)))
        assert {s: found[s] for s in whole} == whole


def test_a_bomb_is_read_in_pieces() -> None:
    reader = make_unpacking("console")
    reader.feed(gzip.compress(b"a" * (64 << 20)))
    assert reader.skipped["line longer than 1 MiB"] == 1


@pytest.mark.parametrize("pack", PACKERS)
def test_sniffed_by_what_it_holds(pack: Packer) -> None:
    data = pack(LOG)
    assert sniff(data, "train.jsonl.gz") == "jsonl"
    numbers = random.Random(1)
    much = pack("".join(f'{{"step": {s}, "kl": {numbers.random()}}}\n' for s in range(9000)).encode())
    assert sniff(much[: len(much) * 2 // 3], "renamed") == "jsonl"
    assert sniff(pack(b"step:1 - actor/kl_loss:0.5 - timing_s/step:3.0\n" * 20), "x.log.zst") == "verl-console"
    assert sniff(pack(b"\x7fELF\x02\x01\x01" + bytes(range(128)) * 9), "x.gz") is None


def test_zstd_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(compressed.importlib, "import_module", absent)
    data = compressed.ZSTD + b"rest of a frame"
    assert sniff(data, "train.log.zst") is None
    reader = make_unpacking("jsonl")
    assert read(reader, data, [2, 5]) == []
    assert reader.skipped == {compressed.ZSTD_MISSING: 1}
