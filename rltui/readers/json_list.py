"""A JSON array of rows: a `log_history` that somebody saved, the answer of a service."""

from __future__ import annotations

import json
from typing import Any

from rltui.readers.base import Record
from rltui.readers.json_document import DocumentReader
from rltui.readers.jsonl import JsonlReader


class JsonListReader(DocumentReader):
    """Reads each element as `JsonlReader` reads a line."""

    format = "json-list"

    def records(self, document: Any) -> list[Record]:
        if not isinstance(document, list):
            self._skip("document that is no list", "byte 0")
            return []
        lines = JsonlReader()
        records = lines.feed("".join(json.dumps(row) + "\n" for row in document).encode())
        for reason, count in lines.skipped.items():
            self.skipped[reason] += count
            self.skipped_at.setdefault(reason, lines.skipped_at[reason].replace("line", "element"))
        return records
