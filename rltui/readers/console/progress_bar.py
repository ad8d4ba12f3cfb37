"""Progress bars as tqdm paints them."""

from __future__ import annotations

import re
from typing import NamedTuple

from rltui.readers.console.lead import CTIME, DATE

TRAINING = frozenset(("", "Training Progress", "Training Batches Processed", "Training Step Progress"))
"""Names of the bars that count training steps: the HF Trainer's, verl's, SkyRL's."""

_BAR = re.compile(
    rb"^(?P<process>(?:\x1b\[[0-9;]{0,9}m)*\([\w.]{0,80} ?pid=\d{1,9}(?:, ip=[0-9.]{1,40})?\)(?:\x1b\[[0-9;]{0,9}m)*)?"
    rb"[ ]*(?:(?P<name>[\w .\-/\[\]()#]+):[ ]+)?\d{1,3}%\|[^|]{0,1000}\|[ ]*(?P<done>\d{1,12})/(?P<total>\d{1,12})[ ]\["
)

_BARE = re.compile(
    rb"^[ ]*(?:\d{1,3}%[ ]+)?(?P<done>\d{1,12})/(?P<total>\d{1,12})"
    rb"[ ]\[[\d:]{4,12}<[\d:?]{1,12},[^\]\n]{1,60}\](?=[ ]*(?:\{'|$))"
)
"""One that stands alone or before a dict, and whose bar the place that it was painted at had no room for."""

_STAMPED = re.compile(
    rf"(?:(?:\[?[a-z][\w.\-/]{{0,120}}\]? ){{0,2}}[\[(<]?(?:{DATE}[T ][\d:.,]{{8,18}}(?:Z|[+-]\d\d:?\d\d)?|{CTIME})"
    r"[\])>]?:? (?:std(?:out|err) [FP] )?)".encode()
)
"""The time that a container or a filter puts before each line, be it one of a bar."""


class ProgressBar(NamedTuple):
    """A painted bar. `nested`: it stands below another one (an evaluation's bar within the training's)."""

    done: int
    total: int
    name: str
    nested: bool


def bar(segment: bytes) -> ProgressBar | None:
    """The bar that a segment starts with, None where there is none. Text of other output may be glued after it."""
    segment = segment[stamp_before(segment) :]
    found = _BAR.match(segment)
    if found is None:
        bare = _BARE.match(segment) if _has_rate(segment) else None
        return None if bare is None else ProgressBar(int(bare["done"]), int(bare["total"]), "", False)
    process, name, done, total = found.groups()
    if process and not name:
        return None  # any work of one of many processes
    return ProgressBar(int(done), int(total), (name or b"").decode("ascii", "replace"), segment.endswith(b"\x1b[A"))


def stamp_before(segment: bytes) -> int:
    """The length of the time before a bar, 0 if there is none."""
    stamped = _STAMPED.match(segment)
    return 0 if stamped is None else stamped.end()


_BAR_END = re.compile(rb"(?:\||%|^)[ ]*\d{1,12}/\d{1,12}[ ]\[[^\]\n]{0,2000}\](?:\x1b\[[0-9;]*[A-Za-z]|\s)*")


def behind_bar(segment: bytes) -> bytes:
    """What is glued behind a painted bar, empty if nothing is."""
    found = _BAR_END.search(segment)
    return segment[found.end() :] if found else b""


def may_be_bar(segment: bytes) -> bool:
    """Whether a segment is worth a look for one."""
    return b"%|" in segment or _has_rate(segment)


def _has_rate(segment: bytes) -> bool:
    return b"it/s]" in segment or b"s/it]" in segment


_BLANK = re.compile(rb" {10,}")


class Blanks:
    """Whether what stands before a place of a log is a blanked bar, be it in text that came earlier. `after`: it ends
    with one so far."""

    def __init__(self) -> None:
        self.after = False
        self._above: bool | None = None  # `after` before a line that was read before its end

    def before(self, text: bytes, at: int) -> bool:
        """At a place of the newest text."""
        blank = blank_before(text, at)
        return self.after if blank is None else blank

    def look_ahead(self) -> None:
        """The text that comes now may be the beginning of a line."""
        self._above = self.after = self.after if self._above is None else self._above

    def go_on(self, whole: bool) -> None:
        """Bytes came behind that line; `whole`: it had ended there."""
        if self._above is not None and not whole:
            self.after = self._above
        self._above = None


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
