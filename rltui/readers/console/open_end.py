"""The end of a log may go on. It is read as if nothing followed, and afterwards the state is as before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

_Known = TypeVar("_Known")


class OpenEnd(ABC, Generic[_Known]):
    """What a reader of lines keeps from line to line, and copies of it that read an end that may go on.

    Order of calls: `look_ahead`; read the beginning of an unfinished line, if there is one; `look_further`; read lines
    that were held back; `look_back`. Then `go_on` after bytes came after that line.
    """

    def __init__(self) -> None:
        self._kept: _Known | None = None  # while the end is read: the state without it
        self._ahead: _Known | None = None  # the state with the line that had not ended

    @property
    @abstractmethod
    def _known(self) -> _Known:
        """All that is kept from line to line."""

    @_known.setter
    @abstractmethod
    def _known(self, known: _Known) -> None: ...

    @abstractmethod
    def _copied(self) -> _Known:
        """A copy of it, which can read on and leaves the original unchanged."""

    def look_ahead(self) -> None:
        """Keeps the state, as what is read now may go on."""
        self._kept = self._known
        self._known = self._copied()

    def look_further(self, torn: bool) -> None:
        """If an unfinished line was read (`torn`), keeps the state with it too, in case the line was complete."""
        if torn:
            self._ahead = self._known
            self._known = self._copied()

    def go_back(self) -> None:
        """Restores the state from before the end was read."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self._known = kept

    def was_whole(self, whole: bool) -> bool:
        """Called if bytes came after the unfinished line. If that line was `whole`, it counts as read. Returns whether
        it counts."""
        ahead, self._ahead = self._ahead, None
        if not whole or ahead is None:
            return False
        self._known = ahead
        return True
