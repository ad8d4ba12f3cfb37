"""Step lines of any wording, learned from how they recur.  A line becomes a skeleton: its numbers are slots, its words
stay. If a skeleton recurs, one whole number in it only rises, and it names other numbers, it is a step line, whatever
its words are:
`GRPO step 10/500 | loss: 0.0 | mean_reward: -1.0`, `Epoch:[1/1](12/9751), Reward: -2.3`, `[7/300] loss=0.1 reward=0.2`,
`Iteration 7: avg_reward=0.4 (std 0.1)`, `Batch 7/300 | reward mean=0.9 std=0.2`. A number takes the name before it; a
plain `std` or `max` belongs to the name before that. Lines of `name: number` right below belong to the step.

This module sorts the lines: single ones, those of a block (`open_block`), of a table, of an evaluation, and those of
other programs. `known_templates` learns which of them state steps, `beside_steps` knows what is beside these.
"""

from __future__ import annotations

import copy
from math import nan

from rltui.lazy_regex import lazy
from rltui.readers.console.beside_steps import BesideSteps
from rltui.readers.console.counted_lines import alone
from rltui.readers.console.layouts import (
    headings,
    is_behind_bar,
    pair_cells,
    without_count,
)
from rltui.readers.console.lead import program, split_lead
from rltui.readers.console.line_rounds import Rounds
from rltui.readers.console.named_numbers import is_whole, slots_of
from rltui.readers.console.outer_loops import counts_parts, epoch_in, title_of_round
from rltui.readers.console.plain_lines import name_before_number, step_first
from rltui.readers.console.settings_above import all_set
from rltui.readers.console.step_template import (
    StepRow,
    Template,
    TemplateLine,
    cells_of,
    counted_unnamed,
    key_of,
    may_count,
    promising,
)
from rltui.readers.console.step_template import skeleton as skeleton_of
from rltui.readers.console.worded_lines import step_before_name
from rltui.readers.console.work_lines import titled_amounts, work
from rltui.readers.name_words import either, is_named, words

_BEFORE_ROW = lazy(r"^\d{1,5}:\s+")
"""srun's rank: before a row of numbers, only the table above shows that it is not one of them."""
_MARKED = lazy(r"^[^\w*`]*(\*\*|`)([^\W\d_][^*`]{0,40}\d)\1")
"""A count in Markdown emphasis: responses number their parts like this, but few logs their steps."""
READ_AGAIN = 200
"""Most lines before the first step that are kept, to be read again once it is known what they are."""


