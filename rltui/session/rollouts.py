"""The rollouts of a run: its dumps and logs, with the length limit and reward weights from its config."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rltui.discovery import file_roles
from rltui.discovery.found import Found
from rltui.rollouts.index import Dump, RolloutIndex, open_index
from rltui.run.run import Run
from rltui.session.run_reader import RunReader
from rltui.session.samples import length_cap, reward_weights
from rltui.sources.base import FileStat, SourceError
from rltui.sources.local import LocalPlace


def open_rollouts(found: Found, run: Run | None = None, dumps: Sequence[FileStat] | None = None) -> RolloutIndex:
    """The index of a run's rollouts. `run` (with its config read) supplies the length limit of completions and the
    reward weights. `dumps`: the files that hold rollouts, by default those in the run's directory."""
    known = {file.path: Dump(file.path, file.size, file.mtime) for file in found.listing.files}
    files = [known[path] for path in found.candidate.rollouts if path in known]
    if dumps is not None:
        files = [Dump(file.path, file.size, file.mtime) for file in dumps]
    logs = [known[path] for path, kind in found.candidate.files if kind.endswith("console") and path in known]
    return open_index(
        found.place,
        found.listing.root,
        files,
        logs,
        cap=length_cap(run) if run else None,
        weights=reward_weights(run) if run else (),
    )


def dumps_alone(path: str) -> RolloutIndex | None:
    """The index of a file or directory on this machine that holds dumps and no log; None if it holds no dumps."""
    place, path = LocalPlace(), os.path.abspath(path)
    stat = place.stat(path)
    files = place.walk(path).files if isinstance(stat, SourceError) else (stat,)
    above = os.path.dirname(path)
    dumps = [f for f in files if file_roles.role(os.path.relpath(f.path, above), False) == "rollouts"]
    return open_index(place, path, [Dump(f.path, f.size, f.mtime) for f in dumps], []) if dumps else None


def rollouts_of(opened: RunReader, paths: Sequence[str]) -> RolloutIndex:
    """The index of an open run. `paths`: its dumps, as its frames name them."""
    place, run = opened.place, opened.run
    stats: list[FileStat | SourceError] = [
        *opened.dumps()
    ]  # over a network, each request for a size would wait for the link
    if place.link() is None:
        stats = [place.stat(path) for path in paths]
    dumps = [Dump(stat.path, stat.size, stat.mtime) for stat in stats if not isinstance(stat, SourceError)]
    logs = [Dump(feed.path, feed.size, feed.mtime) for feed in opened.feeds if feed.format.endswith("console")]
    return open_index(place, run.path, dumps, logs, cap=length_cap(run), weights=reward_weights(run))
