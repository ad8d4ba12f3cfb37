"""A bounded look below a local directory for files that may belong to a run (how: `tree`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rltui.sources import errors
from rltui.sources.base import FileStat, Listing
from rltui.sources.tree import MAX_DEPTH, MAX_ENTRIES, MAX_SECONDS, is_checkpoint_dir, walk_tree

__all__ = ["is_checkpoint_dir", "listing", "walk"]


def walk(
    root: str,
    *,
    max_depth: int = MAX_DEPTH,
    max_entries: int = MAX_ENTRIES,
    max_seconds: float = MAX_SECONDS,
    found: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Listing:
    """See `walk_tree`, which also names the bounds; what went wrong with the root is `Listing.error`."""
    try:
        tree = walk_tree(root, max_depth, max_entries, max_seconds, found, cancelled)
    except (OSError, ValueError) as error:
        return Listing(root, (), (), complete=False, error=errors.from_exception(root, error))
    return listing(root, tree.files, tree.dirs, tree.complete, tree.skipped)


def listing(
    root: str,
    files: Iterable[tuple[str, int, float, str]],
    dirs: Iterable[str],
    complete: bool,
    skipped: Mapping[str, int],
) -> Listing:
    """The listing of what `walk_tree` found, here or on a remote machine."""
    left_out = {reason: count for reason, count in skipped.items() if count}
    return Listing(root, tuple(FileStat(*file) for file in files), tuple(dirs), complete, left_out)
