"""Files that the user asks for: written in order, and before the program ends."""

from __future__ import annotations

from threading import Event
from typing import Any
from unittest.mock import Mock

from rltui.tui.worker import Worker


def test_what_was_asked_for_last_is_written_last_and_quitting_waits_for_it() -> None:
    worker, gate, written = Worker(Mock(), Mock()), Event(), []

    def write(name: str, ready: Event | None = None) -> Any:
        def work() -> str:
            assert ready is None or ready.wait(60)
            written.append(name)
            return name

        return work

    worker.write("marks", write("first", gate))
    worker.write("marks", write("second"))
    gate.set()
    worker.stop()
    assert written == ["first", "second"]
