"""trackio, MLflow (database and file store), SwanLab: the same rows out of each container, in any number of reads."""

from __future__ import annotations

import sqlite3
from math import inf, nan
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.readers.base import ConfigRecord, DatabaseReader, Exit, LogLine, Record, RunInfo
from rltui.readers.formats import make_database, runs_in_database
from rltui.readers.trackers.mlflow import MlflowStoreReader
from rltui.readers.trackers.sqlite_bytes import open_bytes
from rltui.readers.trackers.swanlab import SwanlabReader
from tests.unit.readers import tracker_files
from tests.unit.readers_binary.collect import by_step, read

ROWS: list[tracker_files.Row] = [
    (s, {"train/loss": s / 7, "kl": 0.1 * s, "grad": 1e-9 if s % 3 else 2.0}) for s in range(1, 40)
]
CELLS = {s: dict(cells) for s, cells in ROWS}


def read_database(reader: DatabaseReader, path: Path) -> list[Record]:
    connection = open_bytes(path.read_bytes())
    try:
        return reader.read(connection)
    finally:
        connection.close()


def kept(records: list[Record], kind: type[Record]) -> list[Record]:
    return [r for r in records if isinstance(r, kind)]


@pytest.mark.parametrize("old", [False, True])
def test_trackio(tmp_path: Path, old: bool) -> None:
    tracker_files.trackio(tmp_path / "p.db", {"a": ROWS, "b": [(1, {"kl": 9.0})]}, old=old)
    runs = runs_in_database((tmp_path / "p.db").read_bytes(), b"")
    assert [(r.name, r.key) for r in runs] == [("a", "a" if old else "id-a"), ("b", "b" if old else "id-b")]
    reader = make_database("trackio", runs[0].key)
    records = read_database(reader, tmp_path / "p.db")
    assert by_step(records) == CELLS
    assert read_database(reader, tmp_path / "p.db") == []
    assert not reader.skipped
    if not old:
        (config,) = kept(records, ConfigRecord)
        assert isinstance(config, ConfigRecord)
        assert config.values == {"lr": 1e-5}


def test_trackio_not_finite_nested_and_no_numbers(tmp_path: Path) -> None:
    cells = {
        "a": "NaN",
        "b": "Infinity",
        "c": {"d": 2, "e": {"f": 3.5}},
        "table": {"_type": "trackio.table", "n": 1},
        "s": "x",
        "t": True,
    }
    tracker_files.trackio(tmp_path / "p.db", {"a": [(4, cells)]})
    found = by_step(read_database(make_database("trackio", "id-a"), tmp_path / "p.db"))[4]
    assert {k: repr(v) for k, v in found.items()} == {"a": "nan", "b": "nan", "c.d": "2.0", "c.e.f": "3.5", "t": "1.0"}


