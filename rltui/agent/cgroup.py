"""Memory as the control group of this process allows it.

Also sent to remote machines: Python 3.6 and the standard library only.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class GroupMemory(NamedTuple):
    """Bytes used (without file cache that can be dropped) and allowed."""

    used: int
    limit: int


def cgroup_memory(
    membership: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> "GroupMemory | None":
    """The cgroup with the least room left, of this process and all groups around it; None where nothing is limited.

    Version 2 (`memory.max`, `memory.current`) and version 1 (`memory.limit_in_bytes`, `memory.usage_in_bytes`). Inside
    a container the written path may be the host's: what does not exist there is looked up from the mount's root.
    """
    found = [m for m in (_read_group(*place) for place in _group_places(membership, root)) if m is not None]
    return min(found, key=lambda m: m.limit - m.used, default=None)


def _group_places(membership: Path, root: Path) -> "Iterator[tuple[Path, str, str, str]]":
    """(directory, limit file, usage file, name of droppable cache) of the groups, innermost first."""
    try:
        lines = membership.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            files = ("memory.max", "memory.current", "inactive_file")
            mounts = [root, root / "unified"]
        elif "memory" in controllers.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            mounts = [root / controllers, root / "memory"]
        else:
            continue
        parts = [p for p in path.split("/") if p not in ("", ".", "..")]
        for mount in dict.fromkeys(mounts):
            for depth in range(len(parts), -1, -1):
                yield (mount.joinpath(*parts[:depth]), *files)


def _read_group(directory: Path, limit_file: str, usage_file: str, cache_name: str) -> "GroupMemory | None":
    limit, used = _integer(directory / limit_file), _integer(directory / usage_file)
    if limit is None or used is None:
        return None
    cache = 0
    try:
        with open(directory / "memory.stat", encoding="ascii", errors="replace") as stat:
            for line in stat:
                name, _, value = line.partition(" ")
                if name == cache_name:
                    cache = int(value)
                    break
    except (OSError, ValueError):
        cache = 0
    return GroupMemory(max(0, used - cache), limit)


def _integer(path: Path) -> "int | None":
    """The number in a one-line file; None where absent, unreadable or `max`."""
    try:
        return int(path.read_text(encoding="ascii", errors="replace"))
    except (OSError, ValueError):
        return None
