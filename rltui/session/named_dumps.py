"""Rollouts where the run's config says that they are: absolute directories outside the run's own."""

from __future__ import annotations

import os
import time as clock

from rltui.run import file_roles
from rltui.run.run import Run
from rltui.sources.base import FileStat, Place
from rltui.vocabulary.load import dialect

MOST_FILES = 20_000
REST = 20.0
"""So many times as long as a look took is waited before the next one: a large tree on a slow disk costs little."""


class NamedDumps:
    """The dumps in these directories, as they were at the last `look`. `root` is the run's own directory."""

    def __init__(self, place: Place, run: Run, root: str) -> None:
        self._place = place
        self._run = run
        self._root = os.path.abspath(root)
        self._folders: tuple[str, ...] = ()
        self._next = 0.0
        self.files: tuple[FileStat, ...] = ()

    def look(self, again: bool) -> None:
        """Looks through them where the config names others than before; with `again` also for new files."""
        folders, began = self._named(), clock.monotonic()
        if folders != self._folders or (again and began >= self._next):
            self._folders = folders
            self.files = tuple(file for folder in folders for file in self._dumps(folder))
            self._next = began + (1 + REST) * (clock.monotonic() - began)

    def _named(self) -> tuple[str, ...]:
        raw = self._run.raw_config
        keys = dialect(self._run.dialect).config.get("rollout_dump_dir", ())
        values = (raw[key].value for key in keys if key in raw)
        named = (os.path.normpath(value) for value in values if isinstance(value, str) and os.path.isabs(value))
        return tuple(dict.fromkeys(folder for folder in named if not self._overlaps(folder)))

    def _overlaps(self, folder: str) -> bool:
        """Whether the folder lies in the run's own, which is listed anyway, or holds it: other runs lie there too."""
        return os.path.commonpath((folder, self._root)) in (folder, self._root)

    def _dumps(self, folder: str) -> list[FileStat]:
        if not self._place.is_dir(folder):
            return []
        above = os.path.dirname(folder)
        files = self._place.walk(folder).files[:MOST_FILES]
        return [file for file in files if file_roles.role(os.path.relpath(file.path, above), False) == "rollouts"]