class TemplateLearner(BesideSteps):
    """Finds the step lines of a log without a known dialect. It must get the lines in file order."""

    @property
    def epoch(self) -> int | None:
        """The epoch of the newest line that begins with one; None for none or 0."""
        return self._epoch or None

    @property
    def titles(self) -> Rounds:
        """The numbers of titles above the newest step."""
        return self._titles.newest

    @property
    def knows_steps(self) -> bool:
        """Whether a step line was found that no other reader reads."""
        return self._known.tell_steps

    @property
    def counts(self) -> bool:
        """Whether rows are counted, as their lines only state a fraction of the epochs."""
        return self._known.counts

    @property
    def counts_weakly(self) -> bool:
        """Whether the lines of the steps so far count epochs or the like."""
        return self._known.counts_weakly

    @property
    def took_over(self) -> bool:
        """Whether lines found here state the steps that other lines stated at first."""
        return self._known.took_over

    @property
    def resumed(self) -> bool:
        """Whether a line above all steps says that the log begins there."""
        return self._known.ahead.resumed

    @resumed.setter
    def resumed(self, on: bool) -> None:
        self._known.ahead.resumed = on

    def may_take_over(self, message: str) -> bool:
        """Whether a line below a step that was read elsewhere may be the first in another form that states steps."""
        lead = split_lead(message)
        return self._known.may_take_over(lead.rank, lead.message)

    @property
    def is_open(self) -> bool:
        """Whether the next line may belong to the text above it."""
        return self._under is not None or self._block.is_open or self._table.is_open

    @property
    def heading_step(self) -> int | None:
        """The step in the heading of the open block; None if none is open, or if its heading names no step."""
        if not (self.knows_steps and self._block.is_open and self._block.headed):
            return None
        counts = (slot for slot in self._block.slots if is_whole(slot))
        return next(
            (int(s.value) for s in counts if is_named(s.name, words().counters) or self._known.is_main(s)), None
        )

    @property
    def is_below_step(self) -> bool:
        """Whether the line above, or the block that is open, states a step, or may."""
        return self._block.headed > 0 or (self._under is not None and any(map(may_count, self._under.slots)))

    def copy(self) -> TemplateLearner:
        """A copy that takes the beginning of a line without changing this one. It learns nothing from that; held rows
        are given out by this one."""
        twin = copy.copy(self)
        twin._known, twin._under = self._known.copy(self._under)
        twin._sources = set(self._sources)
        twin._block, twin._table, twin._counted = self._block.copy(), copy.copy(self._table), self._counted.copy()
        twin._inner, twin._titles = self._inner.copy(), copy.copy(self._titles)
        twin._settings, twin._numbered = self._settings.copy(), self._numbered.copy()
        twin._whole = frozenset(self._block.pairs.slots) if self._whole is None else self._whole
        twin._past = None if self._past is None else list(self._past)
        return twin

    def go_on(self) -> list[StepRow]:
        """Makes this copy the one that counts, as the line that it took was complete. Returns the steps then known."""
        self._whole = None
        return self._known.go_on() or self._read_again()

    def take(
        self,
        message: str,
        process: str = "",
        at: int = 0,
        time: float = nan,
        indented: bool = False,
        training: str = "",
    ) -> list[StepRow] | None:
        """The steps that are known with this line, those of held lines first. None if no line of its shape can matter.
        `at`: its line number. `time`: when it was written. `indented`: it is indented. `training`: the one that its
        words name."""
        if self._past is not None:
            self._past.append((message, process, at, time, indented, training))
            if len(self._past) > READ_AGAIN or self._known.main is not None:
                self._past = None
        self._known.can_wait = self._past is not None and self._readings > 0
        self._training = training
        rows = self._take(message, process, at, time, indented)
        return rows or self._read_again() or rows

    def _read_again(self) -> list[StepRow]:
        """Reads all lines again if some were held back as possible step lines and are none: their numbers belong to the
        step above or below. Returns the steps then known."""
        if not self._known.misread and not self._anew:
            return []
        past, readings, none = self._past, self._readings, self._known.misread
        self._known.misread, self._anew = frozenset(), False
        if past is None or not readings:
            return []
        anew = TemplateLearner()
        anew._readings = readings - 1
        anew._known.learn(self._known, none)
        anew._inner.known = dict(self._inner.known)
        anew.resumed, anew._numbered.are_steps = self.resumed, self._numbered.are_steps
        rows = [row for line in past for row in anew.take(*line) or ()]
        vars(self).update(vars(anew))
        return rows

    def _take(self, message: str, process: str, at: int, time: float, indented: bool) -> list[StepRow] | None:
        self._at, self._time, given, self.likely, self.is_title = at, time, message, False, False
        lead = split_lead(name_before_number(message))
        rank, source, message, before = lead.rank, program(lead), lead.message, lead.before
        alone = before.strip() in (f"{lead.source}:", f"[{lead.source}]")
        outer, _, name = lead.source.rpartition(" ")
        if name and message.startswith(("{'", '{"')) and before.rstrip().endswith(f"{name}:"):
            source, message = outer, given if alone else f"{name}: {message}"  # the name of the dict is not a program
        below = self._under is not None or self._block.headed > 0
        titles = below and _names(message) if self._printed else indented and self._under is not None
        if alone and lead.source and titles:
            source, message = "", given  # nor is the title of some numbers below a step
        self._work = "" if source else lead.source
        message = step_before_name(step_first(message))
        self._led = len(message) < len(given)
        if self._known.main is None:
            self._settings.take(message, at)
        if not message:
            self._opening = source  # its message begins on the next line
            return []
        opening, self._opening = self._opening, ""
        if any(map(str.isdecimal, message)):
            marked = _MARKED.match(message) if self._known.main is None or self._marked else None
            if marked is not None:
                message = marked[2] + message[marked.end() :]
            epoch = epoch_in(message)
            self.is_title = self._titles.take(message)
            if epoch is not None:
                self._epoch, self._title = epoch, title_of_round(message)
            rows = self._numbers(message, rank, source, process)
            rows = [] if epoch is not None and rows is None else rows
            self._marked |= bool(rows) and marked is not None
            if opening and source == "" and (self._under is not None or self._block.headed):
                self._source(opening)
            return rows
        return self._words(message)

    def follow(self, message: str, step: int) -> list[StepRow]:
        """Takes a step line that was read elsewhere: lines that begin like it may belong to it. Returns the steps
        before it that are known now."""
        lead = split_lead(message)
        rank, message = lead.rank, lead.message
        self._source(program(lead))
        self._under, self._evaluated = None, False  # what follows belongs to this line
        self._titles.close()
        line = TemplateLine(slots_of(message), message, rank=rank, titles=self._titles.newest)
        return self._known.follow(line, f"{rank}:{skeleton_of(message)}", step)

    def pass_by(self, step: int) -> None:
        """Takes note of a dict that states its step, which was read elsewhere."""
        self._under, self._evaluated = None, False
        self._known.pass_by(step)

    @property
    def follows(self) -> bool:
        """Whether step lines are read elsewhere, and nothing is open."""
        return self._known.follows and not (self.is_open or self._known.ahead.names)

    def goes_on_elsewhere(self, count: int) -> None:
        """Takes a step line that was read elsewhere, of the form of the one before."""
        self._known.goes_on_elsewhere(count)

    @property
    def settled(self) -> tuple[Template, TemplateLine] | None:
        """The newest line and its template, if lines like it surely state the steps, and nothing else is open."""
        under, found = self._under, self._known.settled(self._key)
        if found is None or under is None or under.below or under.above or under.passed or self._past is not None:
            return None
        is_open = self._block.is_open or self._table.is_open or self._evaluated or self._known.counts
        return None if is_open else (found, under)

    def goes_on(self, count: int) -> int:
        """Takes a line of the form of the settled one. Returns its step."""
        found = self._known.settled(self._key)
        return count if found is None else self._known.goes_on(found, count)

    def _numbers(self, message: str, rank: str, source: str, process: str) -> list[StepRow] | None:
        if (inside := self._counted_inside(f"{rank}:{skeleton_of(message)}", message)) is not None:
            return self._inside(inside, source)
        message = self._block.of_columns(message)
        row = self._table.row(message) or self._table.row(_BEFORE_ROW.sub("", message))
        if row is not None:
            self._under = None
            ended = self._end_block()
            return ended + self._known.take(
                "table", key_of("table", row), TemplateLine(row, lines=(self._at,), time=self._time)
            )
        begins = headings(message)
        if self._block.takes_length(begins, source, self._at, self._time):
            return []
        done = None if begins else work(message) or titled_amounts(message)
        known = done is not None and self._block.heads.has([done.step], message)
        if done is not None and not known and self._is_of_text(message, done.step):
            return []
        if done is not None and self._heads_block(done.step, message):
            if not known and self._is_of_sample(message):
                return []
            rows = self._below(message, source, [done.step])
            self._block.add_amounts(done.amounts, source, self._at, self._time)
            return rows
        counts = self._block.headed > 0 and not begins and (self._known.main is None or self._numbered.are_steps)
        if counts and (unnamed := counted_unnamed(message)):
            if self._numbered.are_steps or self._block.was_set(self._settings.lines):
                self._block.end()  # `steps: 60` among settings is no heading of these rows
            elif self._known.main is None:
                self._block.state.apart -= self._numbered.take(f"{rank}:{skeleton_of(message)}", unnamed)
        if not begins and self._is_of_sample(message):
            return []
        if self._are_rounds(begins):
            return []  # it is read again
        if begins and not begins[0].name and (self._under is not None or any(s.name for s in self._block.heading)):
            return []  # `[2/4]` below the line of a step: a part of it
        if begins and self._is_of_text(message, begins[0]):
            return []
        if not begins and self._block.headed and f"{rank}:{skeleton_of(message)}" not in self._known:
            message = without_count(message, self._block.states)
        if begins and self._is_at(begins[0]) and self._begins_evaluation(message):
            return []
        if begins or is_behind_bar(message):
            return self._below(message, source, begins)
        skeleton = skeleton_of(message)
        counted = self._is_alone and alone(message) is not None
        if counted and self._are_evaluated(told := pair_cells(message) or {}):
            return [self._evaluation(told)]
        key = f"{rank}:{skeleton}" if skeleton.count("#") > 1 or counted else ""
        if not key or self._known.cannot_tell(key):
            return [] if self._known.is_of_answers(key) else self._below(message, source)
        if not counted and self._known.is_not_counted(key):
            return []  # it is read again
        slots, lines = self._counted.slots(key, slots_of(message)), (self._at,)
        if counted:
            slots = self._counted.dict(message, slots)
        epoch = 0 if self._title and counts_parts(slots, self._title) else self._epoch
        line = TemplateLine(slots, message, 0, rank, epoch, process, lines=lines, time=self._time)
        line.titles, line.training = self._titles.newest, self._training
        line.inner = self._inner.may_be(key, lambda: slots)
        if self._block.headed and not self._block.counts_itself(line) and self._known.gives_up(key):
            return []  # it is read again
        if key not in self._known and not self._known.adopts(key, line):
            if not promising(line.slots) or (self._known.main is None and all_set(line.names(None))):
                self._known.reject(key)
                return self._below(message, source)
            if self._under is not None and self._known.is_beside(line):
                return self._below(message, source)
            if self._block.headed and not self._block.states_its_own(line):
                return self._below(message, source)  # it counts something inside the step of the heading
            if self._evaluated and pair_cells(message) and not any(map(may_count, line.slots)):
                return self._below(message, source)  # its total is a number of responses
        line.above, line.above_lines, line.passed = self._above(None if key in self._known else self._under)
        ended = self._end_block()
        self._titles.close()
        self._evaluated = False
        self._source(source)
        if self._known.ahead.cells:
            line.below, waited = self._known.ahead.take()
            line.lines = (*waited, *line.lines)
        rows, self._key = self._known.take("line", key, line), key
        self._under = line if key in self._known else self._known.over(line)
        self._block.pairs.entitle("")
        self._under_step, self._printed = rows[-1].step if rows else None, not source and not self._led
        self.likely = self._known.may_tell(key)
        return ended + rows

    def _counted_inside(self, key: str, message: str) -> dict[str, float] | None:
        """The numbers of a line that counts inside a step; None for any other line."""
        if self._past is not None and self._inner.take(key, slots_of(message)):
            self._anew = self._readings > 0
        place = self._inner.known.get(key)
        slots = [] if place is None else slots_of(message)
        return cells_of(slots, (place,), "") if place is not None and place < len(slots) else None

    def counts_inside(self, message: str) -> bool:
        """Whether a line may count inside a step that is stated above it."""
        lead = split_lead(message)
        return self._inner.may_be(f"{lead.rank}:{skeleton_of(lead.message)}", lambda: slots_of(lead.message))

    def settle(self, over: bool = False) -> list[StepRow]:
        """The steps that are plain enough in what was seen so far, as the log is quiet or `over`."""
        opened, key = self._open_line()
        out, told = self._known.early(opened, key, over)
        self._block.told |= told
        self._past = None if out else self._past
        return out + self._open_block()

    def pairs_since(self, at: int) -> dict[str, float]:
        """The numbers above the next line that belong to no known step, if all of them are below this line number."""
        cells, lines = self._block.loose_pairs()
        return cells if lines and lines[0] > at else {}

    @property
    def above(self) -> dict[str, float]:
        """The numbers above the next line that belong to no known step."""
        return self._known.held_pairs() | self._block.loose_pairs()[0]


def _names(message: str) -> bool:
    """Whether a line begins with a named number that counts nothing."""
    first = slots_of(message)[:1] if message[:1].isalpha() else []
    return bool(first) and not is_named(first[0].name, either("counters", "weak_counters"))
