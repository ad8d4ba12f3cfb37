"""What a console log says beside numbers: notes and settings, and how far the work is."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.readers.base import ConfigRecord, Note, Record
from rltui.readers.console.progress_bar import ProgressBar
from rltui.text import clean


class LogNews:
    """Collects it in the order of the lines; of how far the work is, only the newest."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._newest: dict[str, Note] = {}
        self._progress: tuple[int | None, int | None] = (None, None)
        self._other_bar: ProgressBar | None = None

    def add(self, records: Iterable[Note | ConfigRecord]) -> None:
        for record in records:
            if isinstance(record, Note) and record.kind in ("progress", "phase"):
                self._newest[record.kind] = record
            else:
                self._records.append(record)

    def progress(self, done: int, total: int, line: int) -> None:
        """So many steps are done of those that are planned."""
        if self._progress != (done, total):
            self._progress = (done, total)
            self._newest["progress"] = Note("progress", f"step {done} of {total}", line, done, total)

    def other_work(self, painted: ProgressBar, line: int) -> None:
        """A bar of a validation or a rollout under way."""
        if painted.total and painted != self._other_bar:
            self._other_bar = painted
            done = f"{painted.name or 'other work'}: {painted.done} of {painted.total}"
            self._newest["phase"] = Note("phase", clean(done, 200), line)

    def take(self) -> list[Record]:
        """All since the last call."""
        records = [*self._records, *self._newest.values()]
        self._records.clear()
        self._newest.clear()
        return records
