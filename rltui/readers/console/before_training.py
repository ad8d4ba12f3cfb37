"""Scores of the model before training, in a line above all steps that says so: `Initial eval: accuracy = 0.31`,
`Baseline GSM8K accuracy: 31.2%`. They belong to step 0."""

from __future__ import annotations

from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.base import FIRST_STEP
from rltui.readers.console.named_numbers import slots_of
from rltui.readers.console.plain_lines import of_evaluation
from rltui.readers.console.step_template import StepRow
from rltui.readers.console.units import with_units
from rltui.readers.name_words import words

_SAYS = lazy(
    r"(?i)\b(?:initial|baseline|base[ _-]model|untrained|zero[ _-]shot|(?:before|prior to) (?:the )?(?:rl|training)"
    r"|pre[ _-]?(?:rl|training))\b:?\s*"
)
REWARDS = frozenset(("reward", "score", "pass"))
MOST = 200
"""Longer lines are prose."""


def scores_before(message: str) -> dict[str, float]:
    """The scores of the model before training that a line states; empty for any other line. A reward or the like counts
    only if the line says that it is from an evaluation."""
    if len(message) > MOST or _SAYS.search(message) is None:
        return {}
    said = _SAYS.sub("", message)
    known = words()
    wanted = known.shares | known.problem_sets | known.benchmarks
    if any(word.lower().rstrip(":=") in known.evaluation for word in said.split()):
        wanted |= REWARDS
    cells: dict[str, float] = {}
    for slot in slots_of(with_units(said)):
        if "." in slot.text and any(word.lower() in wanted for word in slot.name.split()):
            cells.setdefault(of_evaluation(slot.name), slot.value)
    return cells


class BeforeTraining:
    """Holds such scores until it is known that the steps begin after them."""

    def __init__(self) -> None:
        self._row: StepRow | None = None

    def copy(self) -> BeforeTraining:
        twin = BeforeTraining()
        twin._row = self._row
        return twin

    def take(self, message: str, line: int, time: float) -> bool:
        """Takes a line above all steps. True if it holds such scores."""
        cells = scores_before(message)
        if cells:
            old = self._row
            self._row = (
                StepRow(0, cells, lines=(line,), time=time, aside=True)
                if old is None
                else replace(old, cells=cells | old.cells, lines=(*old.lines, line))
            )
        return bool(cells)

    def give(self, rows: list[StepRow]) -> list[StepRow]:
        """The rows that a line gave. If they are the first and begin near step 0, the row of the scores precedes
        them."""
        if self._row is None or not rows:
            return rows
        held, self._row = self._row, None
        return [held, *rows] if 0 < rows[0].step <= FIRST_STEP else rows
