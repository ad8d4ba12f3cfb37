"""Lines of a block that tell nothing, many at once.

Most lines of a log are of forms from which nothing was taken before, or are states of a known progress bar. Where the
next other line is, is asked for all lines of a block together: that takes a tenth of the time of a look at each.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate

from rltui.readers.console.line_filter import LineFilter, shape_of
from rltui.readers.console.printed_rows import may_hold_mark
from rltui.readers.console.untaken import UntakenLines

FEW = 16
"""Fewer lines than this are counted one by one."""
LATE = 64
"""The lines of unknown forms are sorted again once one of so many came whose form became known meanwhile."""


class QuietLines:
    """The lines of a block, and their shapes."""

    def __init__(self, text: bytes, filter: LineFilter) -> None:
        self.lines = text.split(b"\n")
        self.forms = shape_of(text).split(b"\n")
        self._lengths: list[int] = []  # of the text without line ends, up to the end of each line
        self._filter = filter
        self._cleared = -1
        self._late = 0  # lines met whose forms became known since these were sorted
        self._odd: list[int] = []  # lines of unknown forms, when they were sorted
        self._bars: list[int] = []  # lines of the forms of bars
        self._counts = Counter[bytes]()  # of all forms

    def start(self, i: int) -> int:
        """The place in the text at which a line begins."""
        if not self._lengths:
            self._lengths = [*accumulate(map(len, self.lines))]
        return self._lengths[i] + i - len(self.lines[i])

    def _is_dull(self, form: bytes) -> bool:
        return not form or (form in self._filter.dull and not may_hold_mark(form))

    def _is_bar(self, form: bytes) -> bool:
        return form in self._filter.bars and not may_hold_mark(form)

    def _is_known(self, form: bytes) -> bool:
        return self._is_dull(form) or self._is_bar(form)

    def _sort(self) -> None:
        """Finds the lines of unknown forms, and the bars."""
        self._cleared = self._filter.cleared
        self._counts = self._counts or Counter(self.forms)
        bars = {form for form in self._counts if self._is_bar(form)}
        odd = {form for form in self._counts if not self._is_dull(form)} - bars
        self._odd = [at for at, form in enumerate(self.forms) if form in odd] if odd else []
        self._bars = [at for at, form in enumerate(self.forms) if form in bars] if bars else []

    def _sort_again(self) -> None:
        """Removes the lines from those of unknown forms whose forms became known since."""
        self._late = 0
        known = {form for form in {self.forms[at] for at in self._odd} if self._is_known(form)}
        self._bars += [at for at in self._odd if self.forms[at] in known and self._is_bar(self.forms[at])]
        self._bars.sort()
        self._odd = [at for at in self._odd if self.forms[at] not in known]

    def until(self, i: int) -> int:
        """Up to which line, from line `i` on, all are of known forms."""
        if self._cleared != self._filter.cleared:
            self._sort()
        at = bisect_left(self._odd, i)
        odd = self._odd[at] if at < len(self._odd) else len(self.lines)
        if odd == i and self._is_known(self.forms[i]):
            self._late += 1
            if self._late <= FEW + len(self._odd) // LATE:
                return i + 1
            self._sort_again()
            return self.until(i)
        return odd

    def bars(self, i: int, end: int) -> list[int]:
        """Which of these lines are of the forms of bars."""
        if end - i == 1:
            return [i] if self._is_bar(self.forms[i]) else []
        return self._bars[bisect_left(self._bars, i) : bisect_left(self._bars, end)]

    def count(self, untaken: UntakenLines, i: int, end: int, first_line: int) -> None:
        """Counts lines as such from which nothing was taken, but for bars. `first_line`: the number of the first line
        of the block."""
        again = {} if untaken.open_line else untaken.again
        forms = self.forms[i:end]
        if len(forms) >= FEW:
            counts = self._counts if len(forms) == len(self.forms) else Counter(forms)
            told = [form for form in counts if form and not self._is_bar(form)]
            if all(form in again for form in told):
                for form in told:
                    again[form].count += counts[form]
                return
        for at, form in enumerate(forms, i):
            if (known := again.get(form)) is not None:
                known.count += 1
            elif form and not self._is_bar(form):
                untaken.add(form, self.lines[at], first_line + at)

    def newest(self, i: int, end: int) -> bytes:
        """The last of these lines that is not empty; empty if there is none."""
        return next((self.lines[at] for at in range(end - 1, i - 1, -1) if self.lines[at]), b"")
