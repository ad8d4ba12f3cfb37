"""Lines whose form is settled, many at once. A loop prints a line for each step, thousands of times in the same words:
to read one word by word takes five times as long as to read its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rltui.readers.console.joined_lines import may_be_joined
from rltui.readers.console.lead import without_colours
from rltui.readers.console.own_words import OwnWords
from rltui.readers.console.printed_rows import may_hold_mark
from rltui.readers.console.settled_form import LineNumbers, LineReading, SettledForm
from rltui.readers.console.step_template import StepRow

Take = Callable[[int, Callable[[], list[StepRow]]], None]


class SettledLines:
    """`line`: the number of the line above, if that is of the form that is learned; 0 if not."""

    def __init__(self) -> None:
        self.line = 0
        self._form = SettledForm()

    @property
    def learns(self) -> bool:
        return self._form.learns

    def learn(self, reading: LineReading | None, line: bytes, shape: bytes, number: int) -> None:
        """Takes a line that was read word by word, and what was made of it: None if its form cannot be settled."""
        odd = b"\r" in line or may_be_joined(line) or may_hold_mark(shape)
        learned = reading is not None and not odd and self._form.learn(_text(line), reading)
        self.line = number if learned else 0

    def take(self, own: OwnWords, lines: Sequence[bytes], places: range, first_line: int, take: Take) -> int:
        """Takes lines at these places, each with its number and its rows, as long as each only states the step after
        the one above. The last of them is not taken, as what follows may belong to it. `first_line`: the number of line
        0. Returns the first line that is not taken."""
        i, like = places.start, self._form.reading
        if like is None or not own.stands_at(self.line, like):
            return i
        newest, first, last = like.count, i, i
        told = self._read(lines, i) if places else None
        while told is not None and told.stated > newest:
            following = next((at for at in range(i + 1, places.stop) if lines[at]), None)
            after = None if following is None else self._read(lines, following)
            if following is None or after is None or after.stated <= told.stated:
                break
            own.at = first_line + i
            take(own.at, lambda now=told: own.goes_on(like, now))  # type: ignore[misc]
            newest, told, last, i = told.stated, after, i, following
        if i > first:
            own.went_on_to(_text(lines[last]))
        return i

    def _read(self, lines: Sequence[bytes], at: int) -> LineNumbers | None:
        return self._form.read(_text(lines[at]))


def _text(line: bytes) -> str:
    """A line without its colours, which say nothing and may change with a number's sign."""
    return without_colours(line.decode("utf-8", "replace"))
