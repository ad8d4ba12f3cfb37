"""Where the screen's snapshot goes: a new file of the user's, never in the run's directory."""

from __future__ import annotations

import contextlib
import os
import re
from datetime import UTC, datetime

MODE = 0o600


def write_snapshot(
    text: str,
    run_path: str,
    cwd: str,
    state_dir: str,
    *,
    now: datetime | None = None,
    name: str | None = None,
    suffix: str = ".md",
) -> str:
    """Writes a report, or what else the user asked for, to a new file and returns its path.

    In `cwd`, else (that is inside the run's directory, or cannot be written) in `<state_dir>/snapshots`. The file is
    called after the run and the UTC time, is readable by its owner only, appears whole or not at all, and replaces
    nothing. Raises OSError where neither place can be written, ValueError where both lie inside the run.
    """
    stem = _stem(name or os.path.basename(os.path.normpath(run_path)), now or datetime.now(UTC))
    problem: OSError | None = None
    fallback = os.path.join(state_dir, "snapshots")
    for directory in (cwd, fallback):
        if _inside(directory, run_path):
            continue
        try:
            if directory == fallback:
                os.makedirs(directory, mode=0o700, exist_ok=True)
            return _write_new(directory, stem, suffix, text)
        except OSError as error:
            problem = error
    if problem is not None:
        raise problem
    raise ValueError(f"{state_dir} lies inside the run's directory {run_path}: nothing is written there")


def _stem(run: str, now: datetime) -> str:
    safe = re.sub(r"[^\w.-]+", "-", run, flags=re.ASCII).strip("-.")[:80] or "run"
    return f"rltui-{safe}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _inside(directory: str, run_path: str) -> bool:
    """Whether a directory is the run's or lies in it; of a run that is one file, the file's own directory is free."""
    run = os.path.realpath(run_path)
    if not os.path.isdir(run):
        return False
    here = os.path.realpath(directory)
    return here == run or here.startswith(run.rstrip(os.sep) + os.sep)


def _write_new(directory: str, stem: str, suffix: str, text: str) -> str:
    """Takes a free name by an empty file of our own, then moves the whole text over it."""
    for count in range(1, 1000):
        path = os.path.join(directory, f"{stem}{suffix}" if count == 1 else f"{stem}-{count}{suffix}")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE))
        except FileExistsError:
            continue
        temporary = f"{path}.part"
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as out:
                out.write(text)
            os.replace(temporary, path)
        except OSError:
            for ours in (temporary, path):
                with contextlib.suppress(OSError):
                    os.unlink(ours)
            raise
        return path
    raise FileExistsError(f"{directory}: no free name for {stem}{suffix}")
