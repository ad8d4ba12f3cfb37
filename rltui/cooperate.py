"""Whose turn it is: Python runs one thread at a time, and a key waits for whoever computes.

The screen takes the turn while it has something to do. Long work of other threads is done in pieces and gives way
between two of them. Where there is no screen nobody waits.
"""

from __future__ import annotations

from threading import Event, get_ident

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
