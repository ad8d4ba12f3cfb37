"""Progress bars as tqdm prints them."""

from __future__ import annotations

import re
from typing import NamedTuple

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import CTIME, DATE
from rltui.readers.console.named_numbers import UNIT, slots_of
from rltui.readers.console.notes import split_prefix
from rltui.readers.name_words import measures

TRAINING = frozenset(("", "Training Progress", "Training Batches Processed", "Training Step Progress"))
"""Names of the bars that count training steps: the HF Trainer's, verl's, SkyRL's."""

_BAR = lazy(
    rb"^(?P<process>(?:\x1b\[[0-9;]{0,9}m)*\([\w.]{0,80} ?pid=\d{1,9}(?:, ip=[0-9.]{1,40})?\)(?:\x1b\[[0-9;]{0,9}m)*)?"
    rb"[ ]*(?:(?P<name>[\w .\-/\[\]()#=]+):[ ]+)?"
    rb"\d{1,3}%\|[^|]{0,1000}\|[ ]*(?P<done>\d{1,12})/(?P<total>\d{1,12})[ ]\["
)

_BARE = lazy(
    rb"^[ ]*(?:(?P<name>[A-Za-z][\w .\-/\[\]()#=]{0,80}):[ ]+)?(?:\d{1,3}%[ ]+)?(?P<done>\d{1,12})/(?P<total>\d{1,12})"
    rb"[ ]\[[\d:]{4,12}<[\d:?]{1,12},[^\]\n]{1,60}\](?=[ ]*(?:\{'|$))"
)
"""A bar without its graphic, as the terminal had no room for it; alone or before a dict."""

_IN_WORDS = lazy(
    rb"^[ ]*(?P<name>[^\s{}%|][^{}\r\n]{0,300}?):[ ]+\d{1,3}%\|[^|]{0,1000}\|[ ]*"
    rb"(?P<done>\d{1,12})/(?P<total>\d{1,12})[ ]\["
)
"""A bar with any description, `train[grpo|gsm8k]:  10%|..`. A loop may set numbers in it at each step, `loss: 0.31 |
reward: 0.5:  10%|..`: what stands right before the percentage is then a number. If numbers are before a word, the bar
is behind a printed line."""
_ENDS_IN_NUMBER = lazy(r"\d[\w%)\]]*(?: [A-Za-z]{1,8}/[A-Za-z]{1,6}| [KMGT]i?B)?$")

_STAMPED = lazy(
    rf"(?:(?:\[?[a-z][\w.\-/]{{0,120}}\]? ){{0,2}}[\[(<]?(?:{DATE}[T ][\d:.,]{{8,18}}(?:Z|[+-]\d\d:?\d\d)?|{CTIME})"
    r"[\])>]?:? (?:std(?:out|err) [FP] )?)".encode()
)
"""The time that a container or a filter puts before each line, including those of bars."""


class ProgressBar(NamedTuple):
    """A printed bar. `nested`: it is below another one (the bar of an evaluation inside that of the training)."""

    done: int
    total: int
    name: str
    nested: bool


def bar(segment: bytes) -> ProgressBar | None:
    """The bar that a segment starts with; None if there is none. Other output may follow it directly."""
    segment = segment[stamp_before(segment) :]
    found = _BAR.match(segment)
    if found is None:
        bare = _BARE.match(segment) if _has_rate(segment) else None
        bare = bare or _in_words(segment)
        if bare is None:
            return None
        return ProgressBar(
            int(bare["done"]), int(bare["total"]), (bare["name"] or b"").decode("utf-8", "replace"), False
        )
    process, name, done, total = found.groups()
    if process and not name:
        return None  # unknown work of one of many processes
    return ProgressBar(int(done), int(total), (name or b"").decode("ascii", "replace"), segment.endswith(b"\x1b[A"))


