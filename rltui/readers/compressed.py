"""Unpacks bytes before they reach a reader. Compressed and UTF-16 files become UTF-8 text without a byte order
mark."""

from __future__ import annotations

import codecs
import importlib
import lzma
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from rltui.readers.base import LineReader, Reader, Record

GZIP, XZ, ZSTD, BZIP2 = b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"BZh"
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MAGICS = (GZIP, XZ, ZSTD, BZIP2, *_UTF16)
_WIDE = 8
"""The bytes that are needed to recognise UTF-16 without a byte order mark: four ASCII characters, each beside a
zero."""
_ASCII = frozenset((9, 10, 13, *range(32, 127)))
_TORN = "compressed data that breaks off: cut short, or still being written"
_PIECE = 1 << 20
"""The most bytes that are unpacked at once: a small file may hold gigabytes of zeros."""
_SLICE = 1 << 13
"""How many packed bytes the library gets at once: if one of them is damaged, it returns none of them."""
ZSTD_MISSING = "zstd-compressed: needs Python 3.14 or `pip install rltui[zstd]`"


class NotSupported(Exception):  # noqa: N818  (a message for the user)
    """The library for a known compression is missing. The exception's text says what to install."""


class _Unpacker(Protocol):
    """One member of a compressed file."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def packing(head: bytes) -> bytes | None:
    """The magic bytes of a file's packing, found in its head; None for plain bytes."""
    return next((magic for magic in _MAGICS if head.startswith(magic)), None if len(head) < _WIDE else _unmarked(head))


def _unmarked(head: bytes) -> bytes | None:
    """The byte order mark that fits UTF-16 text written without one; None for other bytes."""
    for mark, zeros in ((codecs.BOM_UTF16_LE, 1), (codecs.BOM_UTF16_BE, 0)):
        if not any(head[zeros:_WIDE:2]) and _ASCII.issuperset(head[1 - zeros : _WIDE : 2]):
            return mark
    return None


def _may_be_packed(head: bytes) -> bool:
    """Whether more bytes are needed to decide if a file is packed."""
    wide = len(head) < _WIDE and b"\0" in head[:2] and _ASCII.issuperset(head.replace(b"\0", b""))
    return wide or any(len(head) < len(m) and m.startswith(head) for m in (*_MAGICS, codecs.BOM_UTF8))


def unpacked_head(head: bytes, max_bytes: int = 1 << 16) -> bytes:
    """The first unpacked bytes of a file, taken from its head, for sniffing. Raises NotSupported."""
    magic = packing(head)
    if magic is None:
        return head
    out = bytearray()

    def take(piece: bytes) -> None:
        out.extend(piece)
        if len(out) >= max_bytes:
            raise _Enough

    with suppress(_Enough):
        _opener(magic, take, lambda reason: None)(head)
    return bytes(out[:max_bytes])


class _Enough(Exception):  # noqa: N818
    """Enough was unpacked."""


def line_reader(reader: object) -> LineReader | None:
    """The reader itself, or the one for which it unpacks, if that is a line reader; else None."""
    inner = reader.inner if isinstance(reader, UnpackingReader) else reader
    return inner if isinstance(inner, LineReader) else None


