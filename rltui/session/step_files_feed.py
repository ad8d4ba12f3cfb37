"""The feed of a run that saves one JSON file a step: it looks into the folder for files that are new."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from rltui.readers.step_files import StepFilesReader, family
from rltui.session.feed import Batch, Source
from rltui.sources.base import FileStat

MOST = 20_000
FILE_BYTES = 1 << 16


@dataclass(slots=True)
class StepFilesFeed(Source):
    """`path` is one of the files. A file that was written anew, or that comes after one of a later step, begins the
    whole run anew."""

    reader: StepFilesReader = field(default_factory=StepFilesReader, init=False)
    _seen: dict[str, tuple[int, float, str]] = field(default_factory=dict, init=False)
    _last: int = field(default=-1, init=False)  # step of the newest file that was read

    @property
    def watched(self) -> list[str]:
        return [self.path, os.path.dirname(self.path)]

    def read(self, max_bytes: int = 1 << 20) -> Batch:
        folder = os.path.dirname(self.path)
        listing = self.place.walk(folder or os.curdir)
        if listing.error is not None:
            return Batch([], 0, False, error=listing.error)
        own = family(os.path.basename(self.path))
        files = {
            named[1]: file
            for file in listing.files
            if os.path.dirname(file.path) == folder
            and (named := family(os.path.basename(file.path))) is not None
            and own is not None
            and named[0] == own[0]
        }
        if len(files) > MOST:
            self.note = f"more than {MOST} files: those of earlier steps are not read"
        ordered = sorted(files.items())[-MOST:]
        changed = [(step, file) for step, file in ordered if self._seen.get(file.path) != _state(file)]
        restarted = bool(changed) and changed[0][0] <= self._last
        if restarted:
            self.reader, changed = StepFilesReader(), ordered
            self._seen.clear()
        texts = []
        for step, file in changed:
            data = self.place.read(file.path, FILE_BYTES)
            if isinstance(data, bytes):
                texts.append((file.path, data))
                self._seen[file.path] = _state(file)
                self._last = step
            self.mtime = max(self.mtime, file.mtime)
        self.size = sum(file.size for _, file in ordered)
        return Batch(self.reader.read(texts), sum(len(data) for _, data in texts), False, restarted)

    def close(self) -> None:
        """Nothing is held between reads."""


def _state(file: FileStat) -> tuple[int, float, str]:
    return file.size, file.mtime, file.identity
