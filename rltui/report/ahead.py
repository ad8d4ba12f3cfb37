"""The first values of a run, worked out by a forked process while this one loads the screen.

Python runs one thread at a time: beside the loading of Textual, finding the run and reading the end of its log would
take as long as after it.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from rltui.report.first_values import FirstValues

PATIENCE_S = 0.5
"""So long at most the values are waited for where they are not there yet: finding the run may take long."""


class Ahead:
    """To be made before any thread is started. Without a second process there are no first values."""

    def __init__(self, targets: Sequence[str], key_map: Mapping[str, str], format_in: str | None) -> None:
        self._pid = 0
        self._values, write = os.pipe()
        with suppress(OSError):
            self._pid = os.fork()
            if not self._pid:
                _work(write, targets, key_map, format_in)
        os.close(write)

    def take(self, patience_s: float = PATIENCE_S) -> FirstValues | None:
        """What the other process found, once; None where it found nothing to show, or not in time."""
        data, until = b"", time.monotonic() + patience_s
        while select.select([self._values], [], [], max(0.0, until - time.monotonic()))[0]:
            piece = os.read(self._values, 1 << 16)
            if not piece:
                break
            data += piece
        else:
            data = b""
        os.close(self._values)
        if self._pid:
            with suppress(OSError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
        values: FirstValues | None = pickle.loads(data) if data else None
        return values


def _work(write: int, targets: Sequence[str], key_map: Mapping[str, str], format_in: str | None) -> None:
    """What the other process does: it writes the first values, if there are any, and is gone."""
    try:
        from rltui.report.first_values import first_values
        from rltui.session.locate import locate

        found = locate(targets, format_in)
        values = first_values(found[0], key_map) if len(found) == 1 else None
        with os.fdopen(write, "wb") as out:
            pickle.dump(values, out)
    finally:
        os._exit(0)  # whatever went wrong is met again, and told, by the one that opens the run
