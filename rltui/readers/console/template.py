"""Step lines of any wording, learnt from how they recur.

A line becomes a skeleton: its numbers are slots, its words stay. A skeleton that recurs while one whole number in it
only rises, and that names other numbers, is a step line, whatever words stand around them:
`GRPO step 10/500 | loss: 0.0 | mean_reward: -1.0`, `Epoch:[1/1](12/9751), Reward: -2.3`, `[7/300] loss=0.1 reward=0.2`,
`Iteration 7: avg_reward=0.4 (std 0.1)`, `Batch 7/300 | reward mean=0.9 std=0.2`. A number takes the name that stands
before it; a bare `std` or `max` belongs to the name before it. Lines of `name: number` right below belong to the step.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import nan

from rltui.lazy_regex import lazy
from rltui.readers.console.counted_lines import COUNTED, CountedLines
from rltui.readers.console.layouts import (
    ColumnTable,
    PairBlock,
    as_slots,
    begins_evaluation,
    headings,
    is_behind_bar,
    is_frame,
    pair_cells,
    title,
    titled,
)
from rltui.readers.console.lead import split_lead
from rltui.readers.console.line_filter import remember
from rltui.readers.console.lines_beside import INDEX, other_parts, take_inner
from rltui.readers.console.named_numbers import (
    Slot,
    is_named,
    is_whole,
    last_word,
    of_evaluation,
    slots_of,
    step_first,
    words,
)
from rltui.readers.console.step_template import (
    StepRow,
    Template,
    TemplateLine,
    counter_name,
    counter_of,
    counts,
    is_about,
    is_evaluation,
    key_of,
    may_count,
    measures,
    patience,
    promising,
    rises,
)
from rltui.readers.console.step_template import skeleton as skeleton_of
from rltui.readers.console.values_above import Ahead, lead

_BEFORE_ROW = lazy(r"^\d{1,5}:\s+")
"""srun's rank: before a row of numbers only the table above tells it from one."""
SET_APART = 12
"""Lines of the program's own among those of a block below a heading, at most."""
SEEN = 3
"""Lines of one skeleton before it counts as a step line: two rises of its counter."""
MAX_SOURCES = 100
MAX_SKELETONS = 4000
"""Skeletons that are kept at once; prose makes a new one with each line."""


