"""trainer_state.json of the HF Trainer: the log history up to a checkpoint, rewritten as a whole."""

from __future__ import annotations

from math import isfinite
from typing import Any

from rltui.readers.base import NO_STEP, ConfigRecord, Note, Record
from rltui.readers.config_text import flatten
from rltui.readers.json_document import DocumentReader
from rltui.readers.keys import step_of
from rltui.readers.rows import RowBuilder, number
from rltui.text import clean

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
            if "train_runtime" in row:
                text = ", ".join(
                    f"{k} {v:.6g}" for k, raw in row.items() if (v := number(raw)) is not None and isfinite(v)
                )
                out.append(Note("end", clean(text, 500), 0, step))
                continue
            rows.add(NO_STEP if step is None else step, row)
        return [*out, *rows.take()]
