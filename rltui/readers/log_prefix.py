"""What stands before a message: colours, the time, level and place that logging puts there."""

from __future__ import annotations

from rltui.patterns import lazy

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
