"""Lines of JSON as the objects that they hold: also those that are not quite JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import orjson

from rltui.readers.json_number import lenient

Object = dict[str, object]


class ObjectLines:
    """Reads the lines of one file. `number`: that of the newest line; `skip` is told why a line is left out."""

    def __init__(self, skip: Callable[[str], None]) -> None:
        self.number = 0
        self._skip = skip

    def read(self, lines: list[bytes]) -> Iterator[tuple[int, list[Object], bool]]:
        """Rows of consecutive lines with the number of the first, and whether they were strict JSON (no number in them
        is NaN or infinite then)."""
        first = self.number + 1
        try:
            rows = list(map(orjson.loads, lines))
        except orjson.JSONDecodeError:
            rows = []
        if rows and set(map(type, rows)) == {dict}:
            self.number += len(rows)
            yield first, rows, True
            return
        rows, strict = [], True
        for text in lines:
            self.number += 1
            row, is_strict = self._parse_line(text)
            if rows and (row is None or strict != is_strict):
                yield first, rows, strict
                rows = []
            if row is not None:
                if not rows:
                    first, strict = self.number, is_strict
                rows.append(row)
        if rows:
            yield first, rows, strict

    def _parse_line(self, line: bytes) -> tuple[Object | None, bool]:
        """The object of a line, and whether it was strict JSON."""
        strict = True
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            if not line.strip():
                return None, True
            strict = False
            text = line.replace(b"\0", b"").strip().rstrip(b",")
            if text in (b"", b"[", b"]"):
                return None, True  # a list with one row a line, while it is written
            try:
                row = lenient(text)
            except (ValueError, RecursionError):
                self._skip("line that is not JSON")
                begun = text.rfind(b'{"step"')
                if begun <= 0:
                    begun = text.rfind(b'{"')
                    if text[: max(begun, 0)].rstrip().endswith((b":", b"[", b",")):
                        begun = 0  # an object within this row
                if begun <= 0 or not text.endswith(b"}"):
                    return None, True
                return self._parse_line(text[begun:])  # a row that its writer's end cut off, and the next launch's
        if not isinstance(row, dict):
            self._skip("line that is no JSON object")
            return None, True
        return row, strict