def test_mlflow_database(tmp_path: Path) -> None:
    rows = [*ROWS, (40, {"kl": nan}), (41, {"kl": inf}), (42, {"kl": -inf, "loss": 0.0})]
    tracker_files.mlflow(tmp_path / "m.db", {"a": rows, "b": ROWS[:3], "c": ROWS}, {"b": "FAILED", "c": "deleted"})
    runs = runs_in_database((tmp_path / "m.db").read_bytes(), b"")
    assert [(r.format, r.name) for r in runs] == [("mlflow", "a"), ("mlflow", "b")]
    records = read_database(make_database("mlflow", runs[0].key), tmp_path / "m.db")
    found = by_step(records)
    assert {s: found[s] for s in CELLS} == CELLS
    assert [repr(found[s]["kl"]) for s in (40, 41, 42)] == ["nan", "nan", "nan"]
    assert found[42]["loss"] == 0.0
    assert [end.well for end in kept(records, Exit)] == [False]
    (config,) = kept(records, ConfigRecord)
    assert isinstance(config, ConfigRecord)
    assert config.values == {"lr": 1e-5}
    failed = read_database(make_database("mlflow", runs[1].key), tmp_path / "m.db")
    assert [e.code for e in failed if isinstance(e, Exit)] == [1]


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, len(ROWS)), max_size=4).map(sorted), st.sampled_from(["trackio", "mlflow"]))
def test_reads_while_it_grows_give_what_one_read_gives(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], format: str
) -> None:
    path = tmp_path_factory.mktemp("db") / "p.db"
    (tracker_files.trackio if format == "trackio" else tracker_files.mlflow)(path, {"a": []})
    key = "id-a" if format == "trackio" else "ida"
    reader = make_database(format, key)
    records = read_database(reader, path)
    connection = sqlite3.connect(path)
    add = tracker_files.add_trackio if format == "trackio" else tracker_files.add_mlflow
    for begin, end in zip([0, *cuts], [*cuts, len(ROWS)], strict=True):
        add(connection, "a", ROWS[begin:end])
        connection.commit()
        records += read_database(reader, path)
    connection.close()
    whole = read_database(make_database(format, key), path)
    assert by_step(records) == by_step(whole) == CELLS
    assert [r for r in records if isinstance(r, ConfigRecord)] == [r for r in whole if isinstance(r, ConfigRecord)]


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900)), max_size=6))
@settings(max_examples=50, deadline=None)
def test_a_file_store_in_pieces(pieces: list[tuple[int, int]]) -> None:
    """Each metric's file grows for itself: at a poll one may hold a step that another lacks, or half a line."""
    lines = {
        key: "".join(f"{tracker_files.START_MS + 1000 * s} {c[key]!r} {s}\n" for s, c in ROWS).encode()
        for key in ("train/loss", "kl")
    }
    reader = MlflowStoreReader()
    records: list[Record] = []
    at = dict.fromkeys(lines, 0)
    for sizes in [*pieces, (1 << 20, 1 << 20)]:
        new = [(key, text[at[key] : at[key] + size]) for (key, text), size in zip(lines.items(), sizes, strict=True)]
        records += reader.read(b"", [], new)
        at = {key: at[key] + len(data) for key, data in new}
    assert by_step(records) == {s: {k: c[k] for k in lines} for s, c in CELLS.items()}
    assert not reader.skipped


def test_a_file_store_with_lines_that_are_none() -> None:
    reader = MlflowStoreReader()
    records = reader.read(
        b"",
        [],
        [
            (
                "kl",
                b"1795217283000 nan 1\nrubbish\n1795217284000 0.5 2\n\xff\xfe 1 1\n"
                b"1795217285000 -inf 3\n1795217286000 0.25\n",
            )
        ],
    )
    assert {s: {k: repr(v) for k, v in c.items()} for s, c in by_step(records).items()} == {
        0: {"kl": "0.25"},
        1: {"kl": "nan"},
        2: {"kl": "0.5"},
        3: {"kl": "nan"},
    }
    assert reader.skipped == {"line that is not a value": 2}


def test_swanlab() -> None:
    data, _ = tracker_files.swanlab([(0, {"zero": 0.0, "kl": nan}), *ROWS, (50, {"__swanlab__.cpu.pct": 12.5})])
    records = read(SwanlabReader(), data)
    found = by_step(records)
    assert {s: found[s] for s in CELLS} == CELLS
    assert {k: repr(v) for k, v in found[0].items()} == {"zero": "0.0", "kl": "nan"}
    assert 50 not in found
    assert [e.code for e in records if isinstance(e, Exit)] == [0]
    assert [line.text for line in records if isinstance(line, LogLine)] == ["a line of the console"]
    (info,) = kept(records, RunInfo)
    assert isinstance(info, RunInfo)
    assert info.values["run_id"] == "abc"


def test_swanlab_of_old() -> None:
    records = read(SwanlabReader(), tracker_files.swanlab_old([(0, {"kl": "NaN"}), *ROWS]))
    found = by_step(records)
    assert {s: found[s] for s in CELLS} == CELLS
    assert repr(found[0]["kl"]) == "nan"
    assert [e.code for e in records if isinstance(e, Exit)] == [1]


def test_swanlab_cut_anywhere() -> None:
    data, ends = tracker_files.swanlab(ROWS[:3])
    for length in range(len(data)):
        found = by_step(read(SwanlabReader(), data[:length]))
        complete = sum(end <= length for end in ends)
        assert {s: found[s] for s, _ in ROWS[:complete]} == {s: CELLS[s] for s, _ in ROWS[:complete]}
        assert by_step(read(SwanlabReader(), data, [length])) == {s: CELLS[s] for s, _ in ROWS[:3]}
