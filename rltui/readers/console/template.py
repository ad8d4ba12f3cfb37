"""Step lines of any wording, learnt from how they recur.

A line becomes a skeleton: its numbers are slots, its words stay. A skeleton that recurs while one whole number in it
only rises, and that names other numbers, is a step line, whatever words stand around them:
`GRPO step 10/500 | loss: 0.0 | mean_reward: -1.0`, `Epoch:[1/1](12/9751), Reward: -2.3`, `[7/300] loss=0.1 reward=0.2`,
`Iteration 7: avg_reward=0.4 (std 0.1)`, `Batch 7/300 | reward mean=0.9 std=0.2`. A number takes the name that stands
before it; a bare `std` or `max` belongs to the name before it. Lines of `name: number` right below belong to the step.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rltui.lazy_regex import lazy
from rltui.readers.console.column_table import ColumnTable
from rltui.readers.console.line_filter import remember
from rltui.readers.console.named_numbers import (
    NUMBER,
    Slot,
    has_word,
    is_named,
    is_whole,
    last_word,
    slots_of,
    value,
    words,
)
from rltui.readers.console.pair_lines import PairBlock, as_slots, heading, is_behind_bar, pair_cells
from rltui.readers.console.step_counter import (
    counter_name,
    counter_of,
    is_about,
    is_evaluation,
    promising,
    rises,
)

SEEN = 3
"""Lines of one skeleton before it counts as a step line: two rises of its counter."""
MAX_SKELETONS = 4000
"""Skeletons that are kept at once; prose makes a new one with each line."""

_POSTFIX = lazy(rf"[,\[]\s*([A-Za-z_][\w/.@\-]*)=({NUMBER.pattern})")
_LOGGED = lazy(
    r"^\[?\d{4}-\d\d-\d\d[ T_]\d\d:\d\d:\d\d[.,\d]*\]?[\s|:\-]*(?:[\w.\-]{1,60}\s*[|:\-]+\s*){0,2}"
    r"\[?(?:DEBUG|INFO|WARNING|SUCCESS)\]?[\s|:\-]*(?:[\w.]{1,60}(?::[A-Za-z_<]\w{0,60}>?)?:\d+\s*[|\-]\s+)?"
)
"""What logging puts before a message: time, logger, level, place, in any order that is usual."""
_TIME = lazy(r"\d{4}[-/]\d\d[-/]\d\d[T_ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step line read by its template. `total`: the plan, if the line states one."""

    step: int
    cells: dict[str, float]
    total: int | None = None


@dataclass(slots=True)
class _Line:
    """A line that may be a step line: its numbers, and those of the `name: number` lines right below it."""

    slots: list[Slot]
    below: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Template:
    """What is known of a skeleton. `lines` are held back until `counter` is known, the place of its counter. `told`: so
    many of them were given already, as the log was quiet."""

    lines: list[_Line] = field(default_factory=list)
    counter: int | None = None
    epoch: int | None = None
    prefix: str = ""
    told: int = 0
    base: int = 0
    last: tuple[int, int] = (0, 0)  # epoch and count of the line before


