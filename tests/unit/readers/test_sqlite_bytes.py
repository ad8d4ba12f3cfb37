"""A database in memory: the write-ahead log is applied as SQLite itself does it, and no bytes raise or hang."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from rltui.readers.trackers.sqlite_bytes import Damaged, open_bytes, tables
from tests.unit.readers import tracker_files


def content(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT * FROM t ORDER BY id").fetchall()


@pytest.fixture(params=[512, 4096, 65536])
def live(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, sqlite3.Connection]:
    """A database with a write-ahead log that was written back once, then used again, with a transaction left open."""
    path = tmp_path / "a.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA page_size = {request.param}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)")
    numbers = random.Random(3)
    for i in range(300):
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (?, ?)", (i, "y" * numbers.randint(0, 900)))
        if i % 3 == 0:
            connection.execute("UPDATE t SET x = 'changed' WHERE id = ?", (i // 2,))
        connection.execute("COMMIT")
        if i == 150:
            connection.execute("PRAGMA wal_checkpoint(RESTART)")
    return path, connection


def test_log_is_applied(live: tuple[Path, sqlite3.Connection]) -> None:
    path, connection = live
    wal = path.with_name("a.db-wal")
    assert content(open_bytes(path.read_bytes(), wal.read_bytes())) == content(connection)
    assert len(content(open_bytes(path.read_bytes()))) < 300  # the rows of the log are not in the file yet


def test_torn_log_gives_an_earlier_state(live: tuple[Path, sqlite3.Connection]) -> None:
    """Cut anywhere, SQLite's own recovery is the judge."""
    path, connection = live
    database, wal = path.read_bytes(), path.with_name("a.db-wal").read_bytes()
    connection.close()
    numbers = random.Random(4)
    folder = path.parent / "copies"
    folder.mkdir()
    for n in range(25):
        torn = bytearray(wal[: numbers.randint(0, len(wal))])
        if n % 2 and torn:
            torn[numbers.randrange(len(torn))] ^= 1 << numbers.randrange(8)
        copy = folder / f"{n}.db"
        copy.write_bytes(database)
        copy.with_name(f"{n}.db-wal").write_bytes(torn)
        with sqlite3.connect(copy) as judge:
            assert content(open_bytes(database, bytes(torn))) == content(judge)


def test_nothing_was_written_back_yet(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    keep_open = sqlite3.connect(path)
    keep_open.execute("PRAGMA journal_mode = WAL")
    keep_open.execute("SELECT count(*) FROM sqlite_master").fetchone()
    tracker_files.trackio(path, {"a": [(1, {"kl": 1.0})]}, wal=True)
    wal = path.with_name("p.db-wal").read_bytes()
    assert "metrics" in tables(open_bytes(path.read_bytes(), wal))
    assert "metrics" in tables(open_bytes(b"", wal))
    keep_open.close()


def test_what_is_no_database() -> None:
    for data in (b"", b"x" * 5000, b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 5000):
        with pytest.raises(Damaged):
            open_bytes(data)


def test_views_and_virtual_tables_are_no_tables() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE real (id)")
    connection.execute(
        "CREATE VIEW metrics AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT n FROM r"
    )
    assert tables(open_bytes(connection.serialize())) == {"real": frozenset({"id"})}


def test_an_endless_query_is_stopped() -> None:
    connection = open_bytes(_empty())
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        connection.execute(
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT max(n) FROM r"
        ).fetchone()


def _empty() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    return connection.serialize()
