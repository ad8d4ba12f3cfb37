"""Entries of a log service, each with a line of the program: one JSON object a line, or a document of objects that span
lines. Downloads often begin with the newest entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson

from rltui.readers.keys import first_of, names, time_of
from rltui.readers.log_keys import log_keys
from rltui.readers.row_kinds import measures

Entry = tuple[str, str]
"""The time stamp and the line."""


def entry(row: dict[str, object]) -> Entry | None:
    """The entry that an object is, or holds in an inner object. None if there is none: rows of metrics and samples have
    numbers or texts of their own."""
    keys = log_keys()
    inner = [row, *(value for value in row.values() if isinstance(value, dict))]
    stamp = next((str(one[key]) for one in inner for key in keys.stamp if isinstance(one.get(key), str | int)), None)
    if stamp is None or any(map(_is_row, inner)):
        return None
    return next(((stamp, str(one[key])) for one in inner for key in keys.line if isinstance(one.get(key), str)), None)


def _is_row(row: dict[str, object]) -> bool:
    """Whether an object holds a step, something measured or the texts of a sample."""
    texts = sum(isinstance(row.get(key), str) for key in names("text"))
    numbers = [key for key, value in row.items() if type(value) in (int, float)]
    return first_of("step", row) is not None or texts > 1 or measures(numbers) > 0


def is_document(head: bytes) -> bool:
    """Whether a text begins with a document of entries that span lines."""
    return _opens(head.lstrip().partition(b"\n")[0]) and next(_spanning(head), None) is not None


def _opens(line: bytes) -> bool:
    return line.strip() in (b"[", b"{", b"[{")


def is_newest_first(lines: list[bytes]) -> bool:
    """Whether the entries in these lines, one a line, go back in time: only both ends are parsed."""
    first, last = _time_of_one(lines), _time_of_one(reversed(lines))
    return first is not None and last is not None and first > last


def _time_of_one(lines: Iterable[bytes]) -> float | None:
    """The first time that an entry in these lines states; None if none does."""
    return next((time for stamp, _ in _one_a_line(lines) if (time := time_of(stamp)) == time), None)


def _one_a_line(lines: Iterable[bytes]) -> Iterator[Entry]:
    for line in lines:
        if (row := json_object(line)) is not None and (found := entry(row)) is not None:
            yield found


def _spanning(text: bytes) -> Iterator[Entry]:
    """The entries among objects whose brackets have lines of their own."""
    lines = text.splitlines()
    opened: list[tuple[int, int]] = []  # indent and number of the lines that open an object
    for at, line in enumerate(lines):
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if bare in (b"{", b"[{"):
            opened.append((indent, at))
        elif bare in (b"}", b"},", b"}]") and opened and opened[-1][0] == indent:
            _, begin = opened.pop()
            row = json_object(b"\n".join([b"{", *lines[begin + 1 : at], b"}"]))
            if row is not None and (found := entry(row)) is not None:
                opened.clear()
                yield found


def json_object(line: bytes) -> dict[str, object] | None:
    """The object in a line, which may be one of a JSON array: its brackets and commas do not matter."""
    try:
        item = orjson.loads(line.lstrip(b"[, ").rstrip(b"],\r\n "))
    except orjson.JSONDecodeError:
        return None
    return item if isinstance(item, dict) else None


def in_order(text: bytes) -> bytes:
    """The lines of the program in a whole download, the oldest first."""
    spans = _opens(text.lstrip().partition(b"\n")[0])
    found = list(_spanning(text) if spans else _one_a_line(text.splitlines()))
    times = [time for time in (time_of(stamp) for stamp, _ in found) if time == time]
    if times and times[0] > times[-1]:
        found.reverse()
    return "".join(f"{shown(one)}\n" for one in found).encode("utf-8", "replace")


def shown(found: Entry) -> str:
    """An entry as a line of a log."""
    stamp, line = found
    return f"{stamp} {line}".rstrip("\n")
