"""Which of several processes state the steps of a training: one rank of it, one worker of Ray."""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import Lead
from rltui.readers.console.line_pairs import MAX_BLOCK
from rltui.readers.console.open_templates import FIRST_RANK
from rltui.readers.console.step_template import StepRow

OTHER_RANK = "line with a step of another rank than the first"
_TRAINER = lazy(r"\((?:\x1b\[[\d;]*m)*(?:Train(?:er|ing)?|Learner|Actor|Driver)Worker\b")


class StatingProcesses:
    """`skip`: called with the reason if a line of another process is left out."""

    def __init__(self, skip: Callable[[str], None]) -> None:
        self._skip = skip
        self._rank: str | None = None  # rank of the process whose lines state the steps
        self._named_by_rank: set[str] = set()  # names in its lines
        self._newest: tuple[int, str, set[str]] = (-1, "", set())  # step, Ray's prefix and names of the newest rows
        self._trainer = ""  # Ray's prefix of the worker that trains

    @property
    def told(self) -> bool:
        """Whether a row was told."""
        return self._newest[0] >= 0

    def foreign(self, lead: Lead) -> bool:
        """Whether a line comes from another process than the one that already states the steps. The first rank is never
        foreign, as it may take over."""
        return self._rank is not None and lead.rank not in ("", FIRST_RANK, self._rank)

    def tells(self, rank: str, names: Collection[str]) -> bool:
        """Whether lines of a rank state the steps. Rank 0 does from now on, if it has names that the other rank had; if
        it has none of them, its lines stand beside those of the other rank."""
        another = rank == FIRST_RANK and self._rank not in (None, FIRST_RANK)
        if another and names and self._named_by_rank.isdisjoint(names):
            return True
        self._rank = rank or self._rank
        if rank and len(self._named_by_rank) < MAX_BLOCK:
            self._named_by_rank.update(names)
        return True

    def rows(self, lead: Lead, prefix: str, rows: list[StepRow]) -> list[StepRow]:
        """The rows of a line that count. If several processes report one step, the first counts. Among the ranks of one
        training it is rank 0, if that reports the same names."""
        before, out = self._rank, []
        if not self.tells(lead.rank, {name for row in rows for name in row.cells}):
            self._skip(OTHER_RANK)
            return []
        told = -1 if before in (None, self._rank) else self._newest[0]  # by the rank before
        for row in rows:
            cells = row.cells
            if row.step <= told:
                self._skip(OTHER_RANK)
                continue
            if row.step == self._newest[0] and prefix and prefix != self._newest[1]:
                cells = {name: x for name, x in cells.items() if name not in self._newest[2]}
                out.append(replace(row, cells=cells))
                continue
            names = self._newest[2] | cells.keys() if row.step == self._newest[0] else set(cells)
            self._newest = row.step, prefix, names
            out.append(row)
        return out

    def trains(self, prefix: str) -> bool:
        """Whether a worker's name says that it trains, and no other such worker came before it."""
        if self._trainer == "" and _TRAINER.search(prefix) is not None:
            self._trainer = prefix
        return prefix == self._trainer
