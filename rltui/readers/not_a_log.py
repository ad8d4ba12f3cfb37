"""Explains why a file is not a log: what its first bytes are instead."""

from __future__ import annotations

from itertools import pairwise

from rltui.lazy_regex import lazy
from rltui.prose import listed
from rltui.readers.compressed import NotSupported, unpacked_head
from rltui.text import clean_key

_HOLE = bytes(64)
"""logrotate's copytruncate leaves at least this many zeros in a log. They are looked for first, because that is faster
than the pattern, which tries every byte."""
_NULS = lazy(rb"\0{64,}(?=[\n\r\x20-\x7e]|\Z)")
_STRAY = 2
"""The most zeros in the beginning of a text, outside of such holes: an interrupted write leaves one."""
_BINARY = lazy(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_NUMBERS = rb"[ \t]*[-+]?\d[\d.eE+\-]*(?:[ \t]*[,;\t| ][ \t]*(?:[-+]?[\d.][\d.eE+\-]*|nan|NaN|))+[ \t]*\r?\n"
_NAMELESS = lazy(rb"(?:%s){3,}" % _NUMBERS)
_PROGRAM = lazy(
    rb"(?m)^\W{0,3}\d{4}-\d\d-\d\d[ T]\d\d:|^\W{0,2}\d\d:\d\d:\d\d\b|^\W{0,2}(?:DEBUG|INFO|WARNING|ERROR)\b"
    rb"|\(\w+ pid=\d|\d%\|[^|\n]*\||^Traceback \(|^wandb: "
)
"""Signs that programs put before or into their lines."""
_WORD = lazy(r"[(\[\"'“‘*_`]{0,3}[^\W\d_]+(?:[-'’/][^\W\d_]+)*[)\]\"'”’*_`]{0,3}[.,;:!?]{0,2}")
_SENTENCE = lazy(r"[^\W\d_][)\"'”]?[.!?] +[^\W\d_]")
_BULLET = " \t>*-+#•"
_LOOKED_AT = 400
"""How many lines are looked at."""
_FEWEST_WORDS = 6
_OTHER_PACKINGS = {b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z", b"\x04\x22\x4d\x18": "lz4"}


def is_binary(head: bytes) -> bool:
    """Whether a file that begins with `head` is not text."""
    text = (_NULS.sub(b"", head) if _HOLE in head else head)[:4096]
    return text[:1024].count(b"\0") > _STRAY or len(_BINARY.findall(text)) * 50 > len(text)


def is_prose(text: bytes) -> bool:
    """Whether people wrote this text for people: at least half of the lines are words, in sentences that continue from
    line to line or end within a line, and there are no signs of a program."""
    lines = [line.strip(_BULLET) for line in text.decode("utf-8", "replace").splitlines()[:_LOOKED_AT]]
    worded = [line for line in lines if _is_worded(line)]
    if len(worded) < 2 or 2 * len(worded) < sum(map(bool, lines)) or _PROGRAM.search(text) is not None:
        return False
    goes_on = sum(a[-1].isalpha() and b[0].islower() for a, b in pairwise(lines) if a in worded and b)
    return goes_on + sum(_SENTENCE.search(line) is not None for line in worded) > 1


def _is_worded(line: str) -> bool:
    tokens = line.split()
    words = sum(_WORD.fullmatch(token) is not None for token in tokens)
    return len(tokens) >= _FEWEST_WORDS and 4 * words >= 3 * len(tokens)


EMPTY, BLANK = "it is empty so far", "nothing but blank lines so far"
NO_METRICS = "its first lines hold no metrics by step"


def why_not(head: bytes) -> str:
    """The reason, in one phrase. `head`: as for `sniff`, which returned None."""
    if not head:
        return EMPTY
    other = next((name for magic, name in _OTHER_PACKINGS.items() if head.startswith(magic)), None)
    if other is not None:
        return f"packed with {other}: unpack it (gzip, bzip2, xz and zstd are read as they are)"
    try:
        plain = unpacked_head(head)
    except NotSupported as missing:
        return str(missing)
    if not plain.strip(b"\0"):
        return "it begins with nothing but zeros" if plain else "nothing comes out of it so far"
    if is_binary(plain):
        return "binary data in no format that rltui knows"
    if not plain.strip():
        return BLANK
    if _NAMELESS.fullmatch(plain[: plain.rfind(b"\n") + 1]):
        return "columns of numbers without names: name them in a first line, as in step,loss,reward"
    if keys := json_keys(plain):
        return f"{NO_METRICS}. Its JSON rows have the keys {listed([*keys[:MOST_KEYS], *_more(keys)])}: {WANTED}"
    if found := table_lacks(plain):
        return f"{NO_METRICS}. {found}"
    prose = is_prose(plain)
    return "it is a page of prose, in which no lines tell metrics by step" if prose else NO_METRICS


MOST_KEYS = 6
"""The most keys of rows that are named."""
WANTED = 'a row of metrics is like {"step": 1, "loss": 0.5}'


def json_keys(text: bytes) -> list[str]:
    """The keys of a text whose first lines are all JSON objects, in order; empty for any other text."""
    import orjson  # not at the top: only needed for files that are not logs

    keys: dict[str, None] = {}
    for line in text[: text.rfind(b"\n") + 1].splitlines()[:_LOOKED_AT]:
        try:
            row = orjson.loads(line) if line.strip() else {}
        except orjson.JSONDecodeError:
            return []
        if not isinstance(row, dict):
            return []
        keys |= dict.fromkeys(clean_key(key) for key in row)
    return list(keys)


def table_lacks(text: bytes) -> str:
    """The columns of a table that is not a log, and what is missing; "" for any other text."""
    from rltui.readers.refused_table import lacks  # only needed for files that are not logs

    return "" if is_prose(text) else lacks(text)


def _more(keys: list[str]) -> list[str]:
    return [f"{len(keys) - MOST_KEYS} more"] if len(keys) > MOST_KEYS else []
