"""A file that is one JSON document, saved anew as a whole."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rltui.readers import saved_rows
from rltui.readers.base import NO_STEP, ConfigRecord, Note, Record
from rltui.readers.config_file import flatten
from rltui.readers.document_rows import END, end_of_training, evened, held, records
from rltui.readers.json_number import lenient
from rltui.readers.json_text import documents, whole_part
from rltui.readers.keys import step_of
from rltui.readers.rows import RowBuilder

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

    def parse(self, data: bytes) -> Any:
        """The document. Raises ValueError or RecursionError."""
        return lenient(data)

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
            document = self.parse(bytes(self._data))
        except (ValueError, RecursionError):
            self._skip(HALF, "byte 0")
            return []
        return self.records(document)

    def _skip(self, reason: str, place: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, place)


class JsonReader(DocumentReader):
    """Finds the rows of a document of any shape and reads each as `JsonlReader` reads a line. `name` is the file's,
    `run` the one that is read of several."""

    format = "json"

    def __init__(self, name: str = "", run: str = "") -> None:
        super().__init__()
        self._name = name
        self._run = run

    def parse(self, data: bytes) -> Any:
        if self._name.endswith(saved_rows.ENDINGS):
            try:
                return saved_rows.rows(data, self._name)
            except (ValueError, RecursionError):
                self._skip(HALF, f"byte {len(data)}")
                return saved_rows.whole_part(data, self._name)
        try:
            found = documents(data)
        except (ValueError, RecursionError):
            found = [evened(document) for document in whole_part(data)]
            self._skip(HALF, f"byte {len(data)}")
        return found[0] if len(found) == 1 else found

    def records(self, document: Any) -> list[Record]:
        found = held(document, self._name)
        if found is not None and found.runs:
            found = found.runs.get(self._run)
        if found is None:
            self._skip("document without rows of metrics", "byte 0")
            return []
        out = records(found, "document")
        for reason, count in out.skipped.items():
            self.skipped[reason] += count
            self.skipped_at.setdefault(reason, out.skipped_at[reason])
        return out.records


_CONFIG = ("max_steps", "num_train_epochs", "logging_steps", "save_steps", "eval_steps", "train_batch_size")


class TrainerStateReader(DocumentReader):
    """Training and `eval_*` rows of one step stand under the same step. NaN is written bare in these files."""

    format = "trainer-state"

    def records(self, document: Any) -> list[Record]:
        if not isinstance(document, dict) or not isinstance(document.get("log_history"), list):
            self._skip("document without log_history", "byte 0")
            return []
        out: list[Record] = [
            ConfigRecord(flatten({k: document[k] for k in _CONFIG if k in document}), "trainer_state.json")
        ]
        done, total = step_of(document.get("global_step"))[0], step_of(document.get("max_steps"))[0]
        if done is not None and total:
            out.append(Note("progress", f"step {done} of {total}", 0, done, total))
        rows = RowBuilder(self.skipped, self.skipped_at, lambda key: key != "step")
        for i, row in enumerate(document["log_history"]):
            if not isinstance(row, dict):
                self._skip("log_history entry that is no object", f"entry {i}")
                continue
            step = step_of(row.get("step"))[0]
            if END in row:
                out.append(end_of_training(row))
                continue
            rows.add(NO_STEP if step is None else step, row)
        return [*out, *rows.take()]
