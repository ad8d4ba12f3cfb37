"""The rollouts of a run that was found: its dumps and logs, the response limit and reward weights of its config."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rltui.run.rollout_index import Dump, RolloutIndex, open_index
from rltui.run.run import Run
from rltui.session.locate import Found
from rltui.session.opened import OpenedRun
from rltui.sources.base import SourceError


def open_rollouts(found: Found, run: Run | None = None) -> RolloutIndex:
    """The index of a run's rollouts. `run`, once its config is read, says where completions are cut and how rewards
    are weighted."""
    known = {file.path: Dump(file.path, file.size, file.mtime) for file in found.listing.files}
    dumps = [known[path] for path in found.candidate.rollouts if path in known]
    logs = [known[path] for path, kind in found.candidate.files if kind.endswith("console") and path in known]
    return open_index(
        found.place,
        found.listing.root,
        dumps,
        logs,
        cap=_cap(run) if run else None,
        weights=_weights(run) if run else (),
    )


def _cap(run: Run) -> int | None:
    entry = run.config.get("max_response_length")
    value = entry.value if entry else None
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _weights(run: Run) -> tuple[float, ...]:
    entry = run.config.get("reward_weights")
    value = entry.value if entry else None
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return ()
    if not isinstance(value, list | tuple):
        return ()
    weights = [float(w) for w in value if isinstance(w, int | float)]
    return tuple(weights) if len(weights) == len(value) else ()


def rollouts_of(opened: OpenedRun, paths: Sequence[str]) -> RolloutIndex:
    """The index of a run that is open. `paths` are its dumps, as its frames name them."""
    place, run = opened.place, opened.run
    dumps = [Dump(path, 0) for path in paths]  # over a network each size would wait for the link, and none is counted
    if place.link() is None:
        stats = [place.stat(path) for path in paths]
        dumps = [Dump(stat.path, stat.size, stat.mtime) for stat in stats if not isinstance(stat, SourceError)]
    logs = [Dump(feed.path, feed.size, feed.mtime) for feed in opened.feeds if feed.format.endswith("console")]
    return open_index(place, run.path, dumps, logs, cap=_cap(run), weights=_weights(run))
