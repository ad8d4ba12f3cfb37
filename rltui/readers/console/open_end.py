"""A log's end that may go on: it is read as if nothing followed, and known afterwards as it was before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

_Known = TypeVar("_Known")


class OpenEnd(ABC, Generic[_Known]):
    """What a reader of lines keeps from line to line, and copies of it that read what may go on.

    `look_ahead`, then the beginning of a line if there is one, `look_further`, then lines that were held back and that
    more may follow, `look_back`. `go_on` once bytes came behind that line.
    """

    def __init__(self) -> None:
        self._kept: _Known | None = None  # while the end is read: without it
        self._ahead: _Known | None = None  # with the line that had not ended

    @property
    @abstractmethod
    def _known(self) -> _Known:
        """All that is kept from line to line."""

    @_known.setter
    @abstractmethod
    def _known(self, known: _Known) -> None: ...

    @abstractmethod
    def _copied(self) -> _Known:
        """A copy of it, which reads on and leaves the original as it is."""

    def look_ahead(self) -> None:
        """What comes now may go on."""
        self._kept = self._known
        self._known = self._copied()

    def look_further(self, torn: bool) -> None:
        """A line without its end was read if it is `torn`: with it all is known should it turn out to be whole."""
        if torn:
            self._ahead = self._known
            self._known = self._copied()

    def go_back(self) -> None:
        """The end was read: all is known as it was before."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self._known = kept

    def was_whole(self, whole: bool) -> bool:
        """Bytes came behind the line that was read before its end came, and it had ended there if it was `whole`: then
        it counts as read. Whether there was such a line."""
        ahead, self._ahead = self._ahead, None
        if not whole or ahead is None:
            return False
        self._known = ahead
        return True
