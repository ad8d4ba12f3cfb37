"""The share of drafts of an invalid format in each round, as some loops print it beside their step lines."""

from __future__ import annotations

import re

_ROUND = re.compile(r"\bRound (\d{1,4}): (invalid [\w ]{1,60}?) count = (\d{1,9})/(\d{1,9})")
_RUNNING = re.compile(r"^epoch \d{1,9}, step (\d{1,15})$")


class InvalidRounds:
    """Reads the share of invalid drafts in each round: `Round 1: invalid draft format count = 3/16`."""

    marks = (b"Round ", b"epoch ")

    def __init__(self) -> None:
        self._running: int | None = None

    def line(self, message: str, newest: int | None) -> tuple[int, dict[str, float]] | None:
        """Step and cell of a line; None for any other line, or if no step is known."""
        if "Round " not in message and not message.startswith("epoch "):
            return None
        running = _RUNNING.match(message.strip())
        if running is not None:
            self._running = int(running[1])
        found = _ROUND.search(message)
        if found is None or int(found[4]) == 0:
            return None
        step = self._running if self._running is not None else None if newest is None else newest + 1
        if step is None:
            return None
        return step, {f"{found[2].replace(' ', '_')}/round_{found[1]}": int(found[3]) / int(found[4])}
