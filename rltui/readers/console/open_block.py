"""The lines of one step: those below its heading, or pairs without one, up to the line that ends them.

A text may be printed amid them, as a sample or code: its numbers are no metrics.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.heading_forms import FENCE, HeadingForms, ends_text, opens_text
from rltui.readers.console.layouts import PairBlock, as_slots, pair_cells
from rltui.readers.console.named_numbers import NUMBER, Slot, is_whole
from rltui.readers.console.plain_lines import done_within
from rltui.readers.console.step_template import TemplateLine, counter_name, counts, key_of, may_count
from rltui.readers.name_words import either, has_word, is_named, last_word, measures, words

FRAMES = frozenset("|│┃║")
_GAP = lazy(r"\s{2,}|\t|\s*[|│┃║]\s*")
_COLUMN = lazy(r"[^\W\d][\w/.@%()\- ]{0,60}$")
LENGTHS = ("steps", "env steps", "env_steps", "num_steps", "n_steps")
SET_APART = 12
"""Most other lines of the same program inside a block below a heading."""

Above = tuple[dict[str, float], tuple[int, ...], frozenset[str]]
"""Numbers above a step line, their line numbers, and the names of those above words."""
NOTHING: Above = {}, (), frozenset()


class BlockState(Struct):
    """What is known of the open block besides its numbers."""

    headed: int = 0  # counts in its heading
    done: int = 0  # numbers in its heading, if that says what was done for the step
    source: str = ""  # the words before its lines
    printed: bool = False  # only such a heading so far, which no logger wrote
    framed: bool = False  # another line is between the heading and its numbers
    apart: int = 0  # other lines in it
    loose: bool = False  # it holds a line that belongs neither to it nor to another program
    sampled: bool = False  # a sample was printed in it
    numbered: bool = False  # that numbers its parts
    doubtful: frozenset[str] = frozenset()  # names of numbers below that
    fenced: bool = False  # inside code that was printed
    text: bool = False  # a text with a heading of its own was printed in it
    over: Above = NOTHING  # numbers above its heading
    ends: bool = False  # its heading says that the step is over
    columns: tuple[str, ...] = ()  # names of the columns of a table in it
    title: str = ""  # the title above it, which names no count
    inner: frozenset[str] = frozenset()  # names in lines about work inside the step


class OpenBlock:
    """The open block. It must get the lines in file order."""

    def __init__(self) -> None:
        self.pairs = PairBlock()
        self.state = BlockState()
        self.heads = HeadingForms()
        self.told: set[str] = set()  # names that were already given out, as the log was quiet

    def copy(self) -> OpenBlock:
        twin = copy.copy(self)
        twin.pairs, twin.heads, twin.told = self.pairs.copy(), self.heads.copy(), set(self.told)
        twin.state = copy.copy(self.state)
        return twin

    @property
    def is_open(self) -> bool:
        return self.pairs.is_open

    @property
    def headed(self) -> int:
        """How many counts its heading states; 0 if it has none."""
        return self.state.headed

    @property
    def heading(self) -> list[Slot]:
        """The counts of its heading."""
        return list(self.pairs.slots.values())[: self.state.headed]

    @property
    def slots(self) -> list[Slot]:
        """Its numbers so far, those first that may count."""
        return _counts_first(self.pairs.slots.values())

    def line(self) -> tuple[TemplateLine, str]:
        """The block so far as one line, and its key."""
        slots = self.slots
        return TemplateLine(slots, lines=self.pairs.lines, time=self.pairs.time), key_of("block", slots)

    def takes_length(self, begins: Sequence[Slot], source: str, line: int, time: float) -> bool:
        """Takes a line that would begin a step, `steps: 128`, below the title of a rollout: it is how long that was and
        counts nothing. False for any other line."""
        rollout = any(f"{last_word(slot.name)}s" in words().work for slot in self.heading)
        if not rollout or len(begins) != 1 or begins[0].name.lower() not in LENGTHS or begins[0].of is not None:
            return False
        self.add([replace(begins[0], text=f"{begins[0].text}.")], source, line, time)
        return True

    def loose_pairs(self, of_heading: bool = False) -> tuple[dict[str, float], tuple[int, ...]]:
        """The numbers of an open block without a heading, and their lines. `of_heading`: also those below one."""
        slots, headed, done = list(self.pairs.slots.items()), self.state.headed, self.state.done
        below = of_heading or done or not headed
        cells = {name: slot.value for name, slot in slots[max(headed, done) :]} if below else {}
        return cells, self.pairs.lines if cells else ()

    def states(self, count: int) -> bool:
        """Whether its heading states this count of steps."""
        above = self.pairs.slots.values()
        return any(s.value == count and is_whole(s) and is_named(s.name, words().counters) for s in above)

    def counts_itself(self, line: TemplateLine) -> bool:
        """Whether a line below the heading may state a step of its own. Below a heading that names the step plainly, a
        possible counter, `rollout: 512 samples, 20s`, is only one of its numbers."""
        plain = words().counters
        if not any(is_named(slot.name, plain) for slot in self.pairs.slots.values()):
            return True
        if any(s.of is not None for s in line.slots):
            return True
        if done_within(line.message):
            return False
        return any(is_named(s.name, plain) for s in line.slots) or not pair_cells(line.message)

    def was_set(self, lines: range) -> bool:
        """Whether its heading is one of these lines, which hold settings. The last of them may begin the first step
        after all, if it is at the beginning of a count: `step: 1`."""
        at = self.pairs.lines[0] if self.state.headed and self.pairs.lines else None
        if at is None or at not in lines:
            return False
        return at != lines[-1] or any(slot.value > 1 for slot in self.heading)

    def add_within(self, cells: dict[str, float], source: str, line: int, time: float) -> None:
        """Takes the numbers of a line about a part of the step of the heading, but for those that the step itself
        states. The last one of a name counts."""
        own = self.pairs.slots.keys() - self.state.inner
        within = {name: x for name, x in cells.items() if name not in own}
        self.add(as_slots(within), source, line, time)
        self.state.inner |= within.keys()

    def states_its_own(self, line: TemplateLine) -> bool:
        """Whether a line below the heading measures, counts, and counts something else than what is inside the step."""
        return measures(line.names(None)) and counts(line.slots) and self.counts_itself(line)

    def states_another(self, slot: Slot, main: str | None) -> bool:
        """Whether the step counter (`main`) has another value here than in the heading, or is not in that: then the
        heading came from another program."""
        return all(counter_name(s) != main or s.value != slot.value for s in self.pairs.slots.values())

    def is_of_another(self, slots: Sequence[Slot], source: str) -> bool:
        """Whether the numbers of a line that is no heading do not belong to this block."""
        if source != self.state.source and not self.state.headed:
            return True
        return self.state.framed and any(is_whole(slot) and is_named(slot.name, words().counters) for slot in slots)

    def fence(self, message: str) -> bool:
        """Takes a line that begins or ends printed code. True if it is one: what code sets is no metric."""
        if FENCE not in message:
            return False
        self.state.fenced ^= message.count(FENCE) % 2 == 1
        self.state.loose = True
        return True

    def names_columns(self, message: str) -> bool:
        """Takes a line below the heading that names the columns of the rows that follow: statistics, `mean  min  max`,
        or what was measured, `loss  reward  kl`."""
        if not self.state.headed:
            return False
        said = [word for word in message.split() if word not in FRAMES]
        if len(said) > 1 and all(word.lower() in words().statistics for word in said):
            self.state.columns = tuple(said)
            return True
        cells = _cells(message)
        if len(cells) < 2 or len(set(cells)) < len(cells) or not all(map(_COLUMN.match, cells)):
            return False
        others = either("items", "texts", "prose", "places")
        if not measures(cells, "training") or any(has_word(cell, others) for cell in cells):
            return False
        if any(is_named(cell, either("counters", "weak_counters")) for cell in cells):
            return False  # a table over all steps
        self.state.columns = tuple(cells)
        return True

    def of_columns(self, message: str) -> str:
        """A row of such a table, `reward  0.3  -1  1.5` or `0.3  0.1  0.02`, with each number named; any other line
        unchanged."""
        if not self.state.columns:
            return message
        row = _cells(message)
        if len(row) == len(self.state.columns) and all(map(NUMBER.fullmatch, row)):
            return ", ".join(f"{column}: {x}" for column, x in zip(self.state.columns, row, strict=True))
        name, *cells = row or [""]
        if len(cells) != len(self.state.columns) or any(NUMBER.fullmatch(cell) is None for cell in cells):
            return message
        return ", ".join(f"{name} {column}: {x}" for column, x in zip(self.state.columns, cells, strict=True))

    def note_text(self, message: str) -> None:
        """Notes whether a line without numbers opens or ends a printed text."""
        self.state.sampled |= bool(self.state.headed) and opens_text(message)
        self.state.text &= not ends_text(message)

    def goes_on(self, led: bool) -> bool:
        """Whether the block below a heading goes on after a line that does not belong to it. If logging put nothing
        before that line (`led`), it may begin a sample: further numbers then need the name of a metric."""
        self.state.apart += 1
        goes_on = self.state.headed > 0 and self.state.apart <= SET_APART
        self.state.loose |= goes_on and not led
        return goes_on

    def frame(self) -> None:
        """Takes another line between the heading and its numbers."""
        self.state.framed |= len(self.pairs.slots) == self.state.headed

    def is_of_text(self, cells: dict[str, float], led: bool) -> bool:
        """Whether the numbers of a line below the heading are of the text that is printed there."""
        within = self.state.fenced or (bool(self.state.headed) and self.state.text)
        return within and not self.heads.has_line(cells) and not led

    def is_of_answer(self, message: str, cells: dict[str, float]) -> bool:
        """Whether a line is a dict about the answer that is printed below the heading, `reward: {'right': 1.0,
        'format': 0.0}`: each of its numbers is 0 or 1."""
        return bool(self.state.headed) and self.state.sampled and "{" in message and set(cells.values()) <= {0.0, 1.0}

    def among_texts(self, cells: dict[str, float], message: str) -> None:
        """Takes the numbers of a line below the heading. The same names before it, below a sample, were a part of
        that, if lines like this one are below most headings."""
        if not cells:
            self.state.sampled |= opens_text(message)
            return
        if self.state.sampled and self.heads.has_line(cells):
            self.pairs.drop(self.state.doubtful & cells.keys())
            self.state.doubtful -= cells.keys()
        elif self.state.sampled:
            self.state.doubtful |= cells.keys() - self.pairs.slots.keys()
        self.heads.add_line(cells)

    def is_within_text(self, message: str, begins: Sequence[Slot]) -> bool:
        """Whether a heading that counts like that of the step is of a text printed below that, as a response that
        numbers its parts: it looks unlike the headings of the steps so far."""
        return bool(self.state.headed) and self.heads.names(begins, message)

    def begin(self, headed: int, over: Above, ends: bool) -> None:
        """Begins the block below a heading with `headed` counts; 0 for one without a heading. `ends`: the heading says
        that its step is over."""
        self.state = BlockState(headed=headed, over=over, ends=ends)

    def begins_anew(self, slots: Sequence[Slot]) -> bool:
        """Whether these numbers begin another block, as their names were told. Below a heading its own numbers may come
        again, `Iter 3 lr 1e-6` and `lr: 1e-6`, and so may a line that a logger prints once more. So may those of a part
        of the step: the step itself tells them now."""
        again = set(self.state.inner)
        if self.state.headed:
            again |= {slot.name for slot in slots if self.pairs.has(slot.name, slot.value)}
            again |= set(list(self.pairs.slots)[: self.state.done])
        return self.pairs.begins_anew([slot.name for slot in slots if slot.name not in again])

    def told_before(self, cells: dict[str, float]) -> bool:
        """Whether these numbers are all in it, each with the same value."""
        return all(self.pairs.has(name, x) for name, x in cells.items())

    def add(self, slots: list[Slot], source: str, line: int, time: float) -> None:
        """Takes the numbers of a line. They are no longer those of a part of the step."""
        self.state.source = source
        self.state.inner -= {slot.name for slot in slots}
        self.pairs.add(slots, line, time)

    def add_amounts(self, amounts: list[Slot], source: str, line: int, time: float) -> None:
        """Takes the other numbers of a heading that says what was done for the step."""
        self.add(amounts, source, line, time)
        self.state.done = len(self.pairs.slots)

    def end(self) -> tuple[TemplateLine, str, set[str]]:
        """Ends the block. Returns it as one line, its key, and the names that were already given out."""
        (line, key), (told, self.told) = self.line(), (self.told, set())
        line.above, line.above_lines, line.passed = self.state.over
        line.ends = self.state.ends
        self.state = BlockState(source=self.state.source)
        self.pairs.take()
        return line, key, told


def _cells(message: str) -> list[str]:
    """The cells of a line that gaps or frames divide."""
    return [cell for cell in _GAP.split(message.strip()) if cell]


def _counts_first(slots: Iterable[Slot]) -> list[Slot]:
    return sorted(slots, key=lambda slot: not (is_whole(slot) and may_count(slot)))
