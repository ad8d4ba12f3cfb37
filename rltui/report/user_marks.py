"""What the user marked about a run (acknowledged findings, pinned metrics), and which commands the user runs, kept in
the user's state directory."""

from __future__ import annotations

import contextlib
import os
from hashlib import sha256

import orjson
from msgspec import Struct
from msgspec.structs import replace

MODE = 0o600


class Marks(Struct, frozen=True):
    """`acknowledged`: (id, subject or "", severity at that time) of findings; `pinned`: names of metrics."""

    acknowledged: frozenset[tuple[str, str, str]] = frozenset()
    pinned: tuple[str, ...] = ()

    def toggled(self, finding: tuple[str, str, str]) -> Marks:
        """The marks with the finding acknowledged, or no longer if it was."""
        return replace(self, acknowledged=self.acknowledged ^ {finding})

    def with_pin(self, metric: str) -> Marks:
        """The marks with the metric pinned, or no longer if it was."""
        rest = tuple(name for name in self.pinned if name != metric)
        return replace(self, pinned=rest if metric in self.pinned else (*rest, metric))


def load_marks(run_path: str, state_dir: str, place: str = "") -> Marks:
    """The marks of a run; none if there is no file, or if it is not one of ours. `place`: the machine that the run is
    on, "" for this one. Older files name a run by its path alone; such a file counts if there is no newer one."""
    path = _file(run_path, state_dir, place)
    try:
        with open(path if os.path.exists(path) else _file(run_path, state_dir), "rb") as file:
            data = orjson.loads(file.read())
        found = frozenset((str(i), str(subject), str(level)) for i, subject, level in data["acknowledged"])
        return Marks(found, tuple(str(name) for name in data["pinned"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Marks()


def save_marks(marks: Marks, run_path: str, state_dir: str, place: str = "") -> str:
    """Writes the marks, whole or not at all, and returns the path. Raises OSError."""
    data = {"run": run_path, "place": place, "acknowledged": sorted(marks.acknowledged), "pinned": marks.pinned}
    return _write(_file(run_path, state_dir, place), data)


def _write(path: str, data: object) -> str:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE), "wb") as out:
            out.write(orjson.dumps(data, option=orjson.OPT_INDENT_2))
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return path


def load_used(state_dir: str) -> dict[str, int]:
    """How often each command was run from the palette; empty if there is no file, or if it is not one of ours."""
    try:
        with open(os.path.join(state_dir, USED), "rb") as file:
            return {str(name): int(times) for name, times in orjson.loads(file.read()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def save_used(used: dict[str, int], state_dir: str) -> str:
    """Writes how often each command was run, and returns the path. Raises OSError."""
    return _write(os.path.join(state_dir, USED), used)


USED = "commands.json"


def first_time(state_dir: str) -> bool:
    """Whether the screen was never opened before, as far as the state directory shows. This is noted now. False if
    nothing can be stored there, because a hint that comes every time is not a hint."""
    try:
        os.makedirs(state_dir, mode=0o700, exist_ok=True)
        os.close(os.open(os.path.join(state_dir, "welcomed"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, MODE))
    except OSError:
        return False
    return True


def _file(run_path: str, state_dir: str, place: str = "") -> str:
    """The file of a run, named after its machine and path."""
    name = f"{place}|{run_path}" if place else os.path.abspath(run_path)
    return os.path.join(state_dir, "runs", f"{sha256(os.fsencode(name)).hexdigest()[:16]}.json")
