"""What stands before a message: colours, the time, level and place that logging puts there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rltui.lazy_regex import lazy

TRAINING = frozenset(("", "Training Progress", "Training Batches Processed", "Training Step Progress"))
"""Names of the bars that count training steps: the HF Trainer's, verl's, SkyRL's."""

_BAR = re.compile(
    rb"^(?P<process>(?:\x1b\[[0-9;]{0,9}m)*\([\w.]{0,80} ?pid=\d{1,9}(?:, ip=[0-9.]{1,40})?\)(?:\x1b\[[0-9;]{0,9}m)*)?"
    rb"[ ]*(?:(?P<name>[\w .\-/]+):[ ]+)?\d{1,3}%\|[^|]{0,1000}\|[ ]*(?P<done>\d{1,12})/(?P<total>\d{1,12})[ ]\["
)


@dataclass(frozen=True, slots=True)
class ProgressBar:
    """A painted bar. `nested`: it stands below another one (an evaluation's bar within the training's)."""

    done: int
    total: int
    name: str
    nested: bool


def bar(segment: bytes) -> ProgressBar | None:
    """The bar that a segment starts with, None where there is none. Text of other output may be glued after it."""
    found = _BAR.match(segment)
    if found is None:
        return None
    name = (found["name"] or b"").decode("ascii", "replace")
    if found["process"] and not name:
        return None  # any work of one of many processes
    return ProgressBar(int(found["done"]), int(found["total"]), name, segment.endswith(b"\x1b[A"))


_BAR_END = re.compile(rb"\|[ ]*\d{1,12}/\d{1,12}[ ]\[[^\]\n]{0,2000}\](?:\x1b\[[0-9;]*[A-Za-z]|\s)*")


def behind_bar(segment: bytes) -> bytes:
    """What is glued behind a painted bar, empty if nothing is."""
    found = _BAR_END.search(segment)
    return segment[found.end() :] if found else b""


_ROUND = re.compile(r"\bRound (\d{1,4}): (invalid [\w ]{1,60}?) count = (\d{1,9})/(\d{1,9})")
_RUNNING = re.compile(r"^epoch \d{1,9}, step (\d{1,15})$")


class InvalidRounds:
    """Turns them into a share for each round."""

    marks = (b"Round ", b"epoch ")

    def __init__(self) -> None:
        self._running: int | None = None

    def line(self, message: str, newest: int | None) -> tuple[int, dict[str, float]] | None:
        """Step and cell of a line, None for any other line or where no step is known."""
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


_ANSI = lazy(r"\x1b\[[0-9;]*m")
_STAMP = lazy(
    r"^(?:(?:DEBUG|INFO|WARNING):[\w.]{1,60}:"
    r"|\[?\d{4}-?\d\d-?\d\d[ T_-]\d\d:\d\d:\d\d[\d.,]*\S*|\d\d:\d\d:\d\d|\[?(?:DEBUG|INFO|SUCCESS|WARNING)\]?:?"
    r"|\d\d-\d\d \d\d:\d\d:\d\d|\[(?!(?:global[_ ]?)?step\b|iter)[^\]]{1,80}\]|\(AReaL\)|StatsLogger"
    r"|\S{1,60}\.py:\d+\]?|[\w.]{1,80}:\w*:?\d+|[-|:])\s*"
)

_LOGGER = lazy(r"^[A-Za-z_][\w.]{0,60} - ")
"""The name of a logger, behind a time or level."""


def plain(message: str) -> str:
    """A message without colours."""
    return _ANSI.sub("", message) if "\x1b" in message else message


def bare(message: str) -> str:
    """A message without the time, level and place that logging puts before it."""
    text = message.strip()
    while found := _STAMP.match(text) or (text != message and _LOGGER.match(text)):
        text = text[found.end() :]
    return text
