"""Progress bars that differ from an earlier one only in their numbers. They are read at once, without checking again
what else may be in their line."""

from __future__ import annotations

from collections.abc import Callable

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import slots_of
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.progress_bar import ProgressBar, stamp_before

MOST_HEADS = 200
LONGEST = 200
"""Most bytes before the percentage."""
_NUMBER = b"0123456789 "
_REST = lazy(
    rb"(?:(?<=:)[ ]+|(?<!:)[ ]*)\d{1,3}%\|[^|{']{0,1000}\|[ ]*(\d{1,12})/(\d{1,12})[ ]\[[^\]\n{']{0,2000}\](\x1b\[A)?"
)
"""A bar from its percentage on, followed at most by the code that goes up to the bar above."""


class KnownBars:
    """The texts before the percentages of bars, and the names of these bars."""

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def learn(self, segment: bytes, painted: ProgressBar) -> None:
        """Takes a bar that is alone on its line."""
        head = segment[: segment.find(b"%|")].rstrip(_NUMBER)
        named = head.endswith(b":") and len(head) < LONGEST and not stamp_before(segment)
        if head in self._names or (head and not named) or _measures(head):
            return
        if len(self._names) >= MOST_HEADS:
            self._names.clear()
        self._names[head] = painted.name
        if self.read(segment) != painted:
            del self._names[head]

    def read(self, segment: bytes) -> ProgressBar | None:
        """The bar, if it is alone on its line and like one that was learned; else None."""
        head = segment[: segment.find(b"%|")].rstrip(_NUMBER)
        name = self._names.get(head)
        if name is None or (found := _REST.fullmatch(segment, len(head))) is None:
            return None
        return ProgressBar(int(found[1]), int(found[2]), name, found[3] is not None)


def _measures(head: bytes) -> bool:
    """Whether a text holds numbers: then the bar may come after a line of numbers."""
    return len(slots_of(split_prefix(head.decode("utf-8", "replace") + " 1")[1])) > 1


class BarsInTurn:
    """Paints bars in the order of their lines. While one rises, only its first and its last state matter: those between
    are skipped."""

    def __init__(self, paint: Callable[[ProgressBar, int], object]) -> None:
        self._paint = paint
        self._newest: ProgressBar | None = None
        self._waits = 0  # number of the line of the newest state, if it waits to be painted

    def take(self, painted: ProgressBar, line: int) -> None:
        before = self._newest
        if before is not None and before[1:] == painted[1:] and before.done <= painted.done:
            if before.done < painted.done:
                self._newest, self._waits = painted, line
            return
        self.end()
        self._newest = painted
        self._paint(painted, line)

    def end(self) -> None:
        """Paints the last state."""
        if self._waits and self._newest is not None:
            self._paint(self._newest, self._waits)
        self._newest, self._waits = None, 0
