"""Notifications by the terminal that the watch was started in, whatever its output is redirected to."""

from __future__ import annotations

import contextlib
import os

from rltui.events.alerts import BELL, headline, notification
from rltui.events.changes import Event
from rltui.settings.model import Alerts


class Terminal:
    """Writes to the controlling terminal and never waits for it. Raises OSError where there is none."""

    def __init__(self, own: Alerts) -> None:
        self._own = own
        self._handle = os.open("/dev/tty", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)

    def send(self, event: Event) -> None:
        text = notification(headline(event), self._own.notify, os.environ) + (BELL if self._own.bell else "")
        with contextlib.suppress(OSError):  # a terminal that is stopped or gone: the event is printed all the same
            os.write(self._handle, text.encode())

    def close(self) -> None:
        os.close(self._handle)
