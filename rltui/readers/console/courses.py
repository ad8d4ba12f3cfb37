"""Finds which of several kinds of lines count the training steps.

An agent's log prints the steps of each episode between those of the training: `[env 3] step 2 reward=0.5`, in words
that other logs use for training steps. The count of such lines starts again and again, while that of the training goes
on. If a run was restarted, all counts go back. Rows are held back until it is clear which of these it is.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.readers.console.lead import without_lead
from rltui.readers.console.named_numbers import NUMBER
from rltui.readers.console.step_template import StepRow

HELD = 64
"""Rows that are held back as the log begins, and after a count went back."""
MOST_HELD = 5000
"""Most rows that are held back as the log begins, if a count goes back again and again."""
MOST_NAMES = 400
RISES = 2
"""How often one count must rise, and another start again meanwhile."""
OTHER_COUNT = "row of a count that starts again while that of the steps goes on"


@lru_cache(maxsize=256)  # called when a line is read and when its row is passed on
def form_of(message: str) -> str:
    """What distinguishes lines with a step from other such lines: the words up to the second number. Empty if not
    known, or if the lines count epochs: in each epoch other counts start again."""
    text = without_lead(message)
    begun = [found.span() for found, _ in zip(NUMBER.finditer(text), range(2), strict=False)]
    if not begun:
        return ""
    words = text[: begun[0][0]], text[begun[0][1] : begun[1][0]] if len(begun) > 1 else ""
    return "" if "epoch" in words[0].lower() else "#".join(" ".join(one.split()) for one in words)


class LineCount(Struct):
    """The count in lines of one form. `newest`: the newest count. `rises`: how often it rose. `backs`: how often it
    fell, or stayed while another rose. `seen`: how often all others had risen when it was last stated. `apart`: how
    often it did not go on from the count in the line before, as it does if both count the same."""

    newest: int
    rises: int = 0
    backs: int = 0
    seen: int = 0
    apart: int = 0
    names: set[str] = field(default_factory=set)  # of its numbers
    since: dict[str, int] = field(default_factory=dict)  # form -> how often that had fallen as this one began


class Courses(Struct):
    """Takes rows in file order and passes them on, at once or later. `dropped`: the rows that were not passed on since
    this list was last emptied."""

    sure: bool = False
    dropped: list[StepRow] = field(default_factory=list)
    _held: list[tuple[str, StepRow]] = field(default_factory=list)
    _of: dict[str, LineCount] = field(default_factory=dict)
    _others: set[str] = field(default_factory=set)  # forms that count something else
    _doubted: str = ""  # the form whose count went back alone
    _peak: int = 0  # its count before that
    _top: int = 0  # the largest of all counts before that
    _calm: int = 0  # rows since a count fell
    _before: tuple[str, int] = ("", 0)  # form and count of the newest row

    def copy(self) -> Courses:
        of = {
            form: LineCount(one.newest, one.rises, one.backs, one.seen, one.apart, set(one.names), dict(one.since))
            for form, one in self._of.items()
        }
        return replace(self, dropped=list(self.dropped), _held=list(self._held), _of=of, _others=set(self._others))

    @property
    def held(self) -> list[StepRow]:
        """The rows that are held back."""
        return [row for _, row in self._held]

    @property
    def in_doubt(self) -> bool:
        """Whether it is still open which count is that of the steps."""
        return not self.sure and any(course.backs for course in self._of.values())

    def is_doubtful(self, row: StepRow) -> bool:
        """Whether the count of a row started again, or is known to count something else."""
        form = _form(row)
        return form in self._others or (form == self._doubted != "") or (form in self._of and self._of[form].backs > 0)

    def take(self, row: StepRow) -> list[StepRow]:
        """Takes a row. Returns the rows that are passed on now."""
        form = _form(row)
        if form in self._others:
            self.dropped += [row] if row.cells else []
            return []
        before = self._of.get(form)
        fell = before is not None and row.step < before.newest + (self._rises(form) > before.seen)
        rose = before is not None and row.step > before.newest
        if not row.cells:  # the row of its numbers follows
            fell = rose = False
        if not form and not self._held:
            return [row]
        if self.sure:
            given = self._later(form, row, fell, rose)
        else:
            self._held.append((form, row))
            given = None
        if form and row.cells:
            self._count(form, row.step, fell, rose)
            if len(self._of[form].names) < MOST_NAMES:
                self._of[form].names |= row.cells.keys()
        return self._early() if given is None else given

    def release(self) -> list[StepRow]:
        """Passes all rows on, as another kind of row follows or the log is over."""
        self.sure, self._doubted = True, ""
        for course in self._of.values():
            course.backs = 0
        out, self._held = self.held, []
        if all(row.lines for row in out):
            out.sort(key=lambda row: max(row.lines))  # a line may have waited until it was known how to read it
        return out

    def resumed(self) -> list[StepRow]:
        """Notes that the log reports a resume from a checkpoint: now all counts may go back without being in doubt.
        Returns the rows that are passed on."""
        if self.in_doubt or not (self.sure or any(one.rises >= RISES for one in self._of.values())):
            return []
        out = self.release()
        self._of.clear()
        self._before = "", 0
        return out

    def _count(self, form: str, step: int, fell: bool, rose: bool) -> None:
        course = self._of.get(form)
        if course is None:
            course = self._of[form] = LineCount(step, since={name: one.backs for name, one in self._of.items()})
        self._calm = 0 if fell else self._calm + 1
        other, count = self._before
        stride = step - course.newest
        course.apart += other not in ("", form) and not 0 <= step - count <= stride
        self._before = form, step
        course.newest, course.rises, course.backs = step, course.rises + rose, course.backs + fell
        if fell:  # what came before is no longer evidence
            course.rises = course.apart = 0
            course.since = {name: one.backs for name, one in self._of.items()}
        course.seen = self._rises(form)

    def _rises(self, form: str) -> int:
        """How often all other counts rose."""
        return sum(one.rises for name, one in self._of.items() if name != form)

    def _early(self) -> list[StepRow]:
        """The rows to pass on if those so far show enough."""
        for course in self._of.values():
            if min(course.rises, course.apart) < RISES:
                continue
            others = {
                name
                for name, one in self._of.items()
                if one is not course and one.backs - course.since.get(name, 0) >= RISES
            }
            if others:
                self._drop(others)
                return self.release()
        return self.release() if self._calm >= HELD or len(self._held) >= MOST_HELD else []

    def _later(self, form: str, row: StepRow, fell: bool, rose: bool) -> list[StepRow]:
        """The rows to pass on for a row after the first ones."""
        if self._doubted:
            self._held.append((form, row))
            same = form == self._doubted
            if not row.cells:
                return []
            if form and not same and rose and row.step > self._top:
                if self._of[self._doubted].backs:
                    self._drop({self._doubted})
                return [one for one in map(self._beside, self.release()) if one is not None]
            over = (form and not same) or (same and row.step > self._peak) or len(self._held) > HELD
            return self.release() if over else []
        others = [one.newest for name, one in self._of.items() if name != form and name not in self._others]
        if (fell or form not in self._of) and form and row.cells and any(newest > row.step for newest in others):
            self._doubted = form
            self._peak = self._of[form].newest if form in self._of else max(others)
            self._top = max(one.newest for one in self._of.values())
            self._held.append((form, row))
            return []
        return [row]

    def _beside(self, row: StepRow) -> StepRow | None:
        """The row. If it is behind the steps, as a slow evaluation is, it loses the numbers that others state; None if
        none remain."""
        form = _form(row)
        if not form or row.step > self._of[form].newest or row.step >= self._top or form in self._others:
            return row
        others = set[str]().union(*(one.names for name, one in self._of.items() if name != form))
        cells = {name: x for name, x in row.cells.items() if name not in others}
        self.dropped += [row] if len(cells) < len(row.cells) else []
        return replace(row, cells=cells, aside=True) if cells else None

    def _drop(self, forms: set[str]) -> None:
        self._others |= forms
        self.dropped += [row for form, row in self._held if form in forms and row.cells]
        self._held = [(form, row) for form, row in self._held if form not in forms]


def _form(row: StepRow) -> str:
    return row.form or ("" if row.aside or not row.message else form_of(row.message))