def _in_words(segment: bytes) -> re.Match[bytes] | None:
    found = _IN_WORDS.match(segment)
    if found is None:
        return None
    name = found["name"].decode("utf-8", "replace")
    alone = _ENDS_IN_NUMBER.search(name) is not None or not measures(slot.name for slot in slots_of(name))
    return found if alone else None


def stamp_before(segment: bytes) -> int:
    """The length of the time before a bar, 0 if there is none."""
    stamped = _STAMPED.match(segment)
    return 0 if stamped is None else stamped.end()


_GLUED = lazy(rb"(?<=[\d\])}a-z%])[ ]*(?:(?<=[\d\])} ])[A-Za-z][A-Za-z _\-/]{0,80}:)?[ ]+\d{1,3}%\|")

_DRAWN = lazy(rb"(\d{1,20})%\|[^|]{0,1000}\|[ ]*(\d{1,12})/(\d{1,12})[ ]\[")


def bar_after(segment: bytes) -> int:
    """Where a bar begins that another program printed behind a line of numbers, `loss 0.3Processed prompts: 50%|`;
    0 if there is none, or if only words of the bar's own are before it."""
    if (found := _GLUED.search(segment)) is not None:
        at = found.start()
        if UNIT.fullmatch(found[0].strip().partition(b":")[0].decode("ascii", "replace")) and _in_words(segment):
            return 0
    elif (drawn := _DRAWN.search(segment)) is not None and int(drawn[3]):
        share = b"%.0f" % (100 * int(drawn[2]) / int(drawn[3]))  # its digits follow those of a number
        at = drawn.end(1) - len(share) if len(share) < len(drawn[1]) and drawn[1].endswith(share) else 0
    else:
        return 0
    if not at or bar(segment[at:].lstrip()) is None:
        return 0
    before = slots_of(split_prefix(segment[:at].decode("utf-8", "replace"))[1])
    return at if len(before) > 1 and measures([slot.name for slot in before], "training") else 0


_BAR_END = lazy(rb"(?:\||%|^)[ ]*\d{1,12}/\d{1,12}[ ]\[[^\]\n]{0,2000}\](?:\x1b\[[0-9;]*[A-Za-z]|\s)*")


def behind_bar(segment: bytes) -> bytes:
    """The text directly after a printed bar; empty if there is none."""
    drawn = segment.find(b"%|")
    found = _BAR_END.search(segment, segment.find(b"|", drawn + 2) if drawn >= 0 else 0)
    return segment[found.end() :] if found else b""


def may_be_bar(segment: bytes) -> bool:
    """Whether a segment may hold a bar."""
    return b"%|" in segment or _has_rate(segment)


def _has_rate(segment: bytes) -> bool:
    return b"it/s]" in segment or b"s/it]" in segment


_BLANK = lazy(rb" {10,}")


class Blanks:
    """Tells whether a cleared bar is right before a place of a log, even if it was in earlier text. `after`: the text
    so far ends with one."""

    def __init__(self) -> None:
        self.after = False
        self._above: bool | None = None  # `after` before the unfinished line

    def before(self, text: bytes, at: int) -> bool:
        """Whether a cleared bar is right before a place of the newest text."""
        blank = blank_before(text, at)
        return self.after if blank is None else blank

    def look_ahead(self) -> None:
        """Keeps the state, as the next line may be unfinished."""
        self._above = self.after = self.after if self._above is None else self._above

    def go_on(self, whole: bool) -> None:
        """Called if bytes came after the unfinished line. `whole`: it had been complete."""
        if self._above is not None and not whole:
            self.after = self._above
        self._above = None


def blank_before(text: bytes, at: int) -> bool | None:
    """Whether the segment before this place (empty ones do not count) is a cleared bar; None if the text begins
    here."""
    while at and text[at - 1] in b"\r\n":
        at -= 1
    if not at:
        return None
    if text[at - 1] != 0x20:
        return False
    begin = max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at)) + 1
    return _BLANK.fullmatch(text, begin, at) is not None
