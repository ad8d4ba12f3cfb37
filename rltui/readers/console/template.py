"""Step lines of any wording, learned from how they recur.  A line becomes a skeleton: its numbers are slots, its words
stay. If a skeleton recurs, one whole number in it only rises, and it names other numbers, it is a step line, whatever
its words are:
`GRPO step 10/500 | loss: 0.0 | mean_reward: -1.0`, `Epoch:[1/1](12/9751), Reward: -2.3`, `[7/300] loss=0.1 reward=0.2`,
`Iteration 7: avg_reward=0.4 (std 0.1)`, `Batch 7/300 | reward mean=0.9 std=0.2`. A number takes the name before it; a
plain `std` or `max` belongs to the name before that. Lines of `name: number` right below belong to the step.

This module sorts the lines: single ones, those of a block (`open_block`), of a table, of an evaluation, and those of
other programs. `known_templates` learns which of them state steps.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from math import nan

from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.column_tables import ColumnTable
from rltui.readers.console.counted_lines import COUNTED, CountedLines, alone, title_alone
from rltui.readers.console.known_templates import KnownTemplates
from rltui.readers.console.layouts import (
    as_slots,
    begins_evaluation,
    ends_evaluation,
    headings,
    is_behind_bar,
    is_frame,
    pair_cells,
    set_of,
    title,
    titled,
    without_count,
)
from rltui.readers.console.lead import program, split_lead
from rltui.readers.console.lines_beside import INDEX
from rltui.readers.console.named_numbers import Slot, is_whole, slots_of
from rltui.readers.console.numbered_rows import NumberedRows
from rltui.readers.console.open_block import NOTHING, Above, OpenBlock
from rltui.readers.console.outer_loops import counts_parts, epoch_in, title_of_round
from rltui.readers.console.plain_lines import done_within, name_before_number, of_evaluation, step_first, told_whole
from rltui.readers.console.settings_above import SettingsAbove
from rltui.readers.console.step_template import (
    StepRow,
    Template,
    TemplateLine,
    counted_unnamed,
    key_of,
    may_count,
    promising,
)
from rltui.readers.console.step_template import skeleton as skeleton_of
from rltui.readers.console.values_above import ends_step
from rltui.readers.console.worded_lines import step_before_name
from rltui.readers.console.work_lines import work
from rltui.readers.name_words import either, is_named, last_word, measures, words

_BEFORE_ROW = lazy(r"^\d{1,5}:\s+")
"""srun's rank: before a row of numbers, only the table above shows that it is not one of them."""
_MARKED = lazy(r"^[^\w*`]*(\*\*|`)([^\W\d_][^*`]{0,40}\d)\1")
"""A count in Markdown emphasis: responses number their parts like this, but few logs their steps."""
MAX_SOURCES = 100
READ_AGAIN = 200
"""Most lines before the first step that are kept, to be read again once it is known what they are."""
MOST_READINGS = 8
"""How often they are read again: prose has many lines that might count something."""


_Line = tuple[str, str, int, float, bool, str]


