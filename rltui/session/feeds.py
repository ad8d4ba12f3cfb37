"""The feed that fits a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rltui.readers.registry import DATABASES
from rltui.session.feed import Feed
from rltui.sources.base import FileStat, Place

if TYPE_CHECKING:
    from rltui.session.container_feeds import DatabaseFeed, StoreFeed
    from rltui.session.online_feed import OnlineFeed

    AnyFeed: TypeAlias = Feed | DatabaseFeed | StoreFeed | OnlineFeed


def feed_for(path: str, format: str, place: Place, stat: FileStat, inside: str = "") -> AnyFeed:
    """The feed of one container. `inside` is the key of the run in a database that may hold several."""
    if format in DATABASES or format == "mlflow-files":
        from rltui.session.container_feeds import DatabaseFeed, StoreFeed  # sqlite: for few runs

        if format in DATABASES:
            return DatabaseFeed(path, format, place, stat.size, stat.mtime, inside)
        return StoreFeed(path, format, place, stat.size, stat.mtime)
    if format == "wandb-online":
        from rltui.session.online_feed import OnlineFeed

        return OnlineFeed(path, format, place, stat.size, stat.mtime)
    return Feed(path, format, place, stat.size, stat.mtime)
