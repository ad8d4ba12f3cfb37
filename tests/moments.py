"""The moment at which a run is judged. Its state rests on how long ago it was written, and a checkout of labelled runs
is minutes old in one place and months in another: a test that judges them says when."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import pytest

JUST_WRITTEN_S, A_DAY_S = 60.0, 86400.0
AGES = (JUST_WRITTEN_S, A_DAY_S)


def draws(name: str, of: int, seed: str) -> bool:
    """Whether this run is in a sample of one in `of`: by its name, so that adding a run moves no other."""
    return int(sha256(f"{seed} {name}".encode()).hexdigest()[:8], 16) % of == 0


def unless_drawn(name: str, of: int, seed: str) -> tuple[pytest.MarkDecorator, ...]:
    """Marks of a test case of which CI tries one in `of`; all of them with `-m "fuzz_full or not fuzz_full"`."""
    return () if draws(name, of, seed) else (pytest.mark.fuzz_full,)


def written(path: Path) -> float:
    """Seconds since the epoch when the newest file of a run, or of a folder of runs, was written."""
    files = [Path(folder) / name for folder, _, names in os.walk(path) for name in names] or [path]
    return max(file.stat().st_mtime for file in files)


def age_of(name: str) -> float:
    """Half of the runs were just written, half of them a day ago."""
    return JUST_WRITTEN_S if draws(name, 2, "age") else A_DAY_S


@contextmanager
def judged_at(moment: float) -> Iterator[None]:
    """The clock stands at this moment, in seconds since the epoch: a slow machine ages no run."""
    with patch.object(time, "time", lambda: moment):
        yield


def judged_after(path: Path, age_s: float) -> AbstractContextManager[None]:
    """The clock stands so many seconds after the run was written."""
    return judged_at(written(path) + age_s)
