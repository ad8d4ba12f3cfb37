"""What happens if rltui itself crashes: one line on stderr, and a crash file that can be sent with a bug report."""

from __future__ import annotations

import os
import platform
import sys
import time
import traceback
from pathlib import Path

CODE = 3
"""The exit code. It is not 1, which means that a finding is open."""

LIMIT = 100_000  # characters of a crash file


def tell(error: BaseException) -> int:
    """Writes the crash file, prints where it is, and returns the exit code."""
    from rltui.text import clean, shown

    what = clean(f"{type(error).__name__}: {error}", 200)
    try:
        where = f"details in {_write(error)}"
    except OSError as problem:
        where = f"details could not be written ({problem.strerror})"
    print(f"rltui: stopped by a fault of its own, {shown(what)} ({where})", file=sys.stderr)
    return CODE


def _write(error: BaseException) -> str:
    """Writes a file into the user's state directory that only the user can read: error, place and versions, redacted.
    The traceback names code only and no local variables, which may hold the user's data."""
    from rltui import __version__
    from rltui.settings import state_dir
    from rltui.text import clean_block

    frames = traceback.TracebackException.from_exception(error, capture_locals=False)
    text = clean_block("".join(frames.format()), LIMIT)
    head = f"rltui {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    folder = Path(state_dir(os.environ))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    path = folder / f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{head}\n\n{text}\n")
    return str(path)
