"""Alerts on the screen: the bell, a notification by the terminal (also over ssh and through tmux), a toast."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltui.events.alerts import Gate
    from rltui.events.changes import Event
    from rltui.tui.shell import Shell

TOAST_S = 12.0


class AlertSender:
    """Calls the user on the events that his settings let through."""

    def __init__(self, app: Shell) -> None:
        self._app = app
        self._gate: Gate | None = None
        self.on = True

    def toggle(self) -> None:
        """Off until the user leaves, and back."""
        self.on = not self.on
        self._app.say("alerts as your settings have them" if self.on else "no alerts until you leave")

    def tell(self, events: Iterable[Event]) -> None:
        from rltui import settings  # not at the top: the first paint needs none of it
        from rltui.events.alerts import BELL, Gate, headline, notification

        self._gate = self._gate or Gate(settings.load().alerts)
        own = self._gate.own
        for event in events:
            if not self.on or not self._gate.lets(event, time.time()):
                continue
            text = headline(event)
            self._app.send(notification(text, own.notify, os.environ) + (BELL if own.bell else ""))
            if own.toast and self._app.glyphs.name == "ascii":  # the box has a border that ASCII cannot draw
                self._app.say(self._app.glyphs.translate(text), "warn", seconds=TOAST_S)
            elif own.toast:
                severity = {"critical": "error", "warning": "warning"}.get(event.severity or "", "information")
                self._app.toast(text, severity, TOAST_S)