class TemplateLearner:
    """Finds the step lines of a log that no known dialect speaks. Lines come in file order."""

    def __init__(self) -> None:
        self._templates: dict[str, Template] = {}
        self._none: set[str] = set()  # skeletons of lines that can be no step lines
        self._main: str | None = None  # name of the counter that tells the step
        self._kind = ""  # of what tells it: a line, a block of lines, a table
        self._step: int | None = None
        self._under: TemplateLine | None = None  # the line above, if lines below it may belong to it
        self._under_step: int | None = None  # its step, None while that is not known
        self._block = PairBlock()
        self._told: set[str] = set()  # names of the open block that were given, as the log was quiet
        self._table = ColumnTable()
        self._epoch = 0  # of the newest heading that names one
        self._sources = {""}  # words before the lines that may tell steps
        self._headed, self._block_source = 0, ""  # counts in the heading of the open block; the words before its lines
        self._loose = False  # a line stands in it that is none of it and of no other program
        self._led, self._apart = False, 0  # logging put something before this line; such lines in the open block
        self._evaluated = False  # a line said that what follows is of an evaluation
        self._framed = False  # something stands between the heading of the open block and its numbers
        self._opening = ""  # words before a message that begins on the next line
        self._ahead = Ahead()
        self._over: tuple[dict[str, float], tuple[int, ...]] = {}, ()  # numbers above the heading of the open block
        self._counted = CountedLines()
        self.counts = False  # rows are counted, as their lines state but how much of the epochs is over
        self._followed: Template | None = None  # of lines that are read elsewhere
        self._held = 0  # lines that were held so far
        self._at, self._time = 0, nan  # number of the line in the file, and its time
        self._whole: frozenset[str] | None = None  # of a copy: names of the block that stood in whole lines
        self._undecided: list[tuple[str, str, Template]] = []  # of a copy: what it would have learnt from

    @property
    def knows_steps(self) -> bool:
        """Whether a step line was found that only this knows."""
        return self._main is not None and self._followed is None

    @property
    def is_open(self) -> bool:
        """Whether the next line may belong to what stands above it."""
        return self._under is not None or self._block.is_open or self._table.is_open

    def copy(self) -> TemplateLearner:
        """One that takes the beginning of a line without changing this one. It learns nothing from that: rows that are
        held back come from this one."""
        twin = copy.copy(self)
        copies = {id(t): t.copy() for t in (*self._templates.values(), *([self._followed] if self._followed else []))}
        twin._followed = None if self._followed is None else copies[id(self._followed)]
        twin._templates = {key: copies[id(t)] for key, t in self._templates.items()}
        twin._none, twin._told, twin._sources = set(self._none), set(self._told), set(self._sources)
        twin._block, twin._table = self._block.copy(), copy.copy(self._table)
        twin._whole = frozenset(self._block.slots) if self._whole is None else self._whole
        twin._undecided, twin._counted, twin._ahead = [], self._counted.copy(), self._ahead.copy()
        twin._under = None if self._under is None else replace(self._under, below=dict(self._under.below))
        for key, template in self._templates.items():
            for line, own in zip(twin._templates[key].lines, template.lines, strict=True):
                if own is self._under:
                    twin._under = line
        return twin

    def go_on(self) -> list[StepRow]:
        """The line that the copy took was whole: the steps that it tells."""
        self._whole = None
        undecided, self._undecided = self._undecided, []
        return [row for kind, key, found in undecided for row in self._decide(key, found, kind)]

    def take(self, message: str, process: str = "", at: int = 0, time: float = nan) -> list[StepRow] | None:
        """The steps that this line tells, those of the lines that were held back until now before it. None if no line
        of its shape can matter. `at`: its number in the file, `time`: when it was written."""
        self._at, self._time, given = at, time, message
        rank, source, message, before = split_lead(message)
        if before.strip() == f"{source}:" and message.startswith(("{'", '{"')):
            source, message = "", given  # what the dict is called is no program
        message = step_first(message)
        self._led = len(message) < len(given)
        if not message:
            self._opening = source  # its message begins on the next line
            return []
        opening, self._opening = self._opening, ""
        if any(map(str.isdecimal, message)):
            rows = self._numbers(message, rank, source, process)
            if opening and source == "" and self._under is not None:
                self._source(opening)
            return rows
        return self._words(message)

    def follow(self, message: str, step: int) -> None:
        """A line told this step that was read without this learner: what begins as it does may be of it, too."""
        rank, source, message, _ = split_lead(message)
        self._source(source)
        self._step = step
        if self._main is None:
            line = TemplateLine(slots_of(message), message, rank=rank)
            counter = next((i for i, s in enumerate(line.slots) if is_whole(s) and s.value == step and s.name), None)
            if counter is None:
                return
            self._main, self._kind = counter_name(line.slots[counter]), "line"
            self._followed = Template(lines=[line])
            self._followed.decide(counter)
            self._templates[f"{rank}:{skeleton_of(message)}"] = self._followed
        if self._followed is not None:
            self._followed.rows([TemplateLine(slots_of(message), message, rank=rank)])

    def _words(self, message: str) -> list[StepRow]:
        """A line without a digit: it may be a heading. What follows belongs to no step line above it, but to an
        evaluation that is of it; and what only draws ends no block."""
        if self._begins_evaluation(message):
            return []
        if (self._under is not None or self._block.is_open) and (named := title(message)):
            self._block.title = named
            return []
        self._under = None
        of_table = self._table.heading(message)
        if self._headed and (is_frame(message) or (not of_table and self._goes_on())):
            self._framed = self._framed or len(self._block.slots) == self._headed
            return []
        if of_table or message.startswith(("|", "│", "┃")):
            return []
        return self._end_block()

    def _begins_evaluation(self, message: str) -> bool:
        """Whether numbers of an evaluation follow below a step line or in a block."""
        if (self._under is None and not self._headed) or not begins_evaluation(message):
            return False
        self._evaluated = True
        self._block.title = ""
        return True

    def _goes_on(self) -> bool:
        """Whether the block below a heading goes on behind a line that is none of it. If logging put nothing before
        that, what follows has to be named like what is measured: the line may begin a sample."""
        self._apart += 1
        goes_on = self._headed > 0 and self._apart <= SET_APART
        self._loose |= goes_on and not self._led
        return goes_on

    def _numbers(self, message: str, rank: str, source: str, process: str) -> list[StepRow] | None:
        row = self._table.row(message) or self._table.row(_BEFORE_ROW.sub("", message))
        if row is not None:
            self._under = None
            ended = self._end_block()
            return ended + self._take(
                "table", key_of("table", row), TemplateLine(row, lines=(self._at,), time=self._time)
            )
        begins = headings(message)
        if begins and self._is_at(begins[0]) and self._begins_evaluation(message):
            return []
        if begins or is_behind_bar(message):
            return self._below(message, source, begins)
        skeleton = skeleton_of(message)
        key = f"{rank}:{skeleton}" if skeleton.count("#") > 1 else ""
        if not key or key in self._none:
            return self._below(message, source)
        slots, lines = self._counted.slots(key, slots_of(message)), (self._at,)
        line = TemplateLine(slots, message, 0, rank, self._epoch, process, lines=lines, time=self._time)
        if key not in self._templates and not self._adopts(key, line):
            if not promising(line.slots):
                remember(key, self._none)
                return self._below(message, source)
            if self._under is not None and self._is_beside(line):
                return self._below(message, source)
            if self._headed and not (measures(line.names(None)) and counts(line.slots)):
                return self._below(message, source)  # it counts something of the step that the heading names
            if self._evaluated and pair_cells(message) and not any(map(may_count, line.slots)):
                return self._below(message, source)  # of so many answers
        line.above, line.above_lines = self._loose_pairs()
        ended = self._end_block()
        self._evaluated = False
        self._source(source)
        if self._ahead.cells:
            line.below, waited = self._ahead.take()
            line.lines = (*waited, *line.lines)
        rows = self._take("line", key, line)
        self._under, self._block.title = line if key in self._templates else None, ""
        self._under_step = rows[-1].step if rows else None
        return ended + rows

    def _is_at(self, count: Slot) -> bool:
        """Whether what stands above states this count."""
        above = self._block.slots.values() if self._under is None else self._under.slots
        return any(is_whole(slot) and slot.value == count.value for slot in above)

    def _source(self, source: str) -> None:
        """A line of this program may tell a step."""
        if len(self._sources) < MAX_SOURCES:
            self._sources.add(source)

    def _adopts(self, key: str, line: TemplateLine) -> bool:
        """Whether a line of a skeleton that is new is of the step lines that are known."""
        for template in self._steps():
            if template.fits(line):
                self._templates[key] = template
                return True
        return False

    def _steps(self) -> list[Template]:
        """The templates that tell steps, each once."""
        return list({id(t): t for t in self._templates.values() if t.counter is not None}.values())

    def _take(self, kind: str, key: str, line: TemplateLine) -> list[StepRow]:
        """A line, block or row that may be of a step."""
        if key in self._none:
            return []
        found = self._templates.get(key)
        if found is None:
            if not promising(line.slots):
                remember(key, self._none)
                return []
            if len(self._templates) >= MAX_SKELETONS:
                self._templates = {k: t for k, t in self._templates.items() if t.counter is not None}
            found = self._templates[key] = Template()
        if found.counter is not None:
            return self._given(found, [line])
        self._held += 1
        line.place = self._held
        found.lines.append(line)
        if len(found.lines) < SEEN:
            return []
        if self._whole is not None:
            self._undecided.append((kind, key, found))
            return []
        return self._decide(key, found, kind)

    def settle(self, over: bool = False) -> list[StepRow]:
        """The log is quiet: lines of a template that was seen but twice count if they name their step plainly. Or it is
        `over`: nothing more tells whether they count within a step."""
        out: list[StepRow] = []
        opened, key = self._open_line()
        rank = next((t.lines[0].rank for t in self._templates.values() if t.lines and t.counter is None), "")
        for template in self._templates.values() if self._whole is None else ():
            if template.counter is None and template.lines and template.lines[0].rank in ("", rank):
                newest = [opened] if opened is not None and self._templates.get(key) is template else []
                lines = [*template.lines, *newest]
                first, seen = lines[0].slots, [line.slots for line in lines]
                surely = over and self._main is None and len(seen) >= SEEN and patience(seen) > 0
                counter = counter_of(seen, SEEN - 1 if surely else 1, [line.epoch for line in lines], over)
                if counter is None or not (surely or is_named(first[counter].name, words().counters)):
                    continue
                if is_about(first, words().training) and not is_evaluation(first, counter):
                    lead(template.lines, counter, self._ahead)
                    early = replace(template, names=set(), epochs=template.epochs.copy())
                    early.decide(counter)
                    out += early.rows([*template.lines[template.told :], *newest])
                    self._told |= {name for line in newest for name in line.names(counter)}
                    template.told = len(template.lines)
        return out + self._open_block()

    def _below(self, message: str, source: str, begins: Sequence[Slot] = ()) -> list[StepRow] | None:
        """Numbers of a line right below a step line, or below one that may turn out to be one; or of a block, which
        `begins` with the counts of a heading."""
        named, said = titled(INDEX.sub("", message) if self._under is not None else message)
        cells = {} if begins else pair_cells(said)
        if named and cells:
            self._block.title = named
        if cells is None or (cells and source not in self._sources and (self._under is not None or self._headed)):
            return []  # another program's
        if not begins and not cells and self._begins_evaluation(message):
            return []
        if cells and self._loose and not measures(cells):
            return []  # of what stands between
        if self._evaluated and self._headed and any(map(self._is_another_step, as_slots(cells))):
            self._evaluated = False
        if self._evaluated and cells:
            cells = {of_evaluation(name): x for name, x in cells.items()}
        if self._ahead.names and self._kind == "line" and cells and not begins:
            cells = self._ahead.keep(cells, self._at)
            if not cells:
                return []
        if self._under is not None and self._under.slots[0].name == COUNTED:
            own = self._under.names(None)  # its epoch again: the next line begins
            cells = {name: x for name, x in cells.items() if name not in own}
        if self._under is not None and cells:
            there, head = self._under.below, self._block.title
            told = self._under.names(None) | there.keys()
            cells = {f"{head}/{name}" if head and name in told else name: x for name, x in cells.items()}
            cells = {name: x for name, x in cells.items() if name not in told}  # the first of a name counts
            self._under.below = {**cells, **there}
            if self._under_step is not None:
                return [StepRow(self._under_step, cells, lines=(self._at,), time=self._under.time)]
            self._under.lines = (*self._under.lines, self._at)
            return []
        self._under = None
        if not begins and not cells:
            of_table = self._table.heading(message)
            if not of_table and self._goes_on():
                return []
            return self._end_block() or ([] if of_table else None)
        if begins:
            self._source(source)
            self._epoch = next((int(s.value) for s in begins if last_word(s.name) == "epoch"), self._epoch)
        slots = list(begins) or as_slots(cells)
        other = source != self._block_source and not self._headed
        other |= self._framed and any(is_named(slot.name, words().counters) for slot in slots)
        other |= not begins and bool(self._headed) and any(map(self._is_another_step, slots))
        again = self._headed and not begins and is_behind_bar(message)  # the bar of an epoch, painted once more
        anew = begins or other or (not again and self._block.begins_anew([slot.name for slot in slots]))
        over = self._loose_pairs() if begins and anew else self._over
        ended = self._end_block() if anew else []
        self._over = over
        if again:
            self._told -= {slot.name for slot in slots}
        self._headed = len(begins) or (0 if anew else self._headed)
        self._block_source = source
        self._block.add(slots, self._at, self._time)
        return ended

    def _is_another_step(self, slot: Slot) -> bool:
        """Whether a number is that which is known to tell the step, and the heading of the open block states none or
        another: the heading was of another program."""
        if not is_whole(slot) or counter_name(slot) != self._main:
            return False
        return all(counter_name(s) != self._main or s.value != slot.value for s in self._block.slots.values())

    def _end_block(self) -> list[StepRow]:
        """The block above is whole."""
        told, self._told = self._told, set()
        self._evaluated = self._framed = self._loose = False
        self._headed = self._apart = 0
        held, lines, time = self._block.take()
        slots, (above, above_lines), self._over = _counts_first(held), self._over, ({}, ())
        if self._ahead.names and self._kind == "block":
            waiting, slots = slots, self._ahead.in_place(slots)
            self._ahead.go_on(waiting)
        if len(slots) < 2:
            return []
        line, key = TemplateLine(slots, lines=lines, time=time), key_of("block", slots)
        line.above, line.above_lines = above, above_lines
        if key not in self._templates:
            self._adopts(key, line)
        rows = self._take("block", key, line)
        if rows:
            self._source(self._block_source)
        if told and rows:
            cells = {name: x for name, x in rows[-1].cells.items() if name not in told}
            rows[-1] = replace(rows[-1], cells=cells)
        return rows

    def _open_line(self) -> tuple[TemplateLine | None, str]:
        """The open block below a heading as it is so far, while none is known that tells the step, and its key."""
        slots = _counts_first(self._block.slots.values())
        if self._main is not None or not self._headed or len(slots) < 2 or self._told:
            return None, ""
        line = TemplateLine(slots, lines=self._block.lines, time=self._block.time)
        return line, key_of("block", slots)

    def _open_block(self) -> list[StepRow]:
        """What the block says so far, if its counter is the one that tells the step."""
        slots = self._ahead.in_place(_counts_first(self._block.slots.values()))
        at = next((i for i, s in enumerate(slots) if is_whole(s) and counter_name(s) == self._main), None)
        if self._kind != "block" or at is None or (self._whole is not None and slots[at].name not in self._whole):
            return []
        line = TemplateLine(slots, lines=self._block.lines, time=self._block.time)
        known = (t for t in self._steps() if t.counter == at and not t.prefix)
        row = next((row for template in known for row in template.copy().rows([line])), None)
        cells = {} if row is None else {k: x for k, x in row.cells.items() if k not in self._told}
        self._told |= set(cells)
        return [replace(row, cells=cells)] if row is not None and cells else []

    def _decide(self, key: str, template: Template, kind: str) -> list[StepRow]:
        lines = [line.slots for line in template.lines]
        counter, first = counter_of(lines, SEEN - 1, [line.epoch for line in template.lines]), lines[0]
        labelled = template.lines[0].is_labelled_evaluation
        if counter is not None and (labelled or is_evaluation(first, counter)):
            near = self._step is not None and lines[-1][counter].value <= self._step + 1
            counter = counter if near and is_named(first[counter].name, words().counters) else None
            template.prefix = "eval/"
        elif counter is not None and (self._main, self._kind) not in ((None, ""), (counter_name(first[counter]), kind)):
            counter = None  # a second count beside the one that tells the step
        if counter is None:
            if len(lines) > max(2 * SEEN, patience(lines)) or not rises(lines):
                del self._templates[key]
                remember(key, self._none)
            return []
        template.decide(counter)
        if not template.prefix and self._main is None:
            self._main, self._kind = counter_name(first[counter]), kind
            self.counts = first[counter].name == COUNTED
            self._take_inner(template)
        if not template.prefix:
            lead(template.lines, counter, self._ahead)
        template.rows(template.lines[: template.told])  # they were given, and count
        held, template.lines = template.lines[template.told :], []
        held = [line for line in held if line.process == held[0].process]
        ranks = ("", held[0].rank) if held else ("",)
        self._templates = {
            k: t for k, t in self._templates.items() if t.counter is not None or t.lines[0].rank in ranks
        }
        template.names = {name for line in held for name in line.names(counter)}
        held += self._siblings(template)
        parts = (
            other_parts(template, self._templates.values(), counter_name(first[counter]))
            if template.part and not template.prefix
            else []
        )
        if not parts:
            return self._given(template, held)
        lines_of = [(template, held), *((part, part.lines) for part in parts)]
        placed = [(line.place, each, line) for each, some in lines_of for line in some]
        for part in parts:
            part.lines = []
        return [row for _, each, line in sorted(placed, key=lambda one: one[0]) for row in self._given(each, [line])]

    def _is_beside(self, line: TemplateLine) -> bool:
        """Whether a line counts something else than the steps, which lines tell."""
        if self._main is None or self._kind != "line" or not line.message or line.is_labelled_evaluation:
            return False
        return not any(is_whole(slot) and counter_name(slot) == self._main for slot in line.slots)

    def _take_inner(self, template: Template) -> None:
        """The lines held so far that count something else belong to the step above them."""
        for key, other in list(self._templates.items()):
            if other.counter is not None or not other.lines or not self._is_beside(other.lines[0]):
                continue
            take_inner(template.lines, other.lines)
            del self._templates[key]
            remember(key, self._none)

    def _loose_pairs(self) -> tuple[dict[str, float], tuple[int, ...]]:
        """The numbers of the open block, which no heading began, and their lines."""
        slots = {} if self._headed else self._block.slots
        return {name: slot.value for name, slot in slots.items()}, self._block.lines if slots else ()

    @property
    def above(self) -> dict[str, float]:
        """The numbers right above the line that comes now, of no step that is known."""
        return self._loose_pairs()[0]

    def _siblings(self, template: Template) -> list[TemplateLine]:
        """The lines held of other skeletons that are of this template: they are its own from now on."""
        out: list[TemplateLine] = []
        for key, other in self._templates.items():
            if other.counter is None and other.lines and template.fits(other.lines[0]):
                out += other.lines[other.told :]
                self._templates[key] = template
        return out

    def _given(self, template: Template, lines: list[TemplateLine]) -> list[StepRow]:
        """The rows of lines, in the order in which they came."""
        rows = template.rows(sorted(lines, key=lambda line: line.place))
        if rows and not template.prefix:
            self._step = rows[-1].step
        return rows


def _counts_first(slots: Iterable[Slot]) -> list[Slot]:
    return sorted(slots, key=lambda slot: not (is_whole(slot) and may_count(slot)))
