"""Step lines in a program's own words that are held back or still open, and their rows if nothing more comes for now,
or ever."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import nan

from msgspec.structs import replace

from rltui.readers.console.before_training import BeforeTraining
from rltui.readers.console.evaluations import EvaluationLines
from rltui.readers.console.heading_forms import HeadingForms
from rltui.readers.console.labelled_lines import LabelledLines
from rltui.readers.console.lead import (
    split_lead,
)
from rltui.readers.console.line_clock import LineClock
from rltui.readers.console.line_pairs import MAX_BLOCK
from rltui.readers.console.open_end import OpenEnd
from rltui.readers.console.sample_lines import SampleLines
from rltui.readers.console.settled_form import LineReading
from rltui.readers.console.stated_names import StatedNames
from rltui.readers.console.stating_processes import StatingProcesses
from rltui.readers.console.step_block import StepBlock
from rltui.readers.console.step_heads import StepHeads
from rltui.readers.console.step_template import StepRow
from rltui.readers.console.template import TemplateLearner
from rltui.readers.console.wordings import Wordings
from rltui.readers.epochs import CountsByEpoch

_Known = tuple[
    TemplateLearner | None,
    set[bytes],
    StepBlock | None,
    CountsByEpoch,
    Wordings,
    dict[str, tuple[int, bool]],
    LabelledLines,
    BeforeTraining,
    tuple[tuple[str, int, float], ...],
]


class HeldWords(OpenEnd[_Known]):
    """The state of reading such lines: the step that is open, and what was learned about the log."""

    def __init__(
        self,
        clock: LineClock,
        skip: Callable[[str], None] = lambda reason: None,
        newest: Callable[[], int] = lambda: -1,
        known: Callable[[], Collection[str]] = tuple,
    ) -> None:
        super().__init__()
        self._step = newest  # gives the log's current step, -1 before the first
        self._clock = clock
        self._time = nan  # time of the current line
        self._skip = skip  # called with the reason if a line or a part of it is left out
        self._processes = StatingProcesses(skip)
        self._learner: TemplateLearner | None = TemplateLearner()
        self._evaluations, self._before = EvaluationLines(), BeforeTraining()
        self._never: set[bytes] = set()  # shapes of lines that are never step lines
        self._block: StepBlock | None = None
        self._epochs = CountsByEpoch()  # of the lines that name their step
        self._heads = StepHeads(skip)
        self._wordings, self._labels = Wordings(), LabelledLines()
        self._samples = SampleLines()
        self._in_text = False  # a prompt or response began, and each line since may belong to it
        self._stated = StatedNames(known)
        self._below: set[str] = set()  # names in the messages of headings
        self._below_heads = HeadingForms()
        self._in_blocks: set[str] = set()  # names below headings and step lines
        self._last: dict[str, tuple[int, bool]] = {}  # form -> its newest step, and whether that ever went back
        self._put_off: tuple[tuple[str, int, float], ...] = ()  # lines that may be inside a step
        self._commas = 0  # lines with a decimal comma
        self.at = 0  # number of the line in the file
        self._lead = split_lead("")  # of the newest line with a reading
        self.reading: LineReading | None = None  # what was made of the newest line, if lines of its form may be settled
        self.belongs = False  # the last line passed to `named` belongs to a step, or is already counted as left out

    @property
    def learns(self) -> bool:
        """Whether a line of any shape may matter."""
        return self._learner is not None

    @property
    def is_open(self) -> bool:
        """Whether the next line may belong to the text above it."""
        return self._block is not None or (self._learner is not None and self._learner.is_open)

    @property
    def is_below_step(self) -> bool:
        """Whether the line above, or the block that is open, states a step."""
        return self._block is not None or (self._learner is not None and self._learner.is_below_step)

    @property
    def counts(self) -> bool:
        """Whether rows are counted, as no line states its step."""
        return self._learner is not None and self._learner.counts

    def is_at(self, step: int) -> bool:
        """Whether the log's own lines stated this step too."""
        return self._learner is not None and self._learner.knows_steps and step == self._step()

    def stop(self) -> None:
        """Stops learning, as other readers state the steps: from now on only lines that name their step count."""
        self._learner = self._ahead = None

    def other(self) -> None:
        """Notes a line of a dialect: the next lines belong to it."""
        if self._block is not None:
            self._block.over = True

    def close(self) -> list[StepRow]:
        """Ends the open step. Returns its row."""
        block, self._block = self._block, None
        told = {} if block is None else block.told
        if block is None or not told:
            return []
        if len(self._below) < MAX_BLOCK:
            self._below |= block.own
        if len(self._in_blocks) < MAX_BLOCK:
            self._in_blocks |= told.keys()
        return [StepRow(block.step, told, time=block.time, message=block.message)]

    def so_far(self) -> list[StepRow]:
        """Probable rows, as nothing more comes for now. They may still go on."""
        block = self._block
        held = (
            []
            if block is None or not block.told
            else [StepRow(block.step, dict(block.told), time=block.time, message=block.message)]
        )
        return [*self.settle(), *held]

    def settle(self, over: bool = False) -> list[StepRow]:
        """Rows of probable step lines that were held back, as nothing more comes for now, or ever (`over`). Numbers
        that blocks of steps state are left out of them: otherwise these steps would be stated twice."""
        rows = [] if self._learner is None else self._learner.settle(over)
        if self._learner is not None and self._learner.took_over:
            return rows
        return [
            replace(row, cells={name: x for name, x in row.cells.items() if name not in self._in_blocks})
            for row in rows
            if not row.cells or not row.cells.keys() <= self._in_blocks
        ]

    def look_further(self, torn: bool) -> None:
        super().look_further(torn)
        if self._learner is not None and not torn:
            self._learner.go_on()  # lines that were held back are complete

    def look_back(self) -> list[StepRow]:
        """Probable rows, as the log ends here for now. It changes nothing."""
        rows, told_by_others = self.so_far(), self._learner is None
        self.go_back()
        if told_by_others:
            self._learner = None
        return rows

    def go_on(self, whole: bool) -> list[StepRow]:
        """See `was_whole`. Returns the rows that are then known."""
        return self._learner.go_on() if self.was_whole(whole) and self._learner is not None else []

    @property
    def _known(self) -> _Known:
        return (
            *(self._learner, self._never, self._block, self._epochs, self._wordings, self._last, self._labels),
            *(self._before, self._put_off),
        )

    @_known.setter
    def _known(self, known: _Known) -> None:
        self._learner, self._never, self._block, self._epochs, self._wordings, self._last, self._labels = known[:-2]
        self._before, self._put_off = known[-2:]

    def _copied(self) -> _Known:
        learner, block = self._learner, self._block
        return (
            None if learner is None else learner.copy(),
            set(self._never),
            None
            if block is None
            else replace(
                block,
                cells=dict(block.cells),
                own=set(block.own),
                inner=set(block.inner),
                ahead=dict(block.ahead),
                below_names=list(block.below_names),
                lines_below=block.lines_below.copy(),
                doubtful=set(block.doubtful),
            ),
            self._epochs.copy(),
            self._wordings.copy(),
            dict(self._last),
            self._labels.copy(),
            self._before.copy(),
            self._put_off,
        )
