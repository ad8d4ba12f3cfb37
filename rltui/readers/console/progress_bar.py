"""Progress bars as tqdm paints them."""

from __future__ import annotations

import re
from typing import NamedTuple

TRAINING = frozenset(("", "Training Progress", "Training Batches Processed", "Training Step Progress"))
"""Names of the bars that count training steps: the HF Trainer's, verl's, SkyRL's."""

_BAR = re.compile(
    rb"^(?P<process>(?:\x1b\[[0-9;]{0,9}m)*\([\w.]{0,80} ?pid=\d{1,9}(?:, ip=[0-9.]{1,40})?\)(?:\x1b\[[0-9;]{0,9}m)*)?"
    rb"[ ]*(?:(?P<name>[\w .\-/\[\]()#]+):[ ]+)?\d{1,3}%\|[^|]{0,1000}\|[ ]*(?P<done>\d{1,12})/(?P<total>\d{1,12})[ ]\["
)


class ProgressBar(NamedTuple):
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
    process, name, done, total = found.groups()
    if process and not name:
        return None  # any work of one of many processes
    return ProgressBar(int(done), int(total), (name or b"").decode("ascii", "replace"), segment.endswith(b"\x1b[A"))


_BAR_END = re.compile(rb"\|[ ]*\d{1,12}/\d{1,12}[ ]\[[^\]\n]{0,2000}\](?:\x1b\[[0-9;]*[A-Za-z]|\s)*")


def behind_bar(segment: bytes) -> bytes:
    """What is glued behind a painted bar, empty if nothing is."""
    found = _BAR_END.search(segment)
    return segment[found.end() :] if found else b""


_BLANK = re.compile(rb" {10,}")


def blank_before(text: bytes, at: int) -> bool | None:
    """Whether the segment before this place (empty ones do not count) is a blanked bar; None if the text begins
    here."""
    while at and text[at - 1] in b"\r\n":
        at -= 1
    if not at:
        return None
    if text[at - 1] != 0x20:
        return False
    begin = max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at)) + 1
    return _BLANK.fullmatch(text, begin, at) is not None
