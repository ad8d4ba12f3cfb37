"""Small files in the user's state directory: one writer at a time, written whole or not at all. Reading
tolerates damage."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rltui.sources import stdin

if TYPE_CHECKING:
    from rltui.discovery.found import Found

MODE = 0o600
FORGET_S = 90 * 86400.0
ROTATE_BYTES = 256 * 1024
"""A journal is put aside at this size; the one that was put aside before is deleted."""


def identity(place: str, root: str, inside: Iterable[str] = ()) -> str:
    """What identifies one run, whatever path it was named by. `place`: the machine, "" for this one."""
    where = os.path.realpath(root) if not place else root
    return "|".join((place, where, *sorted(inside)))


def run_identity(found: Found, state_dir: str) -> str | None:
    """The identity of a run. None if nothing may be saved: standard input is another run each time, and a state
    directory inside the run's own directory must not be written to."""
    candidate = found.candidate
    if candidate.root == stdin.PATH:
        return None
    root = os.path.realpath(candidate.root)
    if not found.place.name and os.path.isdir(root) and os.path.commonpath((root, os.path.realpath(state_dir))) == root:
        return None
    return identity(found.place.name, candidate.root, (label for _, label in candidate.inside))


def folder(state_dir: str, run: str, kind: str = "record") -> str:
    """The directory of one run's files."""
    return os.path.join(state_dir, kind, sha256(run.encode("utf-8", "replace")).hexdigest()[:16])


def forget_old(state_dir: str, now: float) -> None:
    """Removes what was saved of runs that nobody looked at for `FORGET_S`."""
    for kind in ("record", "watch"):
        with contextlib.suppress(OSError):
            for entry in os.scandir(os.path.join(state_dir, kind)):
                newest = max((f.stat().st_mtime for f in os.scandir(entry.path)), default=0.0)
                if now - newest > FORGET_S:
                    shutil.rmtree(entry.path, ignore_errors=True)


def read_json(path: str) -> dict[str, Any] | None:
    """The object in a file; None if there is none or it is damaged."""
    try:
        with open(path, "rb") as file:
            data = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def write_json(path: str, data: dict[str, Any]) -> None:
    """Replaces the object in a file. Raises OSError."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE), "wb") as out:
            out.write(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


class Lock:
    """A claim on a name that ends with the process that holds it, however the process ends."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle: int | None = None

    def take(self) -> bool:
        """False if another process holds it, or if the place cannot be written."""
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def leave(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Journal:
    """Appended lines of JSON. Its size is bounded, as the file is put aside once."""

    def __init__(self, path: str, rotate_bytes: int = ROTATE_BYTES) -> None:
        self.path = path
        self._rotate_bytes = rotate_bytes

    def append(self, entries: Iterable[dict[str, Any]]) -> None:
        """Adds entries in one write. Raises OSError."""
        data = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode("utf-8", "replace")
        if not data:
            return
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, MODE)
        try:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                data = b"\n" + data  # a line that was cut off stays alone
            os.write(handle, data)
            size += len(data)
        finally:
            os.close(handle)
        if size >= self._rotate_bytes:
            os.replace(self.path, f"{self.path}.1")

    def stamp(self) -> object:
        """A value that differs after each change."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> list[dict[str, Any]]:
        """All entries, oldest first; damaged lines are left out."""
        out: list[dict[str, Any]] = []
        for path in (f"{self.path}.1", self.path):
            try:
                with open(path, "rb") as file:
                    lines = file.read(2 * self._rotate_bytes).splitlines()
            except OSError:
                continue
            for line in lines:
                try:
                    entry = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(entry, dict):
                    out.append(entry)
        return out