class TemplateLearner:
    """Finds the step lines of a log that no known dialect speaks. Lines come in file order."""

    def __init__(self) -> None:
        self._templates: dict[str, _Template] = {}
        self._none: set[str] = set()  # skeletons of lines that can be no step lines
        self._main: str | None = None  # name of the counter that tells the step
        self._kind = ""  # of what tells it: a line, a block of lines, a table
        self._step: int | None = None
        self._under: _Line | None = None  # the line above, if lines below it may belong to it
        self._under_step: int | None = None  # its step, None while that is not known
        self._block = PairBlock()
        self._told: set[str] = set()  # names of the open block that were given, as the log was quiet
        self._table = ColumnTable()
        self._whole: frozenset[str] | None = None  # of a copy: names of the block that stood in whole lines

    @property
    def knows_steps(self) -> bool:
        """Whether a step line was found."""
        return self._main is not None

    @property
    def is_open(self) -> bool:
        """Whether the next line may belong to what stands above it."""
        return self._under is not None or bool(self._block.slots) or self._table.is_open

    def copy(self) -> TemplateLearner:
        """One that takes the beginning of a line without changing this one. It learns nothing from that: rows that are
        held back come from this one."""
        twin = copy.copy(self)
        twin._templates = {
            key: replace(t, lines=[_Line(line.slots, dict(line.below)) for line in t.lines])
            for key, t in self._templates.items()
        }
        twin._none, twin._told = set(self._none), set(self._told)
        twin._block, twin._table = copy.copy(self._block), copy.copy(self._table)
        twin._block.slots = dict(self._block.slots)
        twin._whole = frozenset(self._block.slots)
        twin._under = None if self._under is None else _Line(self._under.slots, dict(self._under.below))
        for key, template in self._templates.items():
            for line, own in zip(twin._templates[key].lines, template.lines, strict=True):
                if own is self._under:
                    twin._under = line
        return twin

    def go_on(self) -> None:
        """The line that the copy took was whole."""
        self._whole = None

    def words(self, message: str) -> list[StepRow]:
        """A line without a digit: it may be a heading. What follows belongs to no step line above it, but a line
        within a table's borders ends no block."""
        self._under = None
        if self._table.heading(message) or message.startswith(("|", "│")):
            return []
        return self._end_block()

    def line(self, message: str) -> list[StepRow] | None:
        """The steps that this line tells, those of the lines that were held back until now before it. None if no line
        of its shape can matter."""
        message = without_logging(message)
        row = self._table.row(message)
        if row is not None:
            self._under = None
            ended = self._end_block()
            return ended + self._take("table", _key("table", row), _Line(row))
        begins = heading(message)
        if begins is not None or is_behind_bar(message):
            return self._below(message, begins)
        skeleton = NUMBER.sub("#", message)
        key = " ".join(skeleton.split()) if skeleton.count("#") > 1 else ""
        if not key or key in self._none:
            return self._below(message)
        line = _Line(slots_of(message))
        if key not in self._templates and not promising(line.slots):
            remember(key, self._none)
            return self._below(message)
        ended = self._end_block()
        rows = self._take("line", key, line)
        self._under = line if key in self._templates else None
        self._under_step = rows[-1].step if rows else None
        return ended + rows

    def _take(self, kind: str, key: str, line: _Line) -> list[StepRow]:
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
            found = self._templates[key] = _Template()
        if found.counter is not None:
            return self._rows(found, [line], found.counter)
        found.lines.append(line)
        return self._decide(key, found, kind) if len(found.lines) >= SEEN and self._whole is None else []

    def settle(self) -> list[StepRow]:
        """The log is quiet: lines of a template that was seen but twice count if they name their step plainly."""
        out: list[StepRow] = []
        for template in self._templates.values() if self._whole is None else ():
            if template.counter is None and template.lines:
                first = template.lines[0].slots
                counter = counter_of([line.slots for line in template.lines], fewest=1)
                if counter is None or not is_named(first[counter].name, words().counters):
                    continue
                if is_about(first, words().training) and not is_evaluation(first, counter):
                    out += self._rows(template, template.lines[template.told :], counter)
                    template.told = len(template.lines)
        return out + self._open_block()

    def _below(self, message: str, begins: Slot | None = None) -> list[StepRow] | None:
        """Numbers of a line right below a step line, or below one that may turn out to be one; or of a block, which
        `begins` with the step of a heading."""
        cells = {} if begins is not None else pair_cells(message)
        if cells is None:
            return []
        if self._under is not None and cells:
            if self._under_step is not None:
                return [StepRow(self._under_step, cells)]
            for name, number in cells.items():
                self._under.below.setdefault(name, number)
            return []
        self._under = None
        if begins is None and not cells:
            of_table = self._table.heading(message)
            return self._end_block() or ([] if of_table else None)
        slots = as_slots(cells) if begins is None else [begins]
        anew = begins is not None or self._block.begins_anew([slot.name for slot in slots])
        ended = self._end_block() if anew else []
        self._block.add(slots)
        return ended

    def _end_block(self) -> list[StepRow]:
        """The block above is whole."""
        told, self._told = self._told, set()
        slots = self._block.take()
        if len(slots) < 2:
            return []
        rows = self._take("block", _key("block", slots), _Line(slots))
        if told and rows:
            cells = {name: x for name, x in rows[-1].cells.items() if name not in told}
            rows[-1] = StepRow(rows[-1].step, cells, rows[-1].total)
        return rows

    def _open_block(self) -> list[StepRow]:
        """What the block says so far, if its counter is the one that tells the step."""
        slots = list(self._block.slots.values())
        at = next((i for i, s in enumerate(slots) if is_whole(s) and counter_name(s) == self._main), None)
        if self._kind != "block" or at is None or (self._whole is not None and slots[at].name not in self._whole):
            return []
        cells = {k: x for k, x in _cells(slots, (at,), "").items() if k not in self._told}
        self._told |= set(cells)
        return [StepRow(int(slots[at].value), cells, slots[at].of)] if cells else []

    def _decide(self, key: str, template: _Template, kind: str) -> list[StepRow]:
        lines = [line.slots for line in template.lines]
        counter, first = counter_of(lines, fewest=SEEN - 1), lines[0]
        if counter is not None and is_evaluation(first, counter):
            near = self._step is not None and lines[-1][counter].value <= self._step + 1
            counter = counter if near and is_named(first[counter].name, words().counters) else None
            template.prefix = "eval/"
        elif counter is not None and (self._main, self._kind) not in ((None, ""), (counter_name(first[counter]), kind)):
            counter = None  # a second count beside the one that tells the step
        if counter is None:
            if len(lines) > 2 * SEEN or not rises(lines):
                del self._templates[key]
                remember(key, self._none)
            return []
        template.counter = counter
        if not template.prefix and self._main is None:
            self._main, self._kind = counter_name(first[counter]), kind
        others = [i for i, slot in enumerate(first) if i != counter and last_word(slot.name) == "epoch"]
        template.epoch = next((i for i in others if is_whole(first[i])), None)
        held, template.lines = template.lines[template.told :], []
        return self._rows(template, held, counter)

    def _rows(self, template: _Template, lines: list[_Line], counter: int) -> list[StepRow]:
        out = []
        for line in lines:
            slots = line.slots
            if len(slots) <= counter or not is_whole(slots[counter]):
                continue
            count, total = int(slots[counter].value), slots[counter].of
            at = template.epoch
            epoch, epochs = (int(slots[at].value), slots[at].of) if at is not None else (0, None)
            before = template.last
            if epoch > before[0] and count < before[1]:
                template.base += total or before[1]  # counted anew in each epoch
            elif epoch < before[0]:
                template.base = 0  # begun again
            template.last = epoch, count
            if template.base and total is not None:
                total = total * epochs if epochs else None
            cells = _cells(slots, (counter, at), template.prefix) | line.below
            if not template.prefix:
                self._step = template.base + count
            out.append(StepRow(template.base + count, cells, None if template.prefix else total))
        return out


