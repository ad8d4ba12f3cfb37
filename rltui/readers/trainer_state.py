"""trainer_state.json of the HF Trainer: the log history up to a checkpoint, rewritten as a whole."""

from __future__ import annotations

import json
from collections import Counter
from math import isfinite

from rltui.readers.base import NO_STEP, ConfigRecord, Note, Record
from rltui.readers.config_text import flatten
from rltui.readers.keys import step_of
from rltui.readers.rows import RowBuilder, number
from rltui.text import clean

MAX_BYTES = 1 << 28
_CONFIG = ("max_steps", "num_train_epochs", "logging_steps", "save_steps", "eval_steps", "train_batch_size")


class TrainerStateReader:
    """Training and `eval_*` rows of one step stand under the same step. NaN is written bare in these files."""

    format = "trainer-state"
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
            state = json.loads(self._data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            self._skip("document that is not JSON (half written?)", "byte 0")
            return []
        self._read_size = len(self._data)
        if not isinstance(state, dict) or not isinstance(state.get("log_history"), list):
            self._skip("document without log_history", "byte 0")
            return []
        out: list[Record] = [ConfigRecord(flatten({k: state[k] for k in _CONFIG if k in state}), "trainer_state.json")]
        done, total = step_of(state.get("global_step"))[0], step_of(state.get("max_steps"))[0]
        if done is not None and total:
            out.append(Note("progress", f"step {done} of {total}", 0, done, total))
        rows = RowBuilder(self.skipped, self.skipped_at, lambda key: key != "step")
        for i, row in enumerate(state["log_history"]):
            if not isinstance(row, dict):
                self._skip("log_history entry that is no object", f"entry {i}")
                continue
            step = step_of(row.get("step"))[0]
            if "train_runtime" in row:
                text = ", ".join(
                    f"{k} {v:.6g}" for k, raw in row.items() if (v := number(raw)) is not None and isfinite(v)
                )
                out.append(Note("end", clean(text, 500), 0, step))
                continue
            rows.add(NO_STEP if step is None else step, row)
        return [*out, *rows.take()]

    def _skip(self, reason: str, place: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, place)
