"""A run that can be opened, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rltui.discovery.grouping import RunCandidate
from rltui.sources.base import FileStat, Listing, Place

if TYPE_CHECKING:
    from rltui.sources.slurm import Job


class NotARun(Exception):  # noqa: N818  (a message for the user, not a fault)
    """The argument names nothing that can be opened. The text is the whole message: what, where, what to do."""


@dataclass(frozen=True, slots=True)
class Found:
    """A run that can be opened: its files by format, on a place."""

    candidate: RunCandidate
    place: Place
    listing: Listing
    job: Job | None = None  # of Slurm, where the run was named by it
    unreadable: tuple[tuple[str, str], ...] = ()  # files below its root that nobody can tell the kind of, and why

    @property
    def files(self) -> list[FileStat]:
        """The metric files, as they were when found."""
        known = self.listing.by_path
        return [known[path] for path, _ in self.candidate.files if path in known]
