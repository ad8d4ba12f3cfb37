"""A log that is followed is shown as it is now, though later lines may show that its end must be read differently.

So `finish` and `rest` read ahead in place, and the next bytes are read from the state before that: they give the same
as if nobody had looked meanwhile. Rows that were given ahead and come again are not given again. If others come
instead, those given ahead are taken back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from math import nan

from msgspec import Struct

from rltui.readers.base import Counted, Foretold, Hint, LineReader, Record, Rows, TakenBack
from rltui.readers.console.twin import twin


class _Row(Struct, frozen=True):
    """One row of a block, or a block of rows that were printed at once. None: a number logged as NaN or an infinity, or
    no time."""

    steps: tuple[int, ...]
    times: tuple[float | None, ...]
    cells: tuple[dict[str, float | None], ...]
    behind: bool
    anew: bool
    printed: str
    zoned: bool

    def begins(self, other: _Row) -> bool:
        """Whether the other row only adds cells to this one."""
        alike = (self.steps, self.times, self.printed, self.anew) == (
            other.steps,
            other.times,
            other.printed,
            other.anew,
        )
        return alike and all(a.items() <= b.items() for a, b in zip(self.cells, other.cells, strict=True))

    def block(self, laps: int, unplaced: int) -> Rows:
        """The row as a block."""
        rows = Rows(printed=self.printed, zoned=self.zoned, laps=laps, unplaced=unplaced)
        rows.steps.extend(self.steps)
        rows.times.extend(nan if time is None else time for time in self.times)
        for key in dict.fromkeys(key for cells in self.cells for key in cells):
            column = [cells.get(key, nan) for cells in self.cells]
            bad = [i for i, x in enumerate(column) if x is None]
            rows.values.setdefault(key, rows.times[:0]).extend(nan if x is None else x for x in column)
            if bad:
                rows.nonfinite[key] = bad
        rows.behind, rows.anew = [0] * self.behind, [0] * self.anew
        return rows


def _rows_of(block: Rows) -> list[_Row]:
    """The rows of a block; a block that was printed at once stays together."""
    bad = {key: frozenset(places) for key, places in block.nonfinite.items()}
    times = [None if time != time else time for time in block.times]
    cells = [_cells(block, i, bad) for i in range(len(block))]
    behind, anew, zoned = frozenset(block.behind), frozenset(block.anew), block.zoned
    if block.printed:
        return [_Row(tuple(block.steps), tuple(times), tuple(cells), bool(behind), bool(anew), block.printed, zoned)]
    return [
        _Row((step,), (times[i],), (cells[i],), i in behind, i in anew, "", zoned) for i, step in enumerate(block.steps)
    ]


def _cells(block: Rows, i: int, bad: Mapping[str, frozenset[int]]) -> dict[str, float | None]:
    cells: dict[str, float | None] = {}
    for key, column in block.values.items():
        if i < len(column) and (x := column[i]) == x:
            cells[key] = x
    for key, places in bad.items():
        if i in places:
            cells[key] = None
    return cells


_Told = _Row | Counted


class GivenAhead:
    """The records that were given ahead, before the bytes that confirm them."""

    def __init__(self) -> None:
        self._rows: deque[_Told] = deque()  # not confirmed yet
        self._since: list[_Told] = []  # confirmed since the first of those was given
        self._others: list[Record] = []  # notes and the like, given once
        self._hinted = False
        self.over = False
        """Whether the log was read as if it were over."""

    @property
    def rows_wait(self) -> bool:
        """Whether rows that were given ahead are not confirmed yet."""
        return bool(self._rows)

    def foretell(self, records: Iterable[Record], further: bool) -> list[Record]:
        """The records to give out, from those that a look ahead found. `further`: it went on from the look before."""
        told = [one for record in records if isinstance(record, Rows | Counted) for one in self._each(record)]
        again = 0
        out: list[Record] = []
        if not further and self._rows:
            again = next((i for i, one in enumerate(self._rows) if i >= len(told) or told[i] != one), len(self._rows))
            if again < len(self._rows):
                out, again = self._back(), 0
        if len(told) > again and not self._rows:
            out.append(Foretold())
        self._rows.extend(told[again:])
        seen, place = 0, len(out)
        before, self._others = self._others, self._others if further else []
        for record in records:
            if isinstance(record, Rows | Counted):
                each = self._each(record)
                out += self._given(each[max(0, again - seen) :], record)
                seen += len(each)
            elif isinstance(record, Hint):
                self._hinted |= bool(record.text)
                out.append(record)
            else:
                known = record in before
                if not (known and further):
                    self._others.append(record)
                if not known:
                    out.insert(place, record)
                    place += 1
        return out

    def confirm(self, records: Iterable[Record]) -> list[Record]:
        """The records to give out, from those that are known to be right."""
        out: list[Record] = []
        others: list[Record] = []
        for record in records:
            if isinstance(record, Rows | Counted):
                out += self._confirmed(record)
            elif record in self._others:
                self._others.remove(record)
            else:
                out.append(record)
        if self._hinted and any(isinstance(record, Rows) for record in records):
            others, self._hinted = [Hint("")], False
        return [*others, *out]

    def _confirmed(self, record: Rows | Counted) -> list[Record]:
        if not self._rows:
            return [record]
        each, seen = self._each(record), 0
        while seen < len(each) and self._rows and each[seen] == self._rows[0]:
            self._since.append(self._rows.popleft())
            seen += 1
        back: list[Record] = []
        if seen < len(each) and self._rows:
            held, now = self._rows[0], each[seen]
            if len(self._rows) == 1 and isinstance(held, _Row) and isinstance(now, _Row) and held.begins(now):
                self._rows.clear()
            else:
                back = self._back()
        if not self._rows:
            self._since.clear()
        return [*back, *self._given(each[seen:], record)]

    def _back(self) -> list[Record]:
        """Takes back what was given ahead, except what was confirmed since."""
        since, self._since = self._since, []
        self._rows.clear()
        return [TakenBack(), *(one for told in since for one in self._given([told], None))]

    @staticmethod
    def _each(record: Rows | Counted) -> list[_Told]:
        return [record] if isinstance(record, Counted) else list(_rows_of(record))

    @staticmethod
    def _given(each: list[_Told], record: Rows | Counted | None) -> list[Record]:
        """These rows of a record, in a block."""
        if record is not None and isinstance(record, Counted):
            return [record] if each else []
        of = (0, 0) if record is None else (record.laps, record.unplaced)
        out: list[Record] = []
        if record is not None and len(each) == len(record):
            return [record] if each else []
        for one in each:
            if isinstance(one, Counted):
                out.append(one)
            elif out and isinstance(last := out[-1], Rows) and not (one.printed or last.printed):
                last.append(one.block(*of))
            else:
                out.append(one.block(*of))
        return out


class Foretelling(LineReader):
    """A reader of lines whose looks ahead can be taken back. `takes_back`: its consumer can take back what was given.
    Otherwise what was given ahead stays, and the reader goes on from there."""

    takes_back = False
    skipped: Counter[str]
    skipped_at: dict[str, str]
    torn_line: int
    """The newest line that was read without its end. It stays as a look ahead left it, as notes of the complete line
    replace those."""

    def __init__(self) -> None:
        self._before: dict[str, object] | None = None  # the state before the end was looked at
        self._ahead = GivenAhead()

    @abstractmethod
    def _feed(self, data: bytes) -> list[Record]: ...

    @abstractmethod
    def _finish(self) -> list[Record]: ...

    @abstractmethod
    def _rest(self) -> list[Record]: ...

    def feed(self, data: bytes) -> list[Record]:
        """See `Reader`."""
        if not self.takes_back:
            return self._feed(data)
        ahead = self._ahead
        if self._before is not None and data:
            self._go_back(self._before)
        out = ahead.confirm(self._feed(data))
        if not ahead.rows_wait:
            ahead.over = False
            return out
        return [*out, *self._look()]  # rows were given ahead, so those that follow them are too

    def finish(self) -> list[Record]:
        """See `Reader`."""
        if not self.takes_back:
            return self._finish()
        self._ahead.over = True
        return self._look()

    def rest(self) -> list[Record]:
        """The rows that were held back for later lines, as nothing follows for now. The second time the log is read as
        if it were over, so all that a quiet log holds is shown."""
        if not self.takes_back:
            return self._rest()
        self._ahead.over |= self._before is not None
        return self._look()

    @property
    def waits(self) -> bool:
        """Whether something may still be held back, so that `rest` must be called again later."""
        return self._before is not None and not self._ahead.over

    def _look(self) -> list[Record]:
        further = self._look_ahead()
        return self._ahead.foretell(self._finish() if self._ahead.over else self._rest(), further)

    def _look_ahead(self) -> bool:
        """Keeps the state. Returns whether it was kept already, as nothing came since the look before."""
        if self._before is not None:
            return True
        same = (self, self.skipped, self.skipped_at, self._ahead)
        known: dict[int, object] = {id(one): one for one in same}
        self._before = {key: twin(x, known) for key, x in vars(self).items()}
        self._before |= {"skipped": dict(self.skipped), "skipped_at": dict(self.skipped_at)}
        return False

    def _go_back(self, before: dict[str, object]) -> None:
        torn = self.torn_line
        for held in (self.skipped, self.skipped_at):  # others hold references to them
            kept = before.pop("skipped" if held is self.skipped else "skipped_at")
            held.clear()
            held.update(kept)  # type: ignore[call-overload]
        vars(self).update(before)
        self._before, self.torn_line = None, torn
