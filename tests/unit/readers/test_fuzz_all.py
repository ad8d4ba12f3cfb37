"""No byte sequence brings a reader down: every container, mutated.

For each input: no exception; less than a second of CPU; the same rows however the bytes are cut; no row lost that was
complete before the damage. 1,700 inputs here; 200,000 with `-m fuzz_full`.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.readers.base import Record, Rows
from rltui.readers.console.dialects import DIALECTS
from rltui.readers.console.dialects.base import LineDialect
from rltui.readers.console.lead import plain
from rltui.readers.console.notes import split_prefix
from rltui.readers.formats import formats_held, make_database, make_unpacking, runs_in_database
from rltui.readers.sniff import sniff
from rltui.readers.trackers.mlflow import MlflowStoreReader
from rltui.readers.trackers.sqlite_bytes import Damaged, open_bytes
from rltui.text import clean
from tests.unit.readers import fuzzing
from tests.unit.readers_binary.collect import rows

CI, FULL = 1_700, 200_000
MAX_CPU_S = 1.0
NAMES = tuple(fuzzing.SEEDS)
Cell = tuple[int, str, str]


def test_every_format_is_here() -> None:
    assert {*formats_held("in a file"), *formats_held("in a database")} <= {*NAMES}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_console_dialect_is_here(dialect: Callable[[], LineDialect]) -> None:
    def found(seed: bytes) -> bool:
        reader, steps = dialect(), 0
        for line in seed.decode("utf-8", "replace").splitlines():
            prefix, message = split_prefix(line)
            if reader.is_open or any(mark in message for mark in reader.marks):
                steps += len(reader.line(prefix, plain(message)) or [])
        return steps + len(reader.close()) > 1

    assert any(found(seed) for seed in fuzzing.SEEDS["console"]())


@pytest.mark.parametrize("name", NAMES)
def test_mutated(name: str) -> None:
    fuzz(name, CI // len(NAMES), 0)


@pytest.mark.fuzz_full
@pytest.mark.parametrize("name", NAMES)
def test_mutated_at_length(name: str) -> None:
    fuzz(name, FULL // len(NAMES), 1_000_000)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=300), begin=st.booleans())
def test_anything(name: str, data: bytes, begin: bool) -> None:
    """Any bytes, alone or after an intact beginning."""
    seed = fuzzing.SEEDS[name]()[0]
    check(name, (seed[: len(seed) // 2] if begin else b"") + data, 0, seed, random.Random(len(data)))


def fuzz(name: str, count: int, start: int) -> None:
    seeds = fuzzing.SEEDS[name]()
    for number in range(start, start + count):
        numbers = random.Random(f"{name} {number}")
        seed = numbers.choice(seeds)
        data, first = fuzzing.mutate(seed, numbers)
        try:
            check(name, data, first, seed, numbers)
        except BaseException as error:
            error.add_note(f"input {number} of {name}: {data!r}"[:3000])
            raise


def check(name: str, data: bytes, first: int, seed: bytes, numbers: random.Random) -> None:
    """All properties of one input. `data` equals `seed` before `first`."""
    if name in formats_held("in a database"):
        in_time(lambda: read_database(name, data))
        return
    sniff(data[: 1 << 14], "train.log")
    cuts = sorted(numbers.randrange(len(data) + 1) for _ in range(numbers.choice((0, 1, 3, 20))))
    records = in_time(lambda: read_stream(name, data, ()))
    pieces = in_time(lambda: read_stream(name, data, cuts))
    if name == "compressed":  # a damaged member takes up to 8 KiB before the damage with it
        return
    if name == "mlflow-files":  # the values of one read are sorted by time, and one of a step and time is kept
        assert places(pieces) == places(records)
    else:
        assert cells(pieces) == cells(records)
    intact = read_stream(name, seed[:first], (), to_end=False)
    if name in ("tensorboard", "mlflow-files"):
        # The checksum of an event's data is not computed, and a line has none: a later one whose step was damaged into
        # that of an intact one is taken for its revision.
        assert places(intact) <= places(records), "rows before the damage were lost"
    else:
        assert not each_cell(intact) - each_cell(records), "rows before the damage were lost"


def in_time(action: Callable[[], list[Record]]) -> list[Record]:
    begin = time.thread_time()
    records = action()
    assert time.thread_time() - begin < MAX_CPU_S
    return records


def read_stream(name: str, data: bytes, cuts: Iterable[int], to_end: bool = True) -> list[Record]:
    pieces = [data[a:b] for a, b in pairwise([0, *cuts, len(data)])]
    if name == "mlflow-files":
        store = MlflowStoreReader()
        return [record for piece in pieces for record in store.read(b"", [], [("kl", piece)])]
    reader = make_unpacking("jsonl" if name == "compressed" else name)
    records = [record for piece in pieces for record in reader.feed(piece)]
    assert all(count > 0 for count in reader.skipped.values())
    return records + reader.finish() if to_end else records


def read_database(name: str, database: bytes, wal: bytes = b"") -> list[Record]:
    keys = [run.key for run in runs_in_database(database, wal)] or ["id-a", "ida"]
    try:
        connection = open_bytes(database, wal)
    except Damaged:
        return []
    try:
        return [record for key in keys[:3] for record in make_database(name, key).read(connection)]
    finally:
        connection.close()


def cells(records: list[Record]) -> list[Cell]:
    """Every cell in file order, with its step; checks the shape of the rows on the way. A row may lie in two blocks, so
    neighbours of one step are one row."""
    for block in records:
        if isinstance(block, Rows):
            assert all(key == clean(key) for key in block.values)
            assert block.nonfinite.keys() <= block.values.keys()
    return [(step, key, value) for step, _, row in rows(records) for key, value in sorted(row.items())]


def each_cell(records: list[Record]) -> Counter[Cell]:
    """Every cell as often as it was yielded."""
    found: Counter[Cell] = Counter()
    for block in records:
        if isinstance(block, Rows):
            for key, values in block.values.items():
                found.update((block.steps[i], key, repr(x)) for i, x in enumerate(values) if x == x)
            for key, unfit in block.nonfinite.items():
                found.update((block.steps[i], key, "nan") for i in unfit)
    return found


def places(records: list[Record]) -> set[tuple[int, str]]:
    """Which keys of which steps hold something."""
    return {(step, key) for step, key, _ in each_cell(records)}


def test_mutated_write_ahead_log() -> None:
    """A log that is cut or damaged gives the state after some earlier commit."""
    database, wal = fuzzing.write_ahead_log()
    whole = cells(read_database("trackio", database, wal))
    base = cells(read_database("trackio", database))
    assert len(base) == 4 * 4
    assert len(whole) == 4 * len(fuzzing.ROWS)
    lengths = set()
    for number in range(400):
        data, _ = fuzzing.mutate(wal, random.Random(number))
        found = cells(in_time(lambda data=data: read_database("trackio", database, data)))  # type: ignore[misc]
        assert found == whole[: len(found)]
        assert len(found) >= len(base)
        lengths.add(len(found))
    assert len(lengths) > 3


def test_a_table_that_leads_in_circles_is_given_up() -> None:
    """An interior page whose children are itself has no end."""
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA page_size = 512")
    connection.execute("CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id, timestamp, run_name, step, metrics)")
    connection.executemany(
        "INSERT INTO metrics VALUES (?, 'id-a', '2026-01-01', 'a', ?, '{\"kl\": 1}')", ((i, i) for i in range(400))
    )
    connection.commit()
    data = bytearray(connection.serialize())
    root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'metrics'").fetchone()[0]
    begin = (root - 1) * 512
    assert data[begin] == 5  # an interior page of a table
    children = int.from_bytes(data[begin + 3 : begin + 5], "big")
    for i in range(children):
        at = begin + int.from_bytes(data[begin + 12 + 2 * i : begin + 14 + 2 * i], "big")
        data[at : at + 4] = root.to_bytes(4, "big")
    in_time(lambda: read_database("trackio", bytes(data)))