class TemplateLearner:
    """Finds the step lines of a log without a known dialect. It must get the lines in file order."""

    def __init__(self) -> None:
        self._known = KnownTemplates()
        self._under: TemplateLine | None = None  # the line above, if lines below it may belong to it
        self._under_step: int | None = None  # its step, None while that is not known
        self._printed = False  # the newest step line or heading has nothing before its words
        self._block = OpenBlock()
        self._table = ColumnTable()
        self._epoch = 0  # epoch or round of the newest heading that names one
        self._title = ""  # the word for that round; "" for an epoch
        self._sources = {""}  # words before lines that may state steps
        self._work = ""  # the work that the lead of this line names, `train:`
        self._led = False  # logging put something before this line
        self._evaluated = False  # a line said that an evaluation follows
        self._opening = ""  # the words before a message that begins on the next line
        self._passed: tuple[dict[str, float], tuple[int, ...]] = {}, ()  # numbers above words, before steps are known
        self._counted, self._over = CountedLines(), ""  # and a title right above, which names no step
        self._at, self._time = 0, nan  # number of the line in the file, and its time
        self._training = ""  # the training that its words name
        self._marked = False  # its step counts are in Markdown emphasis
        self.likely = False
        """Whether the newest line probably states a step but is held back."""
        self._whole: frozenset[str] | None = None  # in a copy: names of the block from complete lines
        self._settings, self._numbered = SettingsAbove(), NumberedRows()
        self._past: list[_Line] | None = []  # the lines so far; None once a step is known, or if they are too many
        self._readings = MOST_READINGS
        self._anew = False  # all lines are to be read again
        self._key = ""  # of the newest line that may state a step

    @property
    def epoch(self) -> int | None:
        """The epoch of the newest line that begins with one; None for none or 0."""
        return self._epoch or None

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
        """The step in the heading of the open block; None if none is open, or if its heading names no step plainly."""
        if not (self.knows_steps and self._block.is_open and self._block.headed):
            return None
        plain = words().counters
        return next((int(s.value) for s in self._block.slots if is_whole(s) and is_named(s.name, plain)), None)

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
        anew.resumed, anew._numbered.are_steps = self.resumed, self._numbered.are_steps
        rows = [row for line in past for row in anew.take(*line) or ()]
        vars(self).update(vars(anew))
        return rows

    def _take(self, message: str, process: str, at: int, time: float, indented: bool) -> list[StepRow] | None:
        self._at, self._time, given, self.likely = at, time, message, False
        lead = split_lead(name_before_number(message))
        rank, source, message, before = lead.rank, program(lead), lead.message, lead.before
        alone = before.strip() == f"{lead.source}:"
        if alone and message.startswith(("{'", '{"')):
            source, message = "", given  # the name of the dict is not a program
        if indented and alone and lead.source and self._under is not None:
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
            if epoch is not None:
                self._epoch, self._title = epoch, title_of_round(message)
            rows = self._numbers(message, rank, source, process)
            rows = [] if epoch is not None and rows is None else rows
            self._marked |= bool(rows) and marked is not None
            if opening and source == "" and self._under is not None:
                self._source(opening)
            return rows
        return self._words(message)

    def follow(self, message: str, step: int) -> list[StepRow]:
        """Takes a step line that was read elsewhere: lines that begin like it may belong to it. Returns the steps
        before it that are known now."""
        lead = split_lead(message)
        rank, message = lead.rank, lead.message
        self._source(program(lead))
        self._under = None  # what follows belongs to this line
        line = TemplateLine(slots_of(message), message, rank=rank)
        return self._known.follow(line, f"{rank}:{skeleton_of(message)}", step)

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

    def _words(self, message: str) -> list[StepRow]:
        """Takes a line without a digit, which may be a heading. The lines after it do not belong to the step line
        above, unless it begins an evaluation of that step. A line that only draws a frame does not end a block."""
        if self._block.fence(message) or self._block.names_columns(message):
            return []
        self._block.note_text(message)
        if self._begins_evaluation(message):
            return []
        if self._evaluated and ends_evaluation(message):
            self._evaluated = False
        over = title_alone(message) if self._known.main is None or self._known.counts else ""
        if over and self._block.is_open and self._block.state.title == over:
            self._over = over
            return self._end_block()  # its title again
        if (self._under is not None or self._block.is_open) and (named := title(message)):
            self._block.pairs.title = named
            return []
        self._under = None
        of_table = self._table.heading(message)
        if self._block.headed and (is_frame(message) or (not of_table and self._block.goes_on(self._led))):
            self._block.frame()
            return []
        if of_table or message.startswith(("|", "│", "┃")):
            return []
        if self._known.main is None:
            cells, lines = self._block.loose_pairs()
            self._passed = self._passed[0] | cells, (*self._passed[1], *lines)
        ended, self._over = self._end_block(), over
        return ended

    def _begins_evaluation(self, message: str) -> bool:
        """Takes a line that announces numbers of an evaluation below a step line or in a block. True if it does."""
        if (self._under is None and not self._block.headed) or not begins_evaluation(message):
            return False
        self._evaluated = True
        self._block.pairs.title = ""
        return True

    def _numbers(self, message: str, rank: str, source: str, process: str) -> list[StepRow] | None:
        message = self._block.of_columns(message)
        row = self._table.row(message) or self._table.row(_BEFORE_ROW.sub("", message))
        if row is not None:
            self._under = None
            ended = self._end_block()
            return ended + self._known.take(
                "table", key_of("table", row), TemplateLine(row, lines=(self._at,), time=self._time)
            )
        begins = headings(message)
        done = None if begins else work(message)
        if done is not None and self._heads_block(done.step):
            rows = self._below(message, source, [done.step])
            self._block.add_amounts(done.amounts, source, self._at, self._time)
            return rows
        counts = self._block.headed > 0 and not begins and (self._known.main is None or self._numbered.are_steps)
        if counts and (unnamed := counted_unnamed(message)):
            if self._numbered.are_steps or self._block.was_set(self._settings.lines):
                self._block.end()  # `steps: 60` among settings is no heading of these rows
            elif self._known.main is None:
                self._block.state.apart -= self._numbered.take(f"{rank}:{skeleton_of(message)}", unnamed)
        if self._are_rounds(begins):
            return []  # it is read again
        if begins and not begins[0].name and (self._under is not None or any(s.name for s in self._block.heading)):
            return []  # `[2/4]` below the line of a step: a part of it
        if begins and not self._is_at(begins[0]) and self._block.is_within_text(message, begins):
            self._block.state.text = self._block.state.loose = True
            return []
        if not begins and self._block.headed and f"{rank}:{skeleton_of(message)}" not in self._known:
            message = without_count(message, self._block.states)
        if begins and self._is_at(begins[0]) and self._begins_evaluation(message):
            return []
        if begins or is_behind_bar(message):
            return self._below(message, source, begins)
        skeleton = skeleton_of(message)
        counted = self._is_alone and alone(message) is not None
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
        line.training = self._training
        if self._block.headed and not self._block.counts_itself(line) and self._known.gives_up(key):
            return []  # it is read again
        if key not in self._known and not self._known.adopts(key, line):
            if not promising(line.slots):
                self._known.reject(key)
                return self._below(message, source)
            if self._under is not None and self._known.is_beside(line):
                return self._below(message, source)
            if self._block.headed and not self._block.states_its_own(line):
                return self._below(message, source)  # it counts something inside the step of the heading
            if self._evaluated and pair_cells(message) and not any(map(may_count, line.slots)):
                return self._below(message, source)  # its total is a number of responses
        line.above, line.above_lines, line.passed = self._above()
        ended = self._end_block()
        self._evaluated = False
        self._source(source)
        if self._known.ahead.cells:
            line.below, waited = self._known.ahead.take()
            line.lines = (*waited, *line.lines)
        rows, self._key = self._known.take("line", key, line), key
        self._under, self._block.pairs.title = line if key in self._known else self._known.over(line), ""
        self._under_step, self._printed = rows[-1].step if rows else None, not source and not self._led
        self.likely = self._known.may_tell(key)
        return ended + rows

    def _are_rounds(self, begins: Sequence[Slot]) -> bool:
        """Takes note of the heading of a round, or of the counted lines below it. True if they are now known to be the
        steps of the round, and the lines so far are to be read again."""
        if self._known.main is not None or self._numbered.are_steps:
            return False
        numbered, names = self._numbered, list(self._block.pairs.slots)
        numbered.are_steps = numbered.ends(begins, names) if begins else numbered.are_many(names)
        self._anew = numbered.are_steps and self._past is not None and self._readings > 0
        if begins:
            numbered.begin(begins)
        return self._anew

    def _heads_block(self, count: Slot) -> bool:
        """Whether a line that says what was done for this count begins the block of a step: no other count does."""
        heading = self._block.heading
        same = not heading or heading[0].name == count.name
        main = self._known.main is None or (self._known.is_main(count) and self._known.kind == "block")
        return main and same and self._under is None

    @property
    def _is_alone(self) -> bool:
        """Whether this line is below none that may state its step, and no line is known to state one."""
        above = self._under
        known = self._known.main is None or self._known.counts
        return known and not self._block.headed and (above is None or above.slots[0].name == COUNTED)

    def _is_at(self, count: Slot) -> bool:
        """Whether the text above states this count."""
        above = self._block.slots if self._under is None else self._under.slots
        return any(is_whole(slot) and slot.value == count.value for slot in above)

    def _source(self, source: str) -> None:
        """Remembers that lines of this program may state a step."""
        if len(self._sources) < MAX_SOURCES:
            self._sources.add(source)

    def settle(self, over: bool = False) -> list[StepRow]:
        """The steps that are plain enough in what was seen so far, as the log is quiet or `over`."""
        opened, key = self._open_line()
        out, told = self._known.early(opened, key, over)
        self._block.told |= told
        self._past = None if out else self._past
        return out + self._open_block()

    def _below(self, message: str, source: str, begins: Sequence[Slot] = ()) -> list[StepRow] | None:
        """Takes the numbers of a line right below a step line (or a possible one), or those of a block. `begins`: the
        counts of a heading that begins a block."""
        if self._under is not None and source in self._sources and (inner := done_within(message)):
            own = self._under.names(None)
            inner = self._known.ahead.keep(inner, self._at) if self._known.kind == "line" else inner
            inner = {name: x for name, x in inner.items() if name not in own}
            self._under.below |= inner  # the last one of a name counts
            self._under.lines = (*self._under.lines, self._at)
            step = self._under_step
            return [] if step is None else [StepRow(step, inner, lines=(self._at,), time=self._under.time)]
        if not begins and (inside := self._block.within(message)) is not None:
            self._block.add(as_slots(inside), source, self._at, self._time)  # the last one of a name counts
            return []
        named, said = titled(INDEX.sub("", message) if self._under is not None else message)
        cells, named = {} if begins else pair_cells(said), named or self._work
        if cells == {} and self._block.headed and not begins and "." in said:
            alone = told_whole(said, least=1)  # `print("reward", x)`
            cells = alone if self._block.heads.may_have_line(alone) else {}
        if named and cells:
            self._block.pairs.title = named
        if cells and self._block.is_of_text(cells, self._led):
            return []
        if self._block.headed and not begins:
            self._block.among_texts(cells or {}, message)
        if cells and self._block.state.printed and measures(cells, "training"):
            self._source(source)  # a logger's numbers below a heading that was printed
        of_phase = source.lower() in either("phases", "parts", "of_training")
        below = self._under is not None or self._block.headed
        if cells and below and of_phase and self._printed and measures(cells, "training"):
            self._source(source)  # `[train] loss 0.3` below a step line or heading without any tag
        if cells is None or (cells and source not in self._sources and (self._under is not None or self._block.headed)):
            return []  # another program's
        if not begins and not cells and self._begins_evaluation(message):
            return []
        next_line = self._block.pairs.lines[-1:] == (self._at - 1,) and self._block.pairs.measured
        loose = self._block.state.loose and not next_line
        if cells and loose and not measures(cells) and not any(map(_names_step, as_slots(cells))):
            return []  # they belong to the other text in the block
        if self._evaluated and self._block.headed and any(map(self._is_another_step, as_slots(cells))):
            self._evaluated = False
        if self._evaluated and cells:
            of = set_of(message)
            cells = {of_evaluation(f"{of}/{name}" if of else name): x for name, x in cells.items()}
        ahead = self._known.ahead
        if ahead.names and cells and not begins and (not ahead.of_block or self._under is not None):
            cells = ahead.keep(cells, self._at)
            if not cells:
                return []
        if self._under is not None and self._under.slots[0].name == COUNTED:
            own = self._under.names(None)  # its epoch again: the next line begins
            cells = {name: x for name, x in cells.items() if name not in own}
        if self._under is not None and cells:
            there, head = self._under.below, self._block.pairs.title
            told = self._under.names(None) | there.keys()
            short = told | {name for name in cells if name.lower() in words().statistics}  # without the title
            cells = {f"{head}/{name}" if head and name in short else name: x for name, x in cells.items()}
            cells = {name: x for name, x in cells.items() if name not in told}  # the first of a name counts
            self._under.below = {**cells, **there}
            if self._under_step is not None:
                return [StepRow(self._under_step, cells, lines=(self._at,), time=self._under.time)]
            self._under.lines = (*self._under.lines, self._at)
            return []
        self._under = None
        if not begins and not cells:
            of_table = self._table.heading(message)
            if not of_table and self._block.goes_on(self._led):
                return []
            return self._end_block() or ([] if of_table else None)
        if begins:
            self._source(source)
            self._epoch = next(
                (int(s.value) for s in begins if last_word(s.name) == "epoch" and is_whole(s)), self._epoch
            )
            self._block.heads.add(begins, said)
        slots = list(begins) or as_slots(cells)
        within = not begins and bool(self._block.headed)
        again = within and is_behind_bar(message)  # the bar of an epoch, printed again
        anew = bool(begins) or (within and any(map(self._is_another_step, slots)))
        anew = anew or self._block.is_of_another(slots, source)
        anew = anew or (not again and self._block.pairs.begins_anew([slot.name for slot in slots]))
        above = self._above() if begins else NOTHING
        ended = self._end_block() if anew else []
        if anew:
            self._block.begin(len(begins), above, ends=bool(begins) and ends_step(said))
        if again:
            self._block.told -= {slot.name for slot in slots}
        self._block.add(slots, source, self._at, self._time)
        self._block.state.title, self._over = self._over or self._block.state.title, ""
        self._block.state.printed = bool(begins) and not source and not self._led
        self._printed = self._block.state.printed if begins else self._printed
        return ended

    def _is_another_step(self, slot: Slot) -> bool:
        """Whether a number is the known step counter and the heading of the open block states no or another step: then
        the heading came from another program."""
        return self._known.is_main(slot) and self._block.states_another(slot, self._known.main)

    def _end_block(self) -> list[StepRow]:
        """Ends the open block. Returns the steps that are then known."""
        self._evaluated = False
        over = "" if self._block.headed else self._block.state.title
        line, key, told = self._block.end()
        if over and (self._known.main is None or self._known.counts):
            line.slots = self._counted.block(over, line.slots)
            key = key_of("block", line.slots)
        if self._known.ahead.names and self._known.ahead.of_block:
            if any(map(may_count if self._known.main is None else self._known.is_main, line.slots)):
                waiting, line.slots = line.slots, self._known.ahead.in_place(line.slots)
                self._known.ahead.go_on(waiting)
                key = key_of("block", line.slots)
            elif self._known.ahead.wait(line.slots):  # other lines ended the block of the step before
                return []
        if len(line.slots) < 2:
            return []
        if key not in self._known:
            self._known.adopts(key, line)
        rows = self._known.take("block", key, line)
        if rows:
            self._source(self._block.state.source)
        if told and rows:
            cells = {name: x for name, x in rows[-1].cells.items() if name not in told}
            rows[-1] = replace(rows[-1], cells=cells)
        return rows

    def _open_line(self) -> tuple[TemplateLine | None, str]:
        """The open block below a heading so far, and its key. (None, "") if the step counter is already known or the
        block has no heading."""
        if self._known.main is not None or not self._block.headed or len(self._block.slots) < 2 or self._block.told:
            return None, ""
        return self._block.line()

    def _open_block(self) -> list[StepRow]:
        """The row of the open block so far, if its counter is the one that states the step."""
        slots = self._known.ahead.in_place(self._block.slots)
        if self._known.counts and not self._block.headed:
            slots = self._counted.copy().block(self._block.state.title, slots)
        at = next((i for i, s in enumerate(slots) if self._known.is_main(s)), None)
        of_block = self._known.kind == "block" or self._known.ahead.of_block
        if not of_block or at is None or (self._whole is not None and slots[at].name not in self._whole):
            return []
        line = TemplateLine(slots, lines=self._block.pairs.lines, time=self._block.pairs.time)
        known = (t for t in self._known.decided if t.counter == at and not t.prefix)
        row = next((row for template in known for row in template.copy().rows([line])), None)
        cells = {} if row is None else {k: x for k, x in row.cells.items() if k not in self._block.told}
        self._block.told |= set(cells)
        return [replace(row, cells=cells)] if row is not None and cells else []

    def _above(self) -> Above:
        """The numbers above the step line or heading that comes now. Before steps are known, a heading above these may
        be that of something else."""
        (passed, above), self._passed = self._passed, ({}, ())
        cells, lines = self._block.loose_pairs(of_heading=self._known.main is None)
        return passed | cells, (*above, *lines), frozenset(passed.keys() - cells.keys())

    def pairs_since(self, at: int) -> dict[str, float]:
        """The numbers above the next line that belong to no known step, if all of them are below this line number."""
        cells, lines = self._block.loose_pairs()
        return cells if lines and lines[0] > at else {}

    @property
    def above(self) -> dict[str, float]:
        """The numbers above the next line that belong to no known step."""
        return self._known.held_pairs() | self._block.loose_pairs()[0]


def _names_step(slot: Slot) -> bool:
    return is_whole(slot) and is_named(slot.name, words().counters)
