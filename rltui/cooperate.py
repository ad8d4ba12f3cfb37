"""Which thread goes first. Python runs one thread at a time, so a key press waits while another thread computes.

The screen takes the turn while it has something to do. Long work in other threads is done in pieces and gives way
between them. If there is no screen, nothing waits.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread, get_ident
from typing import Generic, TypeVar

T = TypeVar("T")

PATIENCE_S = 0.1
"""The most seconds that work waits for its turn, so that a blocked screen does not stop the reading."""

_free = Event()
_free.set()
_taken_by = 0


def take() -> None:
    """From now on the calling thread goes first."""
    global _taken_by
    _taken_by = get_ident()
    _free.clear()


def leave() -> None:
    """The calling thread has nothing to do, so other threads may go on."""
    _free.set()


def give_way() -> None:
    """Waits while the screen has the turn. Call this between two pieces of long work."""
    if not _free.is_set() and get_ident() != _taken_by and not _free.wait(PATIENCE_S):
        _free.set()  # until some thread takes the turn again


class Meanwhile(Generic[T]):
    """Work that mostly does not need the turn, such as that of polars. It runs in a thread of its own."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._done: list[T] = []
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="rltui-meanwhile", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._done.append(self._work())
        except BaseException as error:  # `result` raises it for its caller
            self._error = error

    def result(self) -> T:
        """Waits until the work is done. Raises what the work raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._done[0]
