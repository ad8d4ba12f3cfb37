"""Reads text that is not UTF-8. Consoles and editors in western Europe write one byte for each letter, those in China
two. Bytes left over from a cut UTF-8 character are neither."""

from __future__ import annotations

import codecs

from rltui.lazy_regex import lazy
from rltui.readers.lines import MANY_BYTES

_HIGH = lazy(rb"[\x80-\xff]+")
_ENDS = lazy(rb"([\r\n])")
"""Ends of lines and of redrawn progress bars, as the console reader cuts them."""
_LETTERS = 4
"""This many or more adjacent bytes above ASCII are Chinese, two for each character: words of European languages have
fewer."""
_LOST = "\ufffd"
_ERRORS = "rltui-one-byte"


def as_utf8(text: bytes) -> bytes:
    """The text with every line in UTF-8. A line that is not UTF-8 is decoded with the encoding that its bytes suggest.
    The last line may still grow."""
    if _is_utf8(text):
        return text
    *lines, last = _ENDS.split(text)
    return b"".join([*map(_line, lines), _line(last, grows=True)])


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        (text if len(text) < MANY_BYTES else _beyond_ascii(text)).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _beyond_ascii(text: bytes) -> bytes:
    """The bytes above ASCII, with a space between those that are not adjacent. They are UTF-8 exactly if the text is,
    and decoding them is far quicker, because most logs hold few of them."""
    import numpy as np

    signs = np.frombuffer(text, dtype=np.uint8)
    places = np.flatnonzero(signs > 127)
    apart = np.flatnonzero(np.diff(places) > 1) + 1
    return np.insert(signs[places], apart, ord(" ")).tobytes()


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
    """The line decoded as GB 18030, if its bytes above ASCII come in pairs, several of them adjacent; else None."""
    runs = [len(run) for run in _HIGH.findall(line)]
    if max(runs) < _LETTERS or any(run % 2 for run in runs):
        return None
    try:
        return line.decode("gb18030")
    except UnicodeDecodeError:
        return None


def _one_byte(wrong: UnicodeError) -> tuple[str, int]:
    """Decodes a single byte with Windows' western code page."""
    if not isinstance(wrong, UnicodeDecodeError):
        raise wrong
    if wrong.end - wrong.start > 1:
        return _LOST, wrong.end
    return wrong.object[wrong.start : wrong.end].decode("cp1252", "replace"), wrong.end


codecs.register_error(_ERRORS, _one_byte)
