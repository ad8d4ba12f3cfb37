"""What stands before a message: colours, the time, level and place that logging puts there."""

from __future__ import annotations

import re
from dataclasses import dataclass

import orjson

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


_NOTEBOOK = (b'[{"stream_name"', b'{"stream_name"')
_STAMPED = b'{"timestamp":'


def is_wrapped(head: bytes) -> bool:
    """Whether a file begins so. Only its first line counts: how much of the file is there makes no difference."""
    start = head.lstrip().partition(b"\n")[0][:1000]
    return start.startswith(_NOTEBOOK) or (
        start.startswith(_STAMPED) and b'"message":' in start and b'"level":' in start
    )


def may_be_wrapped(head: bytes) -> bool:
    """Whether only the rest of the first line will tell."""
    start = head.lstrip()
    return len(head) < 1 << 16 and b"\n" not in start and (_STAMPED.startswith(start) or start.startswith(_STAMPED))


def text_of(line: bytes) -> bytes | None:
    """The text within one line, with its newline; None for what is no such line. The brackets and commas of a JSON
    array around the lines do not matter."""
    try:
        item = orjson.loads(line.lstrip(b"[,").rstrip(b"],\r\n"))
        if "stream_name" in item:
            return str(item["data"]).encode("utf-8", "replace")
        text = f"{item['timestamp']} {item['level']} {item['message']}\n{item.get('exception') or ''}"
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
        return None
    return (text if text.endswith("\n") else text + "\n").encode("utf-8", "replace")


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
