"""Whose turn it is: Python runs one thread at a time, and a key waits for whoever computes.

The screen takes the turn while it has something to do. Long work of other threads is done in pieces and gives way
between two of them. Where there is no screen nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread, get_ident
from typing import Generic, TypeVar

T = TypeVar("T")

PATIENCE_S = 0.1
"""So long at most work waits for one turn: a screen that is held up itself does not stop the reading."""

_free = Event()
_free.set()
_taken_by = 0


def take() -> None:
    """The calling thread goes first from now on."""
    global _taken_by
    _taken_by = get_ident()
    _free.clear()


def leave() -> None:
    """It has nothing to do."""
    _free.set()


def give_way() -> None:
    """To be called between two pieces of long work."""
    if not _free.is_set() and get_ident() != _taken_by and not _free.wait(PATIENCE_S):
        _free.set()  # until it is taken again


class Meanwhile(Generic[T]):
    """Work that mostly does not need the turn, as that of polars: a thread of its own does it while the caller goes
    on."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._done: list[T] = []
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="rltui-meanwhile", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._done.append(self._work())
        except BaseException as error:  # for who asks for the result
            self._error = error

    def result(self) -> T:
        """Waits until the work is done. What the work raised is raised here."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._done[0]
