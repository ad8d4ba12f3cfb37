"""Files that are one document and are rewritten as a whole at each save: JSON, or rows as YAML or TOML. The rows are in
a list, each a document of its own, or each under its step. A config is not such a file.
"""

from __future__ import annotations

import datetime
import json
import tomllib
from collections import Counter
from typing import Any

from rltui.readers.base import NO_STEP, ConfigRecord, Note, Record
from rltui.readers.config_file import flatten
from rltui.readers.document_rows import END, end_of_training, evened, held, records
from rltui.readers.json_text import documents, whole_part
from rltui.readers.keys import step_of
from rltui.readers.literals import lenient
from rltui.readers.row_kinds import measures
from rltui.readers.rows import RowBuilder

FEWEST_ROWS = 3
MAX_VALUES = 4_000_000
ENDINGS = (".yaml", ".yml", ".toml")
_TOML = ".toml"
_BEGINS_ROW = b"-0123456789"


def saved_rows(text: bytes, name: str) -> Any:
    """The document as JSON would hold it. Raises ValueError or RecursionError if it holds no rows. `name`: the file's
    name, whose ending shows the syntax."""
    return _toml(text) if name.endswith(_TOML) else _yaml(text)


def _yaml(text: bytes) -> Any:
    import yaml  # late: few runs need it

    from rltui.readers.config_file import bounded

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        documents = list(yaml.load_all(text.decode("utf-8", "replace").replace("\0", ""), Loader=loader))  # type: ignore[no-untyped-call]
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    found = documents[0] if len(documents) == 1 else [one for one in documents if one is not None]
    if not _may_be_rows(found) or not bounded(found, MAX_VALUES):
        raise ValueError("no rows")
    return json.loads(json.dumps(found, default=str, skipkeys=True))


def _toml(text: bytes) -> Any:
    """A TOML document: settings above the rows are kept beside them, like a config in a JSON document."""
    found = tomllib.loads(text.decode("utf-8", "replace").replace("\0", ""))
    lists = [value for value in found.values() if isinstance(value, list) and _may_be_rows(value)]
    if not any(measures(rows[0]) for rows in lists):  # a learning-rate schedule has steps, too
        raise ValueError("no rows")
    return json.loads(json.dumps(found, default=_stated, skipkeys=True))


def _stated(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime.datetime) else str(value)


def saved_part(text: bytes, name: str) -> Any:
    """The same for a file that is cut off: the document without its last row."""
    lines = text.split(b"\n")
    first = b"[" if name.endswith(_TOML) else _BEGINS_ROW
    begins = [at for at, line in enumerate(lines) if line[:1] and line[:1] in first]
    return saved_rows(b"\n".join(lines[: begins[-1]] if begins else []), name)


def _may_be_rows(document: Any) -> bool:
    if isinstance(document, list):
        return len(document) >= FEWEST_ROWS and all(isinstance(row, dict) for row in document)
    if not isinstance(document, dict) or len(document) < FEWEST_ROWS:
        return False
    return all(type(step) is int and isinstance(row, dict) for step, row in document.items())


MAX_BYTES = 1 << 28
HALF = "document that is not JSON (half written?)"


class DocumentReader:
    """Collects the bytes of a document; the reader of each kind of document implements `records`."""

    format = ""
    whole = True

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._data = bytearray()
        self._read_size = 0

    def records(self, document: Any) -> list[Record]:
        """The records that the parsed document holds."""
        raise NotImplementedError

    def parse(self, data: bytes) -> Any:
        """Parses the document. Raises ValueError or RecursionError."""
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
    """Finds the rows of a document of any shape and reads each as `JsonlReader` reads a line. `name`: the file's name;
    `run`: the run to read, if there are several."""

    format = "json"

    def __init__(self, name: str = "", run: str = "") -> None:
        super().__init__()
        self._name = name
        self._run = run

    def parse(self, data: bytes) -> Any:
        if self._name.endswith(ENDINGS):
            try:
                return saved_rows(data, self._name)
            except (ValueError, RecursionError):
                self._skip(HALF, f"byte {len(data)}")
                return saved_part(data, self._name)
        try:
            found = documents(data)
        except (ValueError, RecursionError):
            found = [evened(document) for document in whole_part(data)]
            if _is_torn(found):
                found.pop()
            self._skip(HALF, f"byte {len(data)}")
        return found[0] if len(found) == 1 else found

    def records(self, document: Any) -> list[Record]:
        found = held(document, self._name)
        if found is not None and found.runs and (self._run or not found.rows):
            found = found.runs.get(self._run)
        if found is None:
            self._skip("document without rows of metrics", "byte 0")
            return []
        out = records(found, "document")
        for reason, count in out.skipped.items():
            self.skipped[reason] += count
            self.skipped_at.setdefault(reason, out.skipped_at[reason])
        return out.records


def _is_torn(objects: list[Any]) -> bool:
    """Whether the last of several objects lacks names that the one before has, because it is still being written."""
    last, before = objects[-1], objects[-2] if len(objects) > 1 else None
    return isinstance(last, dict) and isinstance(before, dict) and last.keys() < before.keys()


_CONFIG = ("max_steps", "num_train_epochs", "logging_steps", "save_steps", "train_batch_size")
_CONFIG_IF_EVALUATED = ("eval_steps",)
"""The state holds the default of these (500) also if nothing is ever evaluated."""


class TrainerStateReader(DocumentReader):
    """The HF Trainer's state. Training and `eval_*` rows of one step have the same step. NaN is written bare in these
    files."""

    format = "trainer-state"

    def records(self, document: Any) -> list[Record]:
        if not isinstance(document, dict) or not isinstance(document.get("log_history"), list):
            self._skip("document without log_history", "byte 0")
            return []
        evaluated = any(
            str(key).startswith("eval_") for row in document["log_history"] if isinstance(row, dict) for key in row
        )
        known = (*_CONFIG, *(_CONFIG_IF_EVALUATED if evaluated else ()))
        out: list[Record] = [
            ConfigRecord(flatten({k: document[k] for k in known if k in document}), "trainer_state.json")
        ]
        done, total = step_of(document.get("global_step"))[0], step_of(document.get("max_steps"))[0]
        if done is not None and total:
            out.append(Note("progress", f"step {done} of {total}", 0, done, total))
        rows = RowBuilder(self.skipped, self.skipped_at, lambda key: key != "step")
        for i, row in enumerate(document["log_history"]):
            if not isinstance(row, dict):
                self._skip("log_history entry that is not an object", f"entry {i}")
                continue
            step = step_of(row.get("step"))[0]
            if END in row:
                out.append(end_of_training(row))
                continue
            rows.add(NO_STEP if step is None else step, row)
        return [*out, *rows.take()]
