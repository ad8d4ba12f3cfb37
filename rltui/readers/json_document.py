"""A file that is one JSON document, saved anew as a whole."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rltui.readers.base import Record
from rltui.readers.json_number import lenient

MAX_BYTES = 1 << 28
HALF = "document that is not JSON (half written?)"


class DocumentReader:
    """Gathers the bytes; a reader of one kind of document says in `records` what it holds."""

    format = ""
    whole = True

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._data = bytearray()
        self._read_size = 0

    def records(self, document: Any) -> list[Record]:
        """What the parsed document holds."""
        raise NotImplementedError

    def feed(self, data: bytes) -> list[Record]:
        if len(self._data) + len(data) <= MAX_BYTES:
            self._data += data
        else:
            self._skip("document larger than 256 MiB", "byte 0")
        return []

    def finish(self) -> list[Record]:
        if len(self._data) == self._read_size:
            return []
        self._read_size = len(self._data)
        if self.skipped.pop(HALF, None):
            del self.skipped_at[HALF]
        try:
            document = lenient(bytes(self._data))
        except (ValueError, RecursionError):
            self._skip(HALF, "byte 0")
            return []
        return self.records(document)

    def _skip(self, reason: str, place: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, place)
