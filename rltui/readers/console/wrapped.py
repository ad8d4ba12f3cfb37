"""A log whose text stands inside JSON lines: a notebook's stream, a cluster's log service."""

from __future__ import annotations

from collections.abc import Iterator

from rltui.readers.console.log_entries import entry, in_order, is_document, is_newest_first, json_object, shown
from rltui.readers.keys import first_of
from rltui.readers.lines import LineBuffer
from rltui.readers.log_keys import log_keys
from rltui.readers.row_kinds import one_value

_NOTEBOOK = (b'[{"stream_name"', b'{"stream_name"')
_LINE = 1 << 16
"""The reader waits for the end of the first line up to this many bytes."""
_DEPTH = 3


def is_wrapped(head: bytes) -> bool:
    """Whether a file begins with such JSON lines, of which only the first counts, so that the answer does not change as
    the file grows; or with a document of entries that span lines."""
    start = head.lstrip().partition(b"\n")[0]
    if is_document(head):
        return True
    if start.startswith(_NOTEBOOK):
        return True
    row = json_object(start) if start.startswith((b"{", b"[{")) else None
    return row is not None and _logged(row) is not None and first_of("step", row) is None


def _may_be_wrapped(head: bytes) -> bool:
    """Whether the answer needs the rest of the first line."""
    start = head.lstrip()
    return len(head) < _LINE and b"\n" not in start and (not start or start.startswith((b"{", b"[")))


def _logged(row: dict[str, object]) -> str | None:
    """The line that a logger would have written for a row; None if the row is not a logger's."""
    record = row.get("record")
    if isinstance(record, dict) and isinstance(row.get("text"), str):  # loguru
        bound = record.get("extra")
        return " ".join([str(row["text"]).rstrip(), *(_numbers(bound) if isinstance(bound, dict) else ())])
    keys = log_keys()
    level = next((row[key] for key in keys.level if isinstance(row.get(key), str | int)), None)
    name = next((key for key in keys.message if isinstance(row.get(key), str)), None)
    if level is None or name is None:
        return shown(found) if (found := entry(row)) is not None else None
    if name == "log":  # Docker
        return str(row[name])
    time = next((str(row[key]) for key in keys.time if isinstance(row.get(key), str)), "")
    return " ".join(
        filter(
            None,
            (time, level if isinstance(level, str) and not level.isdecimal() else "", str(row[name]), *_numbers(row)),
        )
    )


def _numbers(row: dict[str, object], within: str = "", depth: int = 0) -> Iterator[str]:
    """The numbers in a logger's row, beside its message and in the objects that it holds, as `name=value`."""
    keys = log_keys()
    own = keys.own_numbers
    for key, value in row.items():
        if isinstance(value, dict) and (one := one_value(value)) is not value:
            yield from _numbers(one, within, depth + 1)  # the name and the value of one metric
        elif isinstance(value, dict) and depth < _DEPTH and key not in keys.record:
            yield from _numbers(value, within if key in keys.fields else f"{within}{key}/", depth + 1)
        elif key not in own and key[:1] != "_" and isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{within}{key}={value}"


def _text_of(line: bytes) -> bytes | None:
    """The text within one JSON line, with its newline; None for any other line. The brackets and commas of a JSON array
    around the lines do not matter."""
    row = json_object(line)
    if row is None:
        return None
    if "stream_name" in row:
        return str(row.get("data", "")).encode("utf-8", "replace")
    text = _logged(row)
    if text is None:
        return None
    if row.get("exception"):
        text += f"\n{row['exception']}"
    return (text if text.endswith("\n") else text + "\n").encode("utf-8", "replace")


class Unwrapper:
    """Returns the text that a log holds, from its first bytes on. `too_long` and `foreign`: how many lines of the last
    `feed` were longer than `MAX_LINE`, or not JSON. A document and a download with its newest entry first are held
    until they end."""

    def __init__(self) -> None:
        self.too_long = self.foreign = 0
        self._wrapped: bool | None = None  # not known yet
        self._head = b""
        self._lines = LineBuffer()
        self._held: list[bytes] | None = None

    def feed(self, data: bytes) -> bytes:
        """The text in `data`; nothing as long as it is not known whether the log is wrapped."""
        self.too_long = self.foreign = 0
        if self._wrapped is None:
            data = self._head + data
            self._head = b""
            if _may_be_wrapped(data):
                self._head = data
                return b""
            self._wrapped = is_wrapped(data)
            if self._wrapped and (is_document(data) or is_newest_first(data.splitlines())):
                self._held = []
        if self._held is not None:
            self._held.append(data)
            return b""
        return self._text(data) if self._wrapped else data

    def finish(self) -> bytes:
        """Returns the text that was held back."""
        if self._held is not None:
            text, self._held = b"".join(self._held), []
            return in_order(text)
        head, self._head = self._head, b""
        if head:
            self._wrapped = False
        return head

    def _text(self, data: bytes) -> bytes:
        out = []
        block = self._lines.feed(data)
        self.too_long = len(self._lines.too_long)
        for line in block.splitlines():
            text = _text_of(line)
            if text is not None:
                out.append(text)
            elif line.strip(b"[]\r\n "):
                self.foreign += 1
        return b"".join(out)
