"""Finds the step of numbers beside the lines that state steps: below them or below headings, above them, in tables and
evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from msgspec.structs import replace

from rltui.readers.console.column_tables import ColumnTable
from rltui.readers.console.counted_lines import COUNTED, CountedLines, title_alone
from rltui.readers.console.evaluation_rows import names_evaluation
from rltui.readers.console.evaluation_titles import (
    begins_evaluation,
    closes_evaluation,
    ends_evaluation,
    score_of_set,
    set_of,
)
from rltui.readers.console.inner_counts import InnerCounts
from rltui.readers.console.known_templates import KnownTemplates
from rltui.readers.console.layouts import as_slots, is_behind_bar, is_frame, pair_cells, title, titled
from rltui.readers.console.line_rounds import RoundTitles
from rltui.readers.console.lines_beside import INDEX
from rltui.readers.console.named_numbers import Slot, is_whole, slots_of
from rltui.readers.console.numbered_rows import NumberedRows
from rltui.readers.console.open_block import NOTHING, Above, OpenBlock
from rltui.readers.console.plain_lines import done_within, of_evaluation, told_whole
from rltui.readers.console.settings_above import SettingsAbove, are_set
from rltui.readers.console.step_template import (
    StepRow,
    TemplateLine,
    counter_name,
    key_of,
    may_count,
    skeleton,
)
from rltui.readers.console.values_above import ends_step
from rltui.readers.name_words import either, is_named, last_word, measures, words

MAX_SOURCES = 100
MOST_READINGS = 8
"""How often the lines above the first step are read again: prose has many lines that might count something."""

NONE: tuple[dict[str, float], tuple[int, ...]] = {}, ()
_Line = tuple[str, str, int, float, bool, str]


class BesideSteps:
    """What is open as lines come: the line above, a block below a heading, a table, an evaluation. `TemplateLearner`
    gives it each line that states no step by itself."""

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
        self._scored = False  # and a score of it came since
        self._evaluation_at = -1  # number of the newest line taken as part of an evaluation
        self._opening = ""  # the words before a message that begins on the next line
        self._passed: tuple[dict[str, float], tuple[int, ...]] = {}, ()  # numbers above words, before steps are known
        self._counted, self._over = CountedLines(), ""  # and a title right above, which names no step
        self._at, self._time = 0, nan  # number of the line in the file, and its time
        self._training = ""  # the training that its words name
        self._marked = False  # its step counts are in Markdown emphasis
        self.likely = False
        """Whether the newest line probably states a step but is held back."""
        self.is_title = False
        """Whether the newest line may be the title of a round."""
        self._whole: frozenset[str] | None = None  # in a copy: names of the block from complete lines
        self._settings, self._numbered, self._inner = SettingsAbove(), NumberedRows(), InnerCounts()
        self._titles = RoundTitles()
        self._past: list[_Line] | None = []  # the lines so far; None once a step is known, or if they are too many
        self._readings = MOST_READINGS
        self._anew = False  # all lines are to be read again
        self._key = ""  # of the newest line that may state a step

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
            self._block.pairs.entitle(named)
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
        """Takes a line after the first step that may announce numbers of an evaluation. True if it does."""
        after = self._under is not None or self._block.headed or self._known.newest is not None
        if not after or not begins_evaluation(message):
            return False
        self._evaluated = not (self._evaluated and self._scored and closes_evaluation(message))
        self._scored = False
        self._block.pairs.entitle("")
        return True

    def _are_rounds(self, begins: Sequence[Slot]) -> bool:
        """Notes the heading of a round, or the counted lines below it. True if these lines are now known to be the
        steps of the round, and the lines so far are to be read again."""
        if self._known.main is not None or self._numbered.are_steps:
            return False
        numbered, names = self._numbered, list(self._block.pairs.slots)
        numbered.are_steps = numbered.ends(begins, names) if begins else numbered.are_many(names)
        self._anew = numbered.are_steps and self._past is not None and self._readings > 0
        if begins:
            numbered.begin(begins)
        return self._anew

    def _heads_block(self, count: Slot, message: str) -> bool:
        """Whether a line that reports what was done for this count begins the block of a step: no other count does, and
        there is no line above or it is worded differently and counts another step."""
        heading = self._block.heading
        if heading and heading[0].name != count.name and not _is_outer(heading[0], count):
            return False
        above = () if self._under is None else self._under.slots
        earlier = any(counter_name(slot) == counter_name(count) and slot.value != count.value for slot in above)
        if self._under is not None and not (earlier and skeleton(self._under.message) != skeleton(message)):
            return False
        return self._known.main is None or (self._known.is_main(count) and self._known.kind == "block")

    @property
    def _is_alone(self) -> bool:
        """Whether this line is not below one that may state its step, and no line is known to state a step."""
        above = self._under
        known = self._known.main is None or self._known.counts
        return known and not self._block.headed and (above is None or above.slots[0].name == COUNTED)

    def _is_at(self, count: Slot) -> bool:
        """Whether the text above states this count."""
        above = self._block.slots if self._under is None else self._under.slots
        return any(is_whole(slot) and slot.value == count.value for slot in above)

    def _is_of_sample(self, message: str) -> bool:
        """Whether a line numbers a part of the text below the heading: it counts something other than the heading, or
        an earlier line of that text did."""
        state = self._block.state
        if self._led or not (state.headed and state.sampled):
            return False
        counts = [slot for slot in slots_of(message) if is_whole(slot) and may_count(slot)]
        state.numbered |= bool(counts) and not any(map(self._is_at, counts))
        return bool(counts) and state.numbered

    def _is_of_text(self, message: str, count: Slot) -> bool:
        """Takes a line that might head the numbers of a step. True if it numbers a part of a text printed below a
        step."""
        within = not self._is_at(count) and self._block.is_within_text(message, [count])
        if within:
            self._block.state.text = self._block.state.loose = True
        return within

    def _source(self, source: str) -> None:
        """Remembers that lines of this program may state a step."""
        if len(self._sources) < MAX_SOURCES:
            self._sources.add(source)

    def _below(self, message: str, source: str, begins: Sequence[Slot] = ()) -> list[StepRow] | None:
        """Takes the numbers of a line right below a step line (or a possible one), or those of a block. `begins`: the
        counts of a heading that begins a block."""
        if self._under is not None and source in self._sources and (inner := done_within(message)):
            return self._inside(inner, source)
        if not begins and self._block.headed and (inner := done_within(message)):
            self._block.add_within(inner, source, self._at, self._time)
            return []
        named, said = titled(INDEX.sub("", message) if self._under is not None else message)
        cells, named = {} if begins else pair_cells(said), named or self._work
        if cells == {} and not begins and "." in said and (self._block.headed or self._known.main is None):
            alone = told_whole(said, least=1)  # `print("reward", x)`
            so = self._block.heads.may_have_line(alone) if self._block.headed else measures(alone, "training")
            cells = alone if so else {}
        if not cells and self._evaluated and not begins:
            cells = score_of_set(said)
        if cells:
            self._block.pairs.title = named or self._block.pairs.title_above
        if cells and (self._block.is_of_text(cells, self._led) or self._block.is_of_answer(message, cells)):
            return []
        if self._block.headed and not begins:
            self._block.among_texts(cells or {}, message)
        if cells and self._block.state.printed and measures(cells, "training"):
            self._source(source)  # a logger's numbers below a heading that was printed
        of_phase = source.lower() in either("phases", "parts", "of_training")
        below = self._under is not None or self._block.headed
        if cells and below and of_phase and self._printed and measures(cells, "training"):
            self._source(source)  # `[train] loss 0.3` below a step line or heading without any tag
        if cells and self._block.headed and not begins and self._block.told_before(cells):
            self._source(source)  # a logger prints them once more
            return []
        if cells is None or (cells and source not in self._sources and (self._under is not None or self._block.headed)):
            return []  # another program's
        if not begins and not cells and self._begins_evaluation(message):
            return []
        next_line = self._block.pairs.lines[-1:] == (self._at - 1,) and self._block.pairs.measured
        waits = bool(cells) and cells.keys() <= self._known.ahead.names
        loose = self._block.state.loose and not (next_line or waits)
        named_so = measures(cells or ()) or (named != "" and self._block.heads.may_have_line(cells or ()))
        if cells and loose and not named_so and not any(map(_names_step, as_slots(cells))):
            return []  # they belong to the other text in the block
        if begins or (self._evaluated and self._block.headed and any(map(self._is_another_step, as_slots(cells)))):
            self._evaluated = False
        of_evaluation_alone = bool(cells) and self._are_evaluated(cells)
        if self._evaluated and cells:
            self._scored = True
            of = set_of(message)
            cells = {of_evaluation(f"{of}/{name}" if of else name): x for name, x in cells.items()}
        if of_evaluation_alone:
            return [self._evaluation(cells)]
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
            own = self._under.names(None)
            if self._known.main is None and done_within(self._under.message):
                own = set()  # the step itself states them now
            told = own | (there.keys() - self._under.parts)
            short = told | {name for name in cells if name.lower() in words().statistics}  # without the title
            cells = {f"{head}/{name}" if head and name in short else name: x for name, x in cells.items()}
            cells = {name: x for name, x in cells.items() if name not in told}  # the first number of a name counts
            self._under.below = {**cells, **there} | cells
            self._under.parts -= cells.keys()
            if self._under_step is not None:
                return [StepRow(self._under_step, cells, lines=(self._at,), time=self._under.time)]
            self._under.lines = (*self._under.lines, self._at)
            return []
        over, self._under = self._under, None
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
        anew = anew or (not again and self._block.begins_anew(slots))
        above = self._above(over, begins[0].name) if begins else NOTHING
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

    def _evaluation(self, cells: dict[str, float]) -> StepRow:
        """The row of an evaluation of the newest step."""
        self._evaluation_at = self._at
        return StepRow(self._known.newest or 0, cells, lines=(self._at,), time=self._time, aside=True)

    def _are_evaluated(self, cells: dict[str, float]) -> bool:
        """Whether numbers that are not below a step are from an evaluation of the newest step: a title or their names
        say so."""
        if self._under is not None or self._block.headed or self._known.newest is None or self._known.counts:
            return False
        goes_on = self._evaluation_at == self._at - 1  # all numbers below one of an evaluation belong to it too
        told = self._evaluated and (goes_on or measures(cells, "training"))
        return told or all(map(names_evaluation, cells))

    def _inside(self, cells: dict[str, float], source: str) -> list[StepRow]:
        """Takes the numbers of a line about a part of the step above it: the last number of a name counts."""
        if self._under is None:
            if self._block.headed:
                self._block.add_within(cells, source, self._at, self._time)
            return []
        own = self._under.names(None)
        cells = self._known.ahead.keep(cells, self._at) if self._known.kind == "line" else cells
        own |= self._under.below.keys() - self._under.parts
        cells = {name: x for name, x in cells.items() if name not in own}
        self._under.below |= cells
        self._under.parts |= cells.keys()
        self._under.lines = (*self._under.lines, self._at)
        step = self._under_step
        return [] if step is None else [StepRow(step, cells, lines=(self._at,), time=self._under.time)]

    def _is_another_step(self, slot: Slot) -> bool:
        """Whether a number is the known step counter and the heading of the open block states no step or another one:
        then the heading came from another program."""
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
        if self._known.main is None and may_count(line.slots[0]) and are_set(line.slots[0].value, line.names(0)):
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

    def _above(self, over: TemplateLine | None, name: str = "") -> Above:
        """The numbers above the step line or heading that comes now. Before steps are known, a heading above these
        numbers, or a line `over` them that might state a step, may count something else, but not if its count has the
        same `name`."""
        (passed, above), self._passed = self._passed, ({}, ())
        same = bool(name) and any(slot.name == name for slot in self._block.heading)
        cells, lines = NONE if same else self._block.loose_pairs(of_heading=self._known.main is None)
        if over is not None and self._known.newest is None and self._block.heads.are_new:
            cells, lines = dict(reversed(over.below.items())) | cells, (*over.lines[1:], *lines)
        return passed | cells, (*above, *lines), frozenset(passed.keys() - cells.keys())


def _is_outer(heading: Slot, count: Slot) -> bool:
    """Whether a heading may count something that contains the step, or be a setting: its name is not that of a step,
    but the name of `count` is: `batch=256` above `Step 3 took 12 s`."""
    plain = words().counters
    return is_named(count.name, plain) and not is_named(heading.name, plain)


def _names_step(slot: Slot) -> bool:
    return is_whole(slot) and is_named(slot.name, words().counters)