class UnpackingReader:
    """Unpacks bytes for another reader. The first bytes show the packing. An incomplete end waits for the rest. Several
    members may follow each other. Damage ends the file and is counted as skipped."""

    def __init__(self, reader: Reader) -> None:
        self.inner = reader
        self.format = reader.format
        self.whole = reader.whole
        self.skipped: Counter[str] = reader.skipped
        self.skipped_at: dict[str, str] = reader.skipped_at
        self._head = b""
        self._read = 0
        self._out: list[Record] = []
        self._feed: Callable[[bytes], None] | None = None
        self._members: _Members | None = None

    def feed(self, data: bytes) -> list[Record]:
        if self._feed is None:
            self._head += data
            if _may_be_packed(self._head):
                return []
            data, self._head = self._head.removeprefix(codecs.BOM_UTF8), b""
            self._feed = self._open(data)
        if self.skipped.pop(_TORN, None):  # the data continues after all
            del self.skipped_at[_TORN]
        self._feed(data)
        self._read += len(data)
        out, self._out = self._out, []
        return out

    def finish(self) -> list[Record]:
        out: list[Record] = []
        if self._head:
            head, self._head = self._head, b""
            self._feed = self._take
            out = self.feed(head)
        if self._members is not None and self._members.torn and not self.skipped[_TORN]:
            self._damaged(_TORN)
        return [*out, *self.inner.finish()]

    def _open(self, head: bytes) -> Callable[[bytes], None]:
        magic = packing(head)
        if magic is None:
            return self._take
        try:
            feed = _opener(magic, self._take, self._damaged)
        except NotSupported as missing:
            self._damaged(str(missing))
            return lambda data: None
        self._members = feed if isinstance(feed, _Members) else None
        return feed

    def _take(self, data: bytes) -> None:
        self._out += self.inner.feed(data)
        # some readers recognise the format only after some bytes
        self.format = self.inner.format

    def _damaged(self, reason: str) -> None:
        self.skipped[reason] += 1
        self.skipped_at.setdefault(reason, f"byte {self._read}")


def _opener(magic: bytes, take: Callable[[bytes], None], damaged: Callable[[str], None]) -> Callable[[bytes], None]:
    """A function that takes packed bytes and passes plain bytes to `take`."""
    if magic in _UTF16:
        decoder = codecs.getincrementaldecoder(_UTF16[magic])("replace")
        first = True

        def decode(data: bytes) -> None:
            nonlocal first
            plain = decoder.decode(data)
            take((plain.removeprefix("\ufeff") if first else plain).encode("utf-8", "replace"))
            first = False

        return decode
    make, damage = {GZIP: _gzip, XZ: _xz, ZSTD: _zstd, BZIP2: _bzip2}[magic]()
    return _Members(make, damage, take, damaged)


class _Members:
    """The members of a compressed file, one after the other."""

    def __init__(
        self,
        make: Callable[[], _Unpacker],
        damage: type[Exception],
        take: Callable[[bytes], None],
        damaged: Callable[[str], None],
    ) -> None:
        self._make = make
        self._damage = damage
        self._take = take
        self._say_damaged = damaged
        self._member: _Unpacker | None = None
        self._over = False

    @property
    def torn(self) -> bool:
        """Whether a member has begun but not ended."""
        return self._member is not None and not self._over

    def __call__(self, data: bytes) -> None:
        for begin in range(0, len(data), _SLICE):
            self._unpack(data[begin : begin + _SLICE])

    def _unpack(self, data: bytes) -> None:
        while not self._over:
            if self._member is None:
                data = data.lstrip(b"\0")  # padding between members
                if not data:
                    return
                self._member = self._make()
            try:
                plain = self._member.decompress(data, _PIECE)
            except (self._damage, EOFError):
                self._over = True
                self._say_damaged("damaged compression: the rest is not read")
                return
            if plain:
                self._take(plain)
            if self._member.eof:
                data, self._member = self._member.unused_data, None
            elif len(plain) < _PIECE:
                return
            else:
                data = b""


class _Gzip:
    """Unpacks one gzip member, with the interface of the other unpackers."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


_Kind = tuple[Callable[[], _Unpacker], type[Exception]]
"""A function that makes an unpacker for one member, and the exception that this raises for damage."""


def _gzip() -> _Kind:
    return _Gzip, zlib.error


def _xz() -> _Kind:
    return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 28), lzma.LZMAError


def _bzip2() -> _Kind:
    import bz2  # imported here because few files need it

    return bz2.BZ2Decompressor, OSError


def _zstd() -> _Kind:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd = importlib.import_module(name)
        except ImportError:
            continue
        return zstd.ZstdDecompressor, zstd.ZstdError
    raise NotSupported(ZSTD_MISSING)
