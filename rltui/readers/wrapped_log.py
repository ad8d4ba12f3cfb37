"""Console text inside JSON lines: a notebook service's log, and loguru's JSON mode (prime-rl)."""

from __future__ import annotations

import orjson

_NOTEBOOK = (b'[{"stream_name"', b'{"stream_name"')
_STAMPED = b'{"timestamp":'


def is_wrapped(head: bytes) -> bool:
    """Whether a file begins so. Only its first line counts: how much of the file is there makes no difference."""
    start = head.lstrip().partition(b"\n")[0][:1000]
    return start.startswith(_NOTEBOOK) or (
        start.startswith(_STAMPED) and b'"message":' in start and b'"level":' in start
    )


def may_be_wrapped(head: bytes) -> bool:
    """Whether only the rest of the first line will tell."""
    start = head.lstrip()
    return len(head) < 1 << 16 and b"\n" not in start and (_STAMPED.startswith(start) or start.startswith(_STAMPED))


def text_of(line: bytes) -> bytes | None:
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
