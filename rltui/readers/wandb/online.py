"""What the W&B service answers, as records: rows of history, config, identity, end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan

from rltui.readers.base import NO_STEP, ConfigRecord, Exit, Record, RunInfo
from rltui.readers.config_file import flatten
from rltui.readers.keys import step_of, time_of
from rltui.readers.wandb.rows import RecordedRows
from rltui.sources.wandb_online import OnlineRun


class OnlineReader:
    """One run; the step of a row is told as in a W&B log on disk, whichever way it came."""

    format = "wandb-online"
    whole = False

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}
        self._rows = RecordedRows()
        self._config: Mapping[str, object] | None = None
        self._announced: str | None = None

    def identity(self, run: OnlineRun) -> list[Record]:
        """Who the run is and how it is set, when that is news."""
        if run.config == self._config:
            return []
        self._config = run.config
        info = {"run_id": run.id, "name": run.name, "project": run.project}
        if run.created:
            info["start_time"] = repr(run.created)
        kept = {key: value for key, value in run.config.items() if not key.startswith("_")}
        if run.tags:
            kept["wandb_tags"] = list(run.tags)
        return [RunInfo(info), ConfigRecord(flatten(kept), "wandb config")]

    def rows(self, logged: Sequence[Mapping[str, object]]) -> list[Record]:
        """Rows of history, in order."""
        whole = []
        for number, row in enumerate(logged):
            if not isinstance(row, Mapping):
                self.skipped["row that is no object"] += 1
                self.skipped_at.setdefault("row that is no object", f"row {number}")
                continue
            step = step_of(row.get("_step"))[0]
            cells = {str(key): value for key, value in row.items() if value is not None}
            whole.append((NO_STEP if step is None else step, time_of(row.get("_timestamp")), cells))
        out: list[Record] = [*self._rows.rows(whole)]
        if self._rows.step_key != self._announced and self._rows.step_key is not None:
            self._announced = self._rows.step_key
            out.append(RunInfo({"step_key": self._announced}))
        return out

    @staticmethod
    def end(run: OnlineRun, newest: float) -> list[Record]:
        """The end that the service states. `newest`: time of the newest row, NaN for none."""
        code = {"finished": 0}.get(run.state, 1)
        return [Exit(code, None if isnan(newest) else newest)] if run.ended else []

    def feed(self, data: bytes) -> list[Record]:
        """Nothing comes as bytes."""
        return []

    def finish(self) -> list[Record]:
        """Rows are whole."""
        return []
