"""Reads a SQLite database from bytes in memory: the bytes of its file and of its write-ahead log. SQLite never opens
the file itself. So no file is locked, created or changed, and a database on another machine is read like a local one.
Format of the log: https://sqlite.org/fileformat2.html#the_write_ahead_log"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

MAGIC = b"SQLite format 3\0"
WAL_SUFFIX = "-wal"
JOURNAL_SUFFIX = "-journal"
MAX_BYTES = 1 << 29
"""The largest database that is read: while it is open, memory holds it twice."""

_WAL_HEADER = struct.Struct(">8I")
_FRAME_HEADER = struct.Struct(">6I")
_WAL_MAGIC = 0x377F0682  # the lowest bit says that checksums are over big-endian words
_BUDGET = 200_000
_BUDGET_PER_BYTE = 4
"""How many steps of SQLite's virtual machine reading may take for each byte of the database: a damaged tree can lead in
circles."""
_TICK = 1000

ERRORS = (sqlite3.Error, OverflowError, MemoryError, ValueError)
"""The exceptions that sqlite3 raises for a damaged database; ValueError if its message quotes bytes that are not
text."""

Words = NDArray[np.uint32]


class Damaged(ValueError):  # noqa: N818  (a state of the bytes, shown to the user)
    """SQLite cannot read the bytes as a database. The exception's text says what it found."""


def open_bytes(database: bytes, wal: bytes = b"") -> sqlite3.Connection:
    """A connection to a copy of the database as of the last commit in `wal`. Raises Damaged."""
    image = bytearray(database)
    if len(image) < 512 and wal:
        image = bytearray(_first_page(wal))
    if not image.startswith(MAGIC):
        raise Damaged("not a SQLite database")
    _apply(image, wal)
    image[18:20] = b"\1\1"  # a database in memory has no write-ahead log
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    try:
        connection.deserialize(bytes(image))
        connection.text_factory = _text
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        left = (_BUDGET + _BUDGET_PER_BYTE * len(image)) // _TICK

        def exhausted() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        connection.set_progress_handler(exhausted, _TICK)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except ERRORS as error:
        connection.close()
        raise Damaged(str(error)) from None
    return connection


def tables(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """The column names of each real table. Views are left out because they can run anything."""
    try:
        names = [
            str(name)
            for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
            if isinstance(sql, str) and sql.upper().startswith("CREATE TABLE")
        ]
        return {
            name: frozenset(str(row[1]) for row in connection.execute("SELECT * FROM pragma_table_info(?)", (name,)))
            for name in names[:1000]
        }
    except ERRORS:
        return {}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


# --- The write-ahead log -----------------------------------------------------------------------------------------


def _first_page(wal: bytes) -> bytes:
    """Page 1 from the log. If the log was never written back, the database is an empty file."""
    return next((page for number, _, page in _frames(wal) if number == 1), b"")


def _apply(image: bytearray, wal: bytes) -> None:
    """Writes the committed pages of the log into the database."""
    frames = list(_frames(wal))
    last = max((i for i, (_, pages, _) in enumerate(frames) if pages), default=-1)
    if last < 0:
        return
    size = len(frames[0][2])
    pages = frames[last][1]
    if pages * size > MAX_BYTES or (image[16:18] != struct.pack(">H", size if size < 65536 else 1)):
        return
    image.extend(bytes(max(0, pages * size - len(image))))
    for number, _, page in frames[: last + 1]:
        if 1 <= number <= pages:
            image[(number - 1) * size : number * size] = page
    del image[pages * size :]


def _frames(wal: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Page number, size of the database in pages (0: not the end of a transaction) and page of each valid frame.

    The valid frames end before the first one from an earlier round of the log (with another salt) or with a wrong
    checksum.
    """
    if len(wal) < _WAL_HEADER.size:
        return
    magic, _, size, _, *salt, sum0, sum1 = _WAL_HEADER.unpack_from(wal)
    if magic & ~1 != _WAL_MAGIC or not 512 <= size <= 65536 or size & (size - 1):
        return
    order = ">u4" if magic & 1 else "<u4"
    if _checksums(np.frombuffer(wal, order, 6)[None, :], (0, 0))[0] != (sum0, sum1):
        return
    step = _FRAME_HEADER.size + size
    count = (len(wal) - _WAL_HEADER.size) // step
    body = np.frombuffer(wal, np.uint8, count * step, _WAL_HEADER.size).reshape(count, step)
    checked = np.concatenate([body[:, :8], body[:, _FRAME_HEADER.size :]], axis=1).view(order)
    sums = _checksums(checked, (sum0, sum1))
    for i in range(count):
        at = _WAL_HEADER.size + i * step
        number, pages, salt0, salt1, *stored = _FRAME_HEADER.unpack_from(wal, at)
        if [salt0, salt1] != salt or tuple(stored) != sums[i]:
            return
        yield number, pages, wal[at + _FRAME_HEADER.size : at + step]


def _checksums(rows: NDArray[np.generic], start: tuple[int, int]) -> list[tuple[int, int]]:
    """SQLite's running checksum after each row of words: s0 += x0 + s1, s1 += x1 + s0 for each pair of words.

    The sums after n pairs are linear in the words and in the previous sums. The factors are Fibonacci numbers, so all
    rows are multiplied at once.
    """
    words = rows.astype(np.uint32)
    pairs = words.shape[1] // 2
    fibonacci = [0, 1]
    for _ in range(2 * pairs + 1):
        fibonacci.append((fibonacci[-1] + fibonacci[-2]) & 0xFFFFFFFF)
    f: Words = np.array(fibonacci, dtype=np.uint32)
    last = 2 * (pairs - np.arange(pairs))  # 2n, 2n-2, ... 2
    even, odd = words[:, 0::2], words[:, 1::2]
    own0 = (even * f[last - 1]).sum(axis=1, dtype=np.uint32) + (odd * f[last - 2]).sum(axis=1, dtype=np.uint32)
    own1 = (even * f[last]).sum(axis=1, dtype=np.uint32) + (odd * f[last - 1]).sum(axis=1, dtype=np.uint32)
    a, b, c = fibonacci[2 * pairs - 1], fibonacci[2 * pairs], fibonacci[2 * pairs + 1]
    s0, s1 = start
    out = []
    for x0, x1 in zip(own0.tolist(), own1.tolist(), strict=True):
        s0, s1 = (a * s0 + b * s1 + x0) & 0xFFFFFFFF, (b * s0 + c * s1 + x1) & 0xFFFFFFFF
        out.append((s0, s1))
    return out
