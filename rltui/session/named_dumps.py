"""The dumps of rollouts that lie where a run's config says."""

from __future__ import annotations

import os
import time as clock

from rltui.discovery import file_roles
from rltui.frameworks.load import dialect
from rltui.run.run import Run
from rltui.sources.base import FileStat, Place

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
        named = []
        for key in dialect(self._run.dialect).config.get("rollout_dump_dir", ()):
            value = raw[key].value if key in raw else None
            if not isinstance(value, str) or not os.path.isabs(value):
                continue
            from rltui.rollouts.formats import dump  # few runs name one: the first paint waits for no reader of dumps

            folder = os.path.normpath(value)
            mistaken = "validation" in key and dump.split_of(folder, self._root) != "validation"
            if not mistaken and not self._overlaps(folder):  # else read as samples of training
                named.append(folder)
        return tuple(dict.fromkeys(named))

    def _overlaps(self, folder: str) -> bool:
        """Whether the folder lies in the run's own, which is listed anyway, or holds it: other runs lie there too."""
        return os.path.commonpath((folder, self._root)) in (folder, self._root)

    def _dumps(self, folder: str) -> list[FileStat]:
        if not self._place.is_dir(folder):
            return []
        above = os.path.dirname(folder)
        files = self._place.walk(folder).files[:MOST_FILES]
        return [file for file in files if file_roles.role(os.path.relpath(file.path, above), False) == "rollouts"]