def without_logging(message: str) -> str:
    """A message without what logging puts before it."""
    return _TIME.sub("", _LOGGED.sub("", message))


def postfix(text: str) -> dict[str, float]:
    """Numbers by name behind a progress bar (`[00:10<01:30, 1.0it/s, loss=0.3]`), if they are of training."""
    cells = {name: value(number) for name, number in _POSTFIX.findall(text)}
    return cells if any(has_word(name, words().training) for name in cells) else {}


def measures(names: Iterable[str]) -> bool:
    """Whether one of these names is one of training: a sentence has none, be it about loss."""
    known = words()
    of_training = known.training | known.durations | known.evaluation
    return any(has_word(name, of_training) and not has_word(name, known.prose) for name in names)


def trains(name: str) -> bool:
    """Whether a progress bar of this name counts training steps."""
    if any(c.isdigit() for c in name) or has_word(name, words().evaluation):
        return False  # a bar within one of many rounds
    return has_word(name, words().counters) or "train" in name.lower()


def _key(kind: str, slots: list[Slot]) -> str:
    """Name of the template of blocks and rows: they are alike if their names are."""
    return "\0".join([kind, *(slot.name for slot in slots)])


def _cells(slots: list[Slot], without: tuple[int | None, ...], prefix: str) -> dict[str, float]:
    """The named numbers; of two with one name the first counts."""
    cells: dict[str, float] = {}
    for i, slot in enumerate(slots):
        if slot.name and slot.text and i not in without and not is_named(slot.name, words().places) and slot.of is None:
            cells.setdefault(prefix + slot.name, slot.value)
    return cells
