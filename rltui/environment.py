"""Environment variables that this process sets for itself. The user's commands must not inherit them."""

from __future__ import annotations

import os

ONE_THREAD = "OPENBLAS_NUM_THREADS"
"""numpy's linear algebra starts a thread for each core when it is imported. That takes longer than the import itself,
and the computations here are far too small for threads."""

_set: set[str] = set()


def use_one_thread() -> None:
    """Limits numpy to one thread. Call this before numpy is imported. A value that the user set is kept."""
    if ONE_THREAD not in os.environ:
        os.environ[ONE_THREAD] = "1"
        _set.add(ONE_THREAD)


def of_user() -> dict[str, str]:
    """The environment as the user gave it."""
    return {name: value for name, value in os.environ.items() if name not in _set}
