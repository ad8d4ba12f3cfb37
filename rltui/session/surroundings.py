"""What belongs to a run besides its logs: config files, checkpoints and rollout dumps, including dumps in directories
that its config names."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Sequence

from rltui.agent.tree import is_checkpoint_dir
from rltui.discovery import file_roles
from rltui.discovery.found import Found
from rltui.frameworks.load import dialect
from rltui.readers.config_file import MAX_BYTES, read_config
from rltui.run import checkpoints
from rltui.run.run import Run
from rltui.sources.base import FileStat, Place

MAX_CONFIGS = 20
"""The most config files that are read for one run."""


class Surroundings:
    """Finds these files in the last listing of the run's directory, and hands them to the run."""

    def __init__(self, run: Run, found: Found) -> None:
        self._run, self._place = run, found.place
        self._listing, self._candidate = found.listing, found.candidate
        self._configs_read: set[str] = set()
        self._named_dumps = NamedDumps(found.place, run, found.candidate.root)

    @property
    def dirs(self) -> Sequence[str]:
        """The directories in which new files of the run may appear."""
        return self._candidate.dirs

    @property
    def rollout_files(self) -> tuple[str, ...]:
        return (*self._candidate.rollouts, *(file.path for file in self._named_dumps.files))

    def found_again(self, found: Found) -> None:
        """Takes a new listing of the directory."""
        self._listing, self._candidate = found.listing, found.candidate
        self.find_checkpoints()
        self.read_configs()

    def find_checkpoints(self) -> None:
        """Finds only the checkpoints of this run: the listing may also hold those of other runs."""
        own, below = set(self._candidate.checkpoints), tuple(f"{path}/" for path in self._candidate.dirs)
        dirs = [d for d in self._listing.dirs if d in own or (not is_checkpoint_dir(d) and d.startswith(below))]
        files = [(f.path, f.size) for f in self._listing.files]
        self._run.set_checkpoints(checkpoints.find(dirs, files))

    def read_configs(self) -> None:
        """Reads the config files; of several with the same name, only the newest. Later settings in the log win."""
        known = self._listing.by_path
        by_time = sorted(self._candidate.configs, key=lambda path: known[path].mtime if path in known else 0.0)
        newest = {os.path.basename(path): path for path in by_time}
        for path in list(newest.values())[-MAX_CONFIGS:]:
            if path not in self._configs_read:
                self._configs_read.add(path)
                data = self._place.read(path, MAX_BYTES)
                config = read_config(data, path) if isinstance(data, bytes) else None
                if config is not None:
                    self._run.add_config(config.values, os.path.relpath(path, self._listing.root))

    def look_for_dumps(self, again: bool) -> None:
        """Looks for dumps in the directories that the config names. `again`: also if that was done before."""
        self._named_dumps.look(again)

    def dumps(self) -> list[FileStat]:
        """The files that hold rollouts, in the run's directory and in the directories that its config names."""
        known = self._listing.by_path
        own = [known[path] for path in self._candidate.rollouts if path in known]
        return [*own, *self._named_dumps.files]


MOST_FILES = 20_000
REST = 20.0
"""A search is repeated only after this many times its duration, so a large tree on a slow disk costs little."""


class NamedDumps:
    """The dumps in directories that the config names, at the last `look`. `root`: the run's own directory."""

    def __init__(self, place: Place, run: Run, root: str) -> None:
        self._place = place
        self._run = run
        self._root = os.path.abspath(root)
        self._folders: tuple[str, ...] = ()
        self._next = 0.0
        self.files: tuple[FileStat, ...] = ()

    def look(self, again: bool) -> None:
        """Searches the directories if the config names different ones than before. With `again` it also searches for
        new files."""
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
            from rltui.rollouts.formats import (
                dump,
            )  # imported here: few runs need it, and the first paint must not wait for it

            folder = os.path.normpath(value)
            mistaken = "validation" in key and dump.split_of(folder, self._root) != "validation"
            if not mistaken and not self._overlaps(folder):  # else they would be read as training samples
                named.append(folder)
        return tuple(dict.fromkeys(named))

    def _overlaps(self, folder: str) -> bool:
        """Whether the folder is inside the run's own folder, which is listed anyway, or contains it and so other runs
        too."""
        return os.path.commonpath((folder, self._root)) in (folder, self._root)

    def _dumps(self, folder: str) -> list[FileStat]:
        if not self._place.is_dir(folder):
            return []
        above = os.path.dirname(folder)
        files = self._place.walk(folder).files[:MOST_FILES]
        return [file for file in files if file_roles.role(os.path.relpath(file.path, above), False) == "rollouts"]
