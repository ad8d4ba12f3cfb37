"""Text that is no UTF-8: as consoles and editors of western Europe write it, with a byte for each letter, or those of
China, with two. A byte that a torn UTF-8 character left is none of them.
"""

from __future__ import annotations

import codecs

from rltui.lazy_regex import lazy

_HIGH = lazy(rb"[\x80-\xff]+")
_ENDS = lazy(rb"([\r\n])")
"""Of lines and of painted bars, as the reader of a console cuts them."""
_LETTERS = 4
"""Bytes above ASCII side by side from which on they are Chinese, two for each sign: no word of Europe has so many."""
_LOST = "\ufffd"
_ERRORS = "rltui-one-byte"


def as_utf8(text: bytes) -> bytes:
    """Whole lines in UTF-8: each that is not is read by the bytes that it holds. The last line may still grow."""
    if text.isascii():
        return text
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        *lines, last = _ENDS.split(text)
        return b"".join([*map(_line, lines), _line(last, grows=True)])
    return text


def _line(line: bytes, grows: bool = False) -> bytes:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as wrong:
        if grows and wrong.end == len(line) and wrong.reason == "unexpected end of data":
            return line  # its last character is still being written
        chinese = _chinese(line)
        return (line.decode("utf-8", _ERRORS) if chinese is None else chinese).encode("utf-8")
    return line


def _chinese(line: bytes) -> str | None:
    """The line as GB 18030 has it, if its bytes above ASCII come in pairs, several side by side somewhere."""
    runs = [len(run) for run in _HIGH.findall(line)]
    if max(runs) < _LETTERS or any(run % 2 for run in runs):
        return None
    try:
        return line.decode("gb18030")
    except UnicodeDecodeError:
        return None


def _one_byte(wrong: UnicodeError) -> tuple[str, int]:
    """A letter of Windows' western code page for a byte that stands alone."""
    if not isinstance(wrong, UnicodeDecodeError):
        raise wrong
    if wrong.end - wrong.start > 1:
        return _LOST, wrong.end
    return wrong.object[wrong.start : wrong.end].decode("cp1252", "replace"), wrong.end


codecs.register_error(_ERRORS, _one_byte)
