"""Step lines of a trainer without a dialect. Lines that name their step are read at once, others after they recur.
Lines of an evaluation are kept apart, so that their numbers are not taken for those of training steps."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from rltui.readers.console import sample_lines
from rltui.readers.console.bracketed_groups import named_in_full
from rltui.readers.console.courses import form_of
from rltui.readers.console.evaluation_rows import evaluated
from rltui.readers.console.generic import dict_line, step_line
from rltui.readers.console.glued_lines import glued
from rltui.readers.console.group_words import grouped
from rltui.readers.console.heading_forms import ends_text
from rltui.readers.console.held_words import HeldWords
from rltui.readers.console.lead import (
    Lead,
    bare,
    counts_updates,
    is_said,
    program,
    split_lead,
    tells_best,
    without_lead,
)
from rltui.readers.console.line_filter import PROSE, is_prose, remember
from rltui.readers.console.line_pairs import MAX_BLOCK
from rltui.readers.console.line_rounds import named_rounds
from rltui.readers.console.outer_loops import epoch_in, in_words, last_tag
from rltui.readers.console.plain_lines import of_evaluation, pairs
from rltui.readers.console.scores_in_words import begins_text
from rltui.readers.console.settings_above import are_set
from rltui.readers.console.settled_form import LineNumbers, LineReading
from rltui.readers.console.settled_readings import reading_of_block, reading_of_line
from rltui.readers.console.stating_processes import OTHER_RANK
from rltui.readers.console.step_block import StepBlock
from rltui.readers.console.step_template import NAMED_TWICE, StepRow, part_tag
from rltui.readers.console.successors import OUTER
from rltui.readers.console.tagged_lines import is_of_answer, tagged, without_texts
from rltui.readers.console.trainings import training_of
from rltui.readers.console.units import with_units
from rltui.readers.epochs import epoch_of, round_of
from rltui.readers.keys import first_of
from rltui.readers.name_words import measures
from rltui.readers.number_text import has_decimal_comma, without_gaps
from rltui.readers.units import has_number

SHOWN = 2
"""After this many lines with a decimal comma all commas of the log are decimal: one alone may be a list, `GPUs
10,11`."""
STATED_TWICE = "line that states other values for a step than another line of it"
INDENT = ("  ", "\t")
"""What a program puts before the further lines of one message."""


class OwnWords(HeldWords):
    """Takes lines in file order. A row without cells only gives the log's current step."""

    def _evaluation(self, said: str | None) -> list[StepRow]:
        """The row in the text of a line from an evaluation, if there is one: at the step that it states, else at that
        of the open block, below its heading, else at the newest."""
        heading = None if said is None or self._learner is None else self._learner.heading_step
        row = None if said is None else evaluated(said, self._step() if heading is None else heading)
        return [] if row is None else [replace(row, lines=(self.at,), time=self._time)]

    def _are_settings(self, said: str | None) -> bool:
        """Whether a line of an evaluation without a row holds its settings."""
        told = {} if said is None else pairs(said)
        return bool(told) and (self._step() >= 0 or not measures(told))

    def named(self, raw: str, shape: bytes, prefix: str, step: int | None, behind: bool) -> tuple[list[StepRow], bool]:
        """Takes a line with a word for a step, after Ray's `prefix`. `behind`: it comes after a bar. `step`: the newest
        one. Returns its rows, and whether it is a step line."""
        self.reading = None
        if is_prose(raw):
            return [], False
        raw = in_words(without_texts(raw))
        lead = split_lead(raw)
        self._time = self._clock.of(lead.before)
        self._note_text(lead)
        self.belongs = self._processes.foreign(lead)
        if self.belongs:
            self._skip(OTHER_RANK)
            return [], True
        if is_said(lead) or tells_best(lead) or counts_updates(lead) or self._is_before(lead):
            return [], False
        if self._samples.has(raw) or is_of_answer(lead.message):
            self._skip(sample_lines.LINE)
            return [], True
        said = self._evaluations.said(lead, self._step())
        if evaluation := self._evaluation(said):
            return evaluation, True
        if self._are_settings(said):
            return [], False
        if parts := glued(raw, self._heads.head):
            each = [self.named(part, shape, prefix, step, behind)[0] for part in parts]
            self.reading = None
            return [row for rows in each for row in rows], True
        first = not behind and self._learner is not None and self._learner.knows_steps
        rows = self._line(raw, shape, prefix, lead, said) if first else []
        if rows and self._block is not None:
            self._block.over = True  # the next lines belong to that line
        text = self._unwrapped(raw, labelled="Worker" not in prefix)
        told = None
        if not (first or behind) and self._learner is not None and self._learner.counts_inside(raw):
            self._put_off = (*self._put_off[1 - OUTER :], (text, self.at, self._time))
        else:
            rows = [*rows, *self._no_parts(prefix, step)]
            told = self._plain(text, prefix, step)
        if told is not None:
            self.belongs = True
            return [*rows, *self._processes.rows(lead, prefix, told)], True
        if not rows and not first:
            rows = self._line(raw, shape, prefix, lead, said)
        return rows, bool(rows)

    def _no_parts(self, prefix: str, step: int | None) -> list[StepRow]:
        """The rows of lines that might have counted inside a step, and are now known to state one."""
        if not self._put_off or self._learner is None or self._learner.counts_inside(self._put_off[0][0]):
            return []
        lines, self._put_off = self._put_off, ()
        now, rows = (self.at, self._time), list[StepRow]()
        for text, self.at, self._time in lines:
            rows += self._plain(text, prefix, step) or ()
        self.at, self._time = now
        return rows

    def resume(self) -> None:
        """Takes note that the program says that it goes on from a checkpoint. The step that it names is one from
        before."""
        self.other()
        if self._learner is not None and self._step() < 0:
            self._learner.resumed = True

    def line(self, raw: str, shape: bytes, prefix: str) -> list[StepRow]:
        """Takes any other line. Step lines of any wording are recognised by how they recur. Returns its rows."""
        self.reading = None
        if is_prose(raw):
            return []
        raw = in_words(without_texts(raw))
        learner = self._learner
        if parts := glued(raw, self._heads.head):
            if is_said(split_lead(raw)):
                return []
            return [row for part in parts for row in self.line(part, shape, prefix)]
        if shape in self._never and not (learner is not None and learner.is_open):
            return []  # true for most lines
        lead = split_lead(raw)
        self._time = self._clock.of(lead.before)
        self._note_text(lead)
        if is_said(lead) or is_of_answer(lead.message) or self._is_before(lead):
            return []
        said = self._evaluations.said(lead, self._step())
        if evaluation := self._evaluation(said):
            return evaluation
        return [] if self._are_settings(said) else self._line(raw, shape, prefix, lead, said)

    def _note_text(self, lead: Lead) -> None:
        """Takes note of a line that begins a text, or that is none of it: a logger wrote it, or it is a rule."""
        if begins_text(lead.message):
            self._in_text = True
        elif lead.before.strip() or ends_text(lead.message):
            self._in_text = False

    def _is_before(self, lead: Lead) -> bool:
        """Takes a line above all steps if it tells scores of the model before training. True if it does."""
        return self._step() < 0 and self._before.take(lead.message, self.at, self._time)

    def with_scores_before(self, rows: list[StepRow]) -> list[StepRow]:
        """These rows; if they are the first, that of the model before training is before them."""
        return self._before.give(rows)

    def _line(self, raw: str, shape: bytes, prefix: str, lead: Lead, said: str | None) -> list[StepRow]:
        """Takes a line that is neither settings nor an evaluation at a known step. `said`: its text as an evaluation at
        an unknown step, if it is one."""
        learner = self._learner
        if shape in self._never and not (learner is not None and learner.is_open):
            return []
        if said is not None and (found := pairs(said)):  # its step is not known yet
            raw = ", ".join(f"{of_evaluation(name)}={x!r}" for name, x in found.items())
        if learner is None or is_prose(raw):
            return []
        if "Worker" in prefix and not self._processes.trains(prefix):
            return []  # one of many processes, each with its own count
        if self._processes.foreign(lead):
            return []
        indented = raw.startswith(INDENT)
        raw = self._unwrapped(raw.strip())
        message = self._heads.whole(raw, without_lead(raw))
        rows = learner.take(message, prefix, self.at, self._time, indented, training_of(lead))
        if rows or learner.likely:
            self._heads.keep(raw, without_lead(message))
        if rows is None:
            stays = said is not None or learner.is_title  # an evaluation may come before its step
            if shape and not (stays or begins_text(message)):
                remember(shape, self._never)
            return []
        given = rows[0] if len(rows) == 1 else None
        rows = [one for row in rows for one in self._as_usual(row)]
        if given is not None and len(rows) == 1 and rows[0].cells == given.cells:
            self.reading = None if prefix else self._reading_of(given, lead)
        ended = self.close() if any(not row.aside for row in rows) else []  # an evaluation does not end its step
        return [*ended, *self._processes.rows(lead, prefix, rows)] if rows else []

    def _reading_of(self, row: StepRow, lead: Lead) -> LineReading | None:
        """What was made of a line whose template gave this row; None if lines of its form may be read otherwise."""
        known = None if self._learner is None or self._block is not None else self._learner.settled
        if known is None or row.lines != (self.at,) or not self._wordings.is_usual:
            return None
        self._lead = lead
        return reading_of_line(row, *known, lead.before) if self._labels.may_be(known[0].count(known[1])) else None

    def stands_at(self, line: int, like: LineReading) -> bool:
        """Whether nothing came since the line with this number, which was read so."""
        if like.below:
            return self._block is not None and self._block.at == line and not self._block.lines
        known = None if self._learner is None or self._block is not None else self._learner.settled
        return known is not None and known[1].lines == (line,)

    def goes_on(self, like: LineReading, told: LineNumbers) -> list[StepRow]:
        """Takes a line of a settled form, right below one of that form whose reading was `like`. Returns its rows."""
        block, self._time = self._block, self._clock.of(told.before)
        kind: dict[str, Any] = {"training": like.training, "form": like.form}
        if not like.below or block is None:
            step = told.stated if self._learner is None else self._learner.goes_on(told.stated)
            self._wordings.goes_on(step)
            row = StepRow(step, told.cells, like.total, (self.at,), self._time, lost=like.lost, **kind)
            return self._processes.rows(self._lead, "", [row])
        closed = StepRow(block.step, block.cells, time=block.time, **kind)
        self._wordings.goes_on(told.stated)
        self._last[block.form] = told.stated, self._last[block.form][1]
        block.step, block.cells = self._epochs.goes_on(told.stated), told.cells
        block.time, block.at = self._time, self.at
        if self._learner is not None:
            self._learner.goes_on_elsewhere(told.stated)
        self._below_heads.begin()
        return self._processes.rows(self._lead, "", [closed, StepRow(block.step, {}, block.total, **kind)])

    def went_on_to(self, text: str) -> None:
        """Takes the text of the newest line that `goes_on` took."""
        if self._block is not None:
            self._block.message = self._unwrapped(text)

    def _as_usual(self, row: StepRow) -> list[StepRow]:
        """A row without numbers that lines of another wording usually state, behind those that count after all."""
        if not row.message:
            return [row]
        told = self._wordings.told(row.message, row.step, row.cells, max(row.lines, default=0), row.time)
        return [*self._late(), replace(row, cells=told)]

    def _late(self) -> list[StepRow]:
        """Rows of lines in other words that count after all, as the run goes on in these."""
        return [
            StepRow(one.step, one.cells, lines=(one.at,) if one.at else (), time=one.time, message=one.message)
            for one in self._wordings.late()
        ]

    def _plain(self, message: str, prefix: str, step: int | None) -> list[StepRow] | None:
        """The rows that are known with a line that names its step in plain words; None for any other line."""
        logged = dict_line(message) if "{" in message else None
        if logged is not None:
            row = StepRow(self._of_epoch(*logged), logged[1], time=self._time)
            if self._learner is not None:
                self._learner.pass_by(row.step)
            other = self._block is not None and self._block.step != row.step
            return [*(self.close() if other else ()), row]
        if len(message) > PROSE:
            return None
        begun = step_line(self._heads.whole(message, bare(message)))
        block = self._block
        if begun is not None and self._in_text and form_of(message) not in self._last:
            return None  # a text may number its parts; step lines of this form are learned
        self._in_text &= begun is None
        if begun is None or not self._stated.believes(
            begun, step, self._learner is not None and self._learner.counts_weakly
        ):
            if block is None or begun is not None:
                return None
            if self._learner is not None and self._learner.may_take_over(message):
                block.over = True
                return None
            block.lines += 1
            if block.lines > MAX_BLOCK:
                return self.close() or None
            self.belongs = block.line(message, prefix)
            return None
        begun.message, begun.form = message, form_of(message)
        went_back = self._goes_back(begun)
        led = message[: len(message) - len(bare(message))]
        begun.part = part_tag(led)
        told = begun.cells
        if not begun.part:
            told = self._wordings.told(message, begun.step, dict(begun.cells), self.at, self._time)
        late = self._late()
        if begun.cells and (not measures(told) or (step is None and are_set(begun.step, told))):
            return None
        begun.cells = told
        if not self._processes.tells(split_lead(message).rank, told):
            self._skip(OTHER_RANK)
            return []
        for _ in range(begun.twice):
            self._skip(NAMED_TWICE)
        self._stated.whole(begun)
        self._heads.keep(message, bare(message))
        earlier = [] if self._learner is None else self._learner.follow(message, begun.step)
        count = begun.step
        begun.step = self._of_epoch(count, begun.cells, begun.total, epoch_in(last_tag(led)))
        begun.total = None if self._epochs.base else begun.total
        if block is not None and block.step == begun.step and (block.form == begun.form or not went_back):
            same = block.source == prefix + program(split_lead(message))
            parts = {block.part, begun.part} - {""}
            if len(parts) < 2 and any(block.cells.get(name, x) != x for name, x in begun.cells.items()):
                self._skip(STATED_TWICE)
            block.join(begun, same)
            return [*earlier, *late]
        if block is not None:
            block.go_on(begun, {} if self._learner is None else self._learner.pairs_since(block.at))
        elif self._learner is not None and begun.cells and not self._processes.told:
            begun.above = self._learner.above
            begun.before, begun.resumed = frozenset(begun.above), self._learner.resumed
        closed, self._block, begun.time, begun.at = self.close(), begun, self._time, self.at
        self._below_heads.begin()
        lead = split_lead(message)
        begun.source = prefix + program(lead)
        begun.led = lead if program(lead) else None
        begun.printed, begun.lines_below = begun.headed and not lead.before, self._below_heads
        begun.known = frozenset(self._below)
        if block is not None and not (earlier or late) and not prefix and told == begun.cells:
            self.reading = self._reading_of_block(count, begun, block, lead)
        return [*earlier, *closed, *late, StepRow(begun.step, {}, begun.total, message=begun.message)]

    def _reading_of_block(self, count: int, begun: StepBlock, before: StepBlock, lead: Lead) -> LineReading | None:
        """What was made of a line that states a step and its numbers; None if lines of its form may be read
        otherwise."""
        if not (self._wordings.is_usual and self._labels.may_be(count)):
            return None
        if self._learner is not None and not self._learner.follows:
            return None
        self._lead = lead
        return reading_of_block(count, begun, before, lead.before, self._epochs)

    def _of_epoch(self, count: int, cells: dict[str, float], total: int | None = None, led: int | None = None) -> int:
        """The step of a line that names `count`, which may start again in each epoch. `led`: the epoch in its lead."""
        key: int | str | None = first_of("epoch", cells)
        above = None if self._learner is None else self._learner.epoch
        above = above if led is None else led
        if key is None and above is None:
            titles = {} if self._learner is None else self._learner.titles
            key = round_of(cells) or self._epochs.round_beside(count, partial(named_rounds, cells, titles))
            above = titles.get(key) if key is not None else None
        epoch = epoch_of(cells[key]) if isinstance(key, str) and key in cells else above
        return self._epochs.step(0 if epoch is None and self._epochs.last is None else epoch, count, total)

    def _goes_back(self, begun: StepBlock) -> bool:
        """Whether the steps in lines like this or like that of the open block ever went back: of two lines with the
        same count one may count something else."""
        newest, back = self._last.get(begun.form, (begun.step, False))
        back |= begun.step < newest
        if len(self._last) < MAX_BLOCK:
            self._last[begun.form] = begun.step, back
        return back or (self._block is not None and self._last.get(self._block.form, (0, False))[1])

    def _unwrapped(self, raw: str, labelled: bool = True) -> str:
        if not has_number(raw):
            return without_gaps(raw)
        self._commas += has_decimal_comma(raw)
        text = tagged(named_in_full(with_units(raw, self._commas >= SHOWN)))
        return grouped(self._labels.told(text) if labelled else text)
