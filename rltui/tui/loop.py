"""The screen's event loop: it goes before the threads that read and diagnose."""

from __future__ import annotations

import asyncio
import selectors
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from rltui import turns

if TYPE_CHECKING:
    from selectors import SelectorKey

WOKEN_WITHIN_S = 0.0005
"""A thread that wants to run while the screen waits for input is let in after so long. While the screen works, Python's
usual 5 ms hold, so that it is not interrupted at every step."""

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`."""
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(_Selector())) as runner:
        return runner.run(main)


class _Selector(selectors.DefaultSelector):
    """Takes the turn whenever there is something to do, until the loop waits again."""

    def __init__(self) -> None:
        super().__init__()
        self._usual_s = sys.getswitchinterval()

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        sys.setswitchinterval(WOKEN_WITHIN_S)
        turns.leave()
        try:
            return super().select(timeout)
        finally:
            turns.take()
            sys.setswitchinterval(self._usual_s)

    def close(self) -> None:
        turns.leave()
        super().close()
