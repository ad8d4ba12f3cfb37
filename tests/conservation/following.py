"""A text or an event file that grows while it is followed: what the screen holds in the end."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from rltui.discovery.found import NotARun
from rltui.run.run import Run
from rltui.session.live import LiveRun
from rltui.session.locate import locate

PIECES = 12


def grown(source: Path, copy: Path, seed: int) -> Iterator[None]:
    """Writes the files at `source` anew at `copy`, one after the other, in pieces cut anywhere; yields at each cut."""
    files = [source] if source.is_file() else sorted(path for path in source.rglob("*") if path.is_file())
    for file in sorted(files, key=lambda file: file.stat().st_mtime_ns):
        target = copy / file.relative_to(source) if source.is_dir() else copy
        target.parent.mkdir(parents=True, exist_ok=True)
        data = file.read_bytes()
        cuts = sorted(random.Random(seed).sample(range(1, max(len(data), PIECES + 1)), PIECES))
        for first, last in zip([0, *cuts], [*cuts, len(data)], strict=True):
            with target.open("ab") as out:
                out.write(data[first:last])
            yield
        shutil.copystat(file, target)


def followed(source: Path, copy: Path, expected: int, seed: int = 0) -> Run | None:
    """The run as the live follower holds it once all was written; it is given time until it has the expected rows."""
    live: LiveRun | None = None
    for _ in grown(source, copy, seed):
        if live is None:
            try:
                live = LiveRun(locate([str(copy)])[0])
            except NotARun:
                continue
        while live.next_frame(0.0) is not None:
            pass
    if live is None:
        return None
    until = time.monotonic() + 180
    while live.opened.run.history.table.n < expected and time.monotonic() < until:
        live.next_frame(0.05)
    live.close()
    live.opened.close()
    return live.opened.run
