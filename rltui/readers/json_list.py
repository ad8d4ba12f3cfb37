"""A JSON array of rows: a `log_history` that somebody saved, the answer of a service."""

from __future__ import annotations

import json
from collections import Counter

from rltui.readers.base import Record
from rltui.readers.json_number import lenient
from rltui.readers.jsonl import JsonlReader
from rltui.readers.trainer_state import MAX_BYTES


class JsonListReader:
    """Reads each element as `JsonlReader` reads a line; a file that is saved anew is read anew."""

    format = "json-list"
    whole = True

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._data = bytearray()
        self._read_size = 0

    def feed(self, data: bytes) -> list[Record]:
        if len(self._data) + len(data) <= MAX_BYTES:
            self._data += data
        else:
            self._skip("document larger than 256 MiB", "byte 0")
        return []

    def finish(self) -> list[Record]:
        if len(self._data) == self._read_size:
            return []
        try:
            rows = lenient(bytes(self._data))
        except (ValueError, RecursionError):
            self._skip("document that is not JSON (half written?)", "byte 0")
            return []
        self._read_size = len(self._data)
        if not isinstance(rows, list):
            self._skip("document that is no list", "byte 0")
            return []
        lines = JsonlReader()
        records = lines.feed("".join(json.dumps(row) + "\n" for row in rows).encode())
        for reason, count in lines.skipped.items():
            self.skipped[reason] += count
            self.skipped_at.setdefault(reason, lines.skipped_at[reason].replace("line", "element"))
        return records

    def _skip(self, reason: str, where: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, where)
