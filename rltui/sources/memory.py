"""The memory that the blocks of a long file pass through: kept for the next block, given back at the end.

The C library gives a freed block back to the system and asks for it anew, page by page: a third of the CPU time of
reading a long file. Elsewhere than on glibc nothing is changed.
"""

from __future__ import annotations

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of mallopt, see malloc.h
_KEPT = 64 << 20
_LARGEST = 32 << 20  # glibc takes no more
_USUAL = 1 << 20


def keep() -> None:
    """From now on freed memory is kept for what is read next."""
    _set({_MMAP_THRESHOLD: _LARGEST, _TRIM_THRESHOLD: _KEPT})


def give_back() -> None:
    """Everything is read: what is free goes back to the system, now and as usual."""
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
