"""How the key column shows the keys below one heading."""

from __future__ import annotations

from rltui.tui.rows import shortened


def parted(key: str) -> tuple[str, str]:
    """`timing_s/gen` -> `timing_s/`, `gen`; `E2E (Tokens/sec)` has no prefix."""
    first, slash, rest = key.partition("/")
    return (first + slash, rest) if slash and " " not in first else ("", key)


def prefix_of(keys: list[str]) -> str:
    """The prefix of all the keys. Empty if theirs differ, because nobody could tell which key has which prefix."""
    found = {parted(key)[0] for key in keys}
    return found.pop() if len(found) == 1 else ""


def key_in(key: str, prefix: str, width: int) -> str:
    """The key below a heading that has its prefix. If it is too long, its middle is left out."""
    return shortened(key.removeprefix(prefix), width)
