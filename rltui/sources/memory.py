"""Keeps freed memory while a long file is read block by block, and gives it back at the end.

By default the C library returns each freed block to the system and requests it again, page by page. That takes a third
of the CPU time of reading a long file. Without glibc nothing changes.
"""

from __future__ import annotations

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of mallopt, see malloc.h
_KEPT = 64 << 20
_LARGEST = 32 << 20  # glibc accepts no more
_USUAL = 1 << 20


def keep() -> None:
    """Keeps freed memory from now on, for what is read next."""
    _set({_MMAP_THRESHOLD: _LARGEST, _TRIM_THRESHOLD: _KEPT})


def give_back() -> None:
    """Returns free memory to the system, now and later, because everything has been read."""
    if _set({_TRIM_THRESHOLD: _USUAL}):
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)


def _set(parameters: dict[int, int]) -> bool:
    try:
        import ctypes

        tune = ctypes.CDLL(None).mallopt
    except (ImportError, OSError, AttributeError):
        return False
    for parameter, value in parameters.items():
        tune(parameter, value)
    return True
