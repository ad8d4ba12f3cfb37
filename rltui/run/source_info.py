"""What a report says about each file of a run."""

from __future__ import annotations

from msgspec import Struct, field

from rltui.prose import several
from rltui.readers.base import LeftOut, Recurring


class SourceInfo(Struct, frozen=True):
    """What was read from one file. `skipped`: reason -> number of records; `skipped_at`: reason -> where the first one
    is. `used`: False for a file that was ignored (`note` gives the reason).

    `newest`: the time stamp of its newest row (seconds since the epoch, None if unknown), which may be `zoned` (see
    `Rows`). `lag`: how late its writer is known to write, in words ("" if it writes at once). `broken`: the error of
    its reader (a bug in rltui), after which nothing more was read. `untaken`: console lines from which nothing was
    taken because they do not look like rows. `recurring`: those of them that come again and again and name numbers.
    `replaced`: rows that another row of the same step, with other values, replaced.
    """

    path: str
    format: str
    rows: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    note: str = ""
    used: bool = True
    mtime: float | None = None
    newest: float | None = None
    zoned: bool = False
    lag: str = ""
    skipped_at: dict[str, str] = field(default_factory=dict)
    untaken: tuple[LeftOut, ...] = ()
    recurring: tuple[Recurring, ...] = ()
    replaced: int = 0
    broken: str = ""

    def left_out(self) -> tuple[LeftOut, ...]:
        """The records that were skipped, then the lines from which nothing was taken."""
        skipped = (LeftOut(why, n, self.skipped_at.get(why, "")) for why, n in self.skipped.items() if n)
        return (*skipped, *self.untaken)

    def skipped_text(self) -> str:
        """`2 lines that are not JSON (first at line 7), ...`; empty if nothing was skipped."""
        first = {reason: f" (first at {where})" for reason, where in self.skipped_at.items()}
        told = ((several(count, reason), first.get(reason, "")) for reason, count in self.skipped.items() if count)
        return ", ".join(f"{text}{where}" for text, where in told)
