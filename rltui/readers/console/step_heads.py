"""How step lines begin: a line that was cut off as its writer ended may have one of them behind it."""

from __future__ import annotations

from collections.abc import Callable

from rltui.lazy_regex import lazy

CUT_OFF = "line cut off by the one that follows it"
_WORDS = lazy(r"[^\d]*")


class StepHeads:
    """`head`: the words before the first number of step lines, without the prefix of logging. `skip`: called with the
    reason if a line was cut off."""

    def __init__(self, skip: Callable[[str], None]) -> None:
        self._skip = skip
        self._begin = self.head = ""

    def keep(self, raw: str, message: str) -> None:
        """Takes a step line. `message`: the line without the prefix of logging."""
        self._begin, self.head = _head_of(raw), _head_of(message)

    def whole(self, raw: str, message: str) -> str:
        """The step line after one that was cut off because its writer ended; any other line unchanged. `message`: the
        line without the prefix of logging."""
        at = raw.rfind(self._begin) if self._begin else 0
        if at > 0 and self._begin.startswith(raw[:at]):  # cut off before its first number
            return raw[at:]
        at = message.rfind(self.head) if self.head else 0
        if at <= 0 or message.find(self.head) > 0:
            return raw
        self._skip(CUT_OFF)
        return message[at:]


def _head_of(message: str) -> str:
    """The words that a step line begins with, if they distinguish it from others; else ""."""
    words = _WORDS.match(message)
    head = words[0] if words is not None else ""
    return head if len(head) > 3 and any(map(str.isalpha, head)) and message.count(head) == 1 else ""
