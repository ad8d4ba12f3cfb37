"""Why the beginning of a file is not taken for a training log, in words for the one who named it."""

from __future__ import annotations

from rltui.readers.compressed import NotSupported, unpacked_head
from rltui.readers.sniff import is_binary

_OTHER_PACKINGS = {b"BZh": "bzip2", b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z", b"\x04\x22\x4d\x18": "lz4"}


def why_not(head: bytes) -> str:
    """One phrase. `head` as for `sniff`, which gave None."""
    if not head:
        return "it is empty so far"
    other = next((name for magic, name in _OTHER_PACKINGS.items() if head.startswith(magic)), None)
    if other is not None:
        return f"packed with {other}: unpack it; gzip, xz and zstd are read as they are"
    try:
        plain = unpacked_head(head)
    except NotSupported as missing:
        return str(missing)
    if not plain.strip(b"\0"):
        return "nothing but zeros in its beginning" if plain else "nothing comes out of it so far"
    if is_binary(plain):
        return "binary data of no known container"
    if not plain.strip():
        return "nothing but blank lines so far"
    return "text without metrics by step in its beginning"
