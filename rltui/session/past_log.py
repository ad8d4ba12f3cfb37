"""The log as it stood at a step, where lines may carry no time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rltui.readers.base import LogLine, Note


def log_until(
    log: Sequence[LogLine], notes: Iterable[Note], step: int, share: float, until: float | None
) -> tuple[LogLine, ...]:
    """Lines written up to a step: by their time where they and the step (`until`, seconds) have one, else by the order
    of the file: before the first line that names a later step, and within the `share` of the rows that came by then."""
    if not log or share >= 1.0:
        return tuple(log)
    numbers = [line.line for line in log if line.line]
    first, last = (min(numbers), max(numbers)) if numbers else (0, 0)
    later = [note.line for note in notes if note.line >= first and note.step is not None and note.step > step]
    end = min([first + share * (last - first), *(line - 1 for line in later)])
    return tuple(
        line
        for line in log
        if (line.time <= until if line.time is not None and until is not None else 0 < line.line <= end)
    )
