"""A log whose text stands inside JSON lines: a notebook's stream, a cluster's log service."""

from __future__ import annotations

import orjson

from rltui.readers.lines import LineBuffer

_HEAD = 32  # bytes that may tell; else the first line does
_NOTEBOOK = (b'[{"stream_name"', b'{"stream_name"')
_STAMPED = b'{"timestamp":'


def is_wrapped(head: bytes) -> bool:
    """Whether a file begins so. Only its first line counts: how much of the file is there makes no difference."""
    start = head.lstrip().partition(b"\n")[0][:1000]
    return start.startswith(_NOTEBOOK) or (
        start.startswith(_STAMPED) and b'"message":' in start and b'"level":' in start
    )


def _may_be_wrapped(head: bytes) -> bool:
    """Whether only the rest of the first line will tell."""
    start = head.lstrip()
    return len(head) < 1 << 16 and b"\n" not in start and (_STAMPED.startswith(start) or start.startswith(_STAMPED))


def _text_of(line: bytes) -> bytes | None:
    """The text within one line, with its newline; None for what is no such line. The brackets and commas of a JSON
    array around the lines do not matter."""
    try:
        item = orjson.loads(line.lstrip(b"[,").rstrip(b"],\r\n"))
        if "stream_name" in item:
            return str(item["data"]).encode("utf-8", "replace")
        text = f"{item['timestamp']} {item['level']} {item['message']}\n{item.get('exception') or ''}"
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
        return None
    return (text if text.endswith("\n") else text + "\n").encode("utf-8", "replace")


class Unwrapper:
    """Gives out the text that a log holds, from its first bytes on. `too_long` and `foreign`: how many lines of the
    last `feed` were longer than any log's, or no JSON."""

    def __init__(self) -> None:
        self.too_long = self.foreign = 0
        self._wrapped: bool | None = None  # not known yet
        self._head = b""
        self._lines = LineBuffer()

    def feed(self, data: bytes) -> bytes:
        """The text in `data`; nothing while it is not known whether the log is wrapped."""
        self.too_long = self.foreign = 0
        if self._wrapped is None:
            data = self._head + data
            self._head = b""
            if len(data) < _HEAD or _may_be_wrapped(data):
                self._head = data
                return b""
            self._wrapped = is_wrapped(data)
        return self._text(data) if self._wrapped else data

    def finish(self) -> bytes:
        """Text that was held back."""
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
