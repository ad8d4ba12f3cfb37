"""The wordings of a log's lines: which state steps, which may, and which cannot.

A skeleton is a line without its numbers. Lines of one skeleton are held back until there are enough to decide whether a
number in them counts the steps. The first counter that is found is that of the run, until lines of another form go on
counting where its lines ended. Lines that count something else belong to the step above them.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rltui.readers.console.counted_lines import COUNTED
from rltui.readers.console.evaluation_rows import names_evaluation
from rltui.readers.console.held_templates import MOST_SKELETONS, HeldTemplates
from rltui.readers.console.line_filter import remember
from rltui.readers.console.lines_beside import (
    is_of_newest_step,
    keeps_step,
    may_keep_step,
    other_parts,
    take_inner,
)
from rltui.readers.console.named_numbers import Slot, is_whole
from rltui.readers.console.open_templates import (
    FIRST_RANK,
    are_few,
    had_dicts,
    is_counted,
    may_be_of_answer,
    may_be_within,
    may_begin_anew,
    of_answers,
    only_pairs,
    pairs_above,
    waits_for_first_rank,
)
from rltui.readers.console.rival_counts import kind_of, one_by_one, told_by_others
from rltui.readers.console.step_template import (
    StepRow,
    Template,
    TemplateLine,
    counter_name,
    counter_of,
    is_about,
    is_evaluation,
    patience,
    promising,
    rises,
)
from rltui.readers.console.successors import FAR, SETTLED, StepCourse, goes_back, goes_on
from rltui.readers.console.values_above import lead
from rltui.readers.keys import place_of_step
from rltui.readers.name_words import is_named, measures, shown, words

SEEN = 3
"""Lines of one skeleton needed to call it a step line: its counter has then risen twice."""
MOST_WITHIN = 2000
"""Most lines that are kept for a step that is not known yet."""


class KnownTemplates(HeldTemplates):
    """Takes lines, blocks and table rows under the key of their skeleton, and gives the steps that they state."""

    def go_on(self) -> list[StepRow]:
        """Makes this copy the one that counts, as the lines that it took were complete. Returns the steps that are then
        known."""
        self._learns = True
        undecided, self._undecided = self._undecided, []
        return [row for kind, key, found in undecided for row in self._decide(key, found, kind)]

    def gives_up(self, key: str) -> bool:
        """Notes that lines of this skeleton, held so far, are below a step and only hold its numbers. False if they
        were not held, or cannot be read again."""
        found = self._by_key.get(key)
        if found is None or found.counter is not None or not (self.can_wait and self._learns and only_pairs(found)):
            return False
        del self._by_key[key]
        self.misread |= {key}
        return True

    def is_not_counted(self, key: str) -> bool:
        """Notes that a line of this skeleton is below one that may state its step. True if those before it were alone
        and held to be counted: all are read again, as numbers of that step."""
        found = self._by_key.get(key)
        if found is None or not (self.can_wait and self._learns and is_counted(found)):
            return False
        del self._by_key[key]
        self.misread |= {key}
        return True

    def adopts(self, key: str, line: TemplateLine) -> bool:
        """Whether a line of a new skeleton fits the known step lines; the skeleton then belongs to their template. A
        line that may be about one answer waits until more of its kind have come."""
        if may_be_of_answer(line):
            return False
        for template in self.decided:
            if template.fits(line) or is_of_newest_step(template, line):
                self._by_key[key] = template
                return True
        return False

    def pass_by(self, step: int) -> None:
        """Notes a step that others state in another way."""
        self._step = step

    def follow(self, line: TemplateLine, key: str, step: int) -> list[StepRow]:
        """Takes a step line that another reader has read. Returns the steps before it, if held lines stated them in
        another form."""
        self._step = step
        out: list[StepRow] = []
        if self.main is None:
            stated = [i for i, s in enumerate(line.slots) if is_whole(s) and s.value == step and s.name]
            counter = min(stated, key=lambda i: place_of_step(shown(line.slots[i].name)), default=None)
            if counter is None:
                self._course.add(step, line.names(None))
                return out
            out = self._before(step)
            self.main, self.kind = counter_name(line.slots[counter]), "line"
            self._followed = Template(lines=[line])
            self._followed.decide(counter)
            self._by_key[key] = self._followed
        self._course.add(step, line.names(None))
        if self._followed is not None:
            self._followed.rows([replace(line)])
        return out

    @property
    def follows(self) -> bool:
        """Whether another reader reads the lines that state the steps, and has done so for some steps."""
        return self.main is not None and self._course.stated >= SETTLED

    def goes_on_elsewhere(self, count: int) -> None:
        """Takes a step line of a settled form that another reader has read."""
        self._step = count
        self._course.add(count)
        if self._followed is not None:
            self._followed.passes(count)

    def settled(self, key: str) -> Template | None:
        """The template of a skeleton whose lines state the steps of the training; None if that is not sure yet."""
        found = self._by_key.get(key)
        sure = found is not None and found.counter is not None and not (found.prefix or found.shared)
        return found if sure and self._course.stated >= SETTLED and not self.ahead.names else None

    def goes_on(self, template: Template, count: int) -> int:
        """Takes a line of this template in a settled form. Returns its step."""
        self._step = step = template.passes(count)
        self._course.add(step)
        return step

    def _before(self, step: int) -> list[StepRow]:
        """The steps in held lines that counted up to right before this step, and not to their total, so that their
        count did not have to start again."""
        for key, counter in self._by_plan.items():
            template = self._by_key.get(key)
            if template is None or template.counter is not None:
                continue
            last = template.lines[-1].slots[counter]
            course = StepCourse.of([line.slots[counter].value for line in template.lines])
            if last.value != last.of and course.stated >= SETTLED and course.is_next(step):
                template.decide(counter)
                held, template.lines = template.lines, []
                return self._given(template, held)[template.told :]
        for key, template in self._by_key.items():
            place = None if template.counter is not None else one_by_one(template.lines, step)
            if place is not None:
                return self._settle(template, place, kind_of(key))
        return []

    def take(self, kind: str, key: str, line: TemplateLine) -> list[StepRow]:
        """Takes a line, block or row. Returns the steps that are now known."""
        if key in self._none:
            return []
        found = self._by_key.get(key)
        if found is None:
            if not promising(line.slots):
                self.reject(key)
                return []
            if len(self._by_key) >= MOST_SKELETONS:
                self._by_key = {k: t for k, t in self._by_key.items() if t.counter is not None}
            found = self._by_key[key] = Template()
        if found.counter is not None:
            line.place = self._held
            return self._given(found, [line])
        self._held += 1
        line.place, line.over = self._held, self._step
        found.lines.append(line)
        if len(found.lines) < SEEN:
            return []
        if not self._learns:
            self._undecided.append((kind, key, found))
            return []
        return self._decide(key, found, kind)

    def early(self, opened: TemplateLine | None, key: str, over: bool) -> tuple[list[StepRow], set[str]]:
        """Decides early, as the log is quiet: lines of a template that was seen only twice count if they name their
        step plainly. If the log is `over`, also lines that might have counted inside a step. Returns the rows, and the
        names in them that come from the line still `opened` under `key`."""
        out: list[StepRow] = []
        told: set[str] = set()
        rank = next((t.lines[0].rank for t in self._by_key.values() if t.lines and t.counter is None), "")
        for name, template in self._by_key.items():
            if not self._learns and not (name in self._by_plan and template.told):
                continue
            if template.counter is not None or not template.lines or template.lines[0].rank not in ("", rank):
                continue
            if are_few(template) or of_answers(template):
                continue
            newest = [opened] if opened is not None and self._by_key.get(key) is template else []
            lines = [*template.lines, *newest]
            first, seen = lines[0].slots, [line.slots for line in lines]
            waits = patience(seen) > 0 or name in self._waiting
            surely = self.main is None and len(seen) >= SEEN and (name in self._by_plan or (over and waits))
            counter = counter_of(seen, SEEN - 1 if surely else 1, [line.epoch for line in lines], over)
            if counter is None or not (surely or is_named(first[counter].name, words().counters)):
                continue
            if is_about(first, words().training) and not is_evaluation(first, counter):
                lead(template.lines, counter, self.ahead)
                early = replace(template, names=set(), epochs=template.epochs.copy())
                early.decide(counter)
                others = [t for t in self._like(early) if t is not template] if name in self._by_plan else []
                given = [line for one in (template, *others) for line in one.lines[: one.told]]
                held = [line for one in (template, *others) for line in one.lines[one.told :]]
                early.rows(sorted(given, key=lambda line: line.place))  # the rounds so far
                out += early.rows([*sorted(held, key=lambda line: line.place), *newest])
                told |= {name for line in newest for name in line.names(counter)}
                for one in (template, *others):
                    one.told = len(one.lines)
        return out, told

    def _decide(self, key: str, template: Template, kind: str) -> list[StepRow]:
        if self.main is None and key in self._by_plan and goes_on(template.lines, self._by_plan[key]):
            return []
        lines = [line.slots for line in template.lines]
        if are_few(template):
            return []
        if of_answers(template):
            del self._by_key[key]
            self.reject(key)
            remember(key, self._answers)
            return []
        if len(lines) <= 2 * SEEN and waits_for_first_rank(self._by_key, key, template):
            return []
        planned = self._by_plan.get(key) if self.main is None else None
        if self.main is None and planned is None and key in self._waiting:
            planned = counter_of(lines[:-1], SEEN - 1, [line.epoch for line in template.lines[:-1]])
        resumed = planned if planned is not None and goes_back(template.lines, planned) else None
        counter = self._counter(template, lines, kind) if resumed is None else resumed
        if resumed is None and counter is not None and self.main is None and may_begin_anew(template, counter):
            self._by_plan[key] = counter
            return []
        if self.main is None and counter is not None:
            if self._is_told(template, counter):
                del self._by_key[key]
                self.reject(key)  # their steps have lines of their own, which another reader reads
                return []
            if (told := told_by_others(self._by_key, template, counter)) is not None:
                return self._settle(*told)
        self._by_plan.pop(key, None)
        if resumed is None and self.main is None and may_be_within(self._by_key, template, counter):
            self._waiting.add(key)
            return []
        if counter is None:
            if self._may_outlive(template) and len(lines) <= self._course.stated:
                return []
            if self._may_be_stray(lines, kind) and len(lines) <= FAR:
                return []
            may_keep = self.main is not None and len(lines) <= 2 * SEEN
            if may_keep and any(measures(template.lines[0].names(i)) for i in may_keep_step(template.lines)):
                return []
            if len(lines) > max(2 * SEEN, patience(lines)) or not rises(lines):
                del self._by_key[key]
                self.reject(key)
                if self.can_wait and self.main is None and (only_pairs(template) or had_dicts(template)):
                    self.misread |= {key}
                if self.main is None and len(self._within) < MOST_WITHIN:
                    self._within += template.lines
            return []
        if (
            self.can_wait
            and self.main is None
            and not template.prefix
            and (above := pairs_above(self._by_key, template, counter))
        ):
            self.misread |= above
            return []
        return self._settle(template, counter, kind)

    def _may_outlive(self, template: Template) -> bool:
        """Whether these lines may state the steps after all: those taken for step lines were of a part before the
        training, `[sft] epoch 3 loss 1.02`, which is over."""
        return self.counts_weakly and self._newest_place < template.lines[0].place

    def _may_be_stray(self, lines: Sequence[list[Slot]], kind: str) -> bool:
        """Whether the lines in a few plain words that stated steps may be part of a text, `Step 3: time 5, length 10`,
        because these blocks with another count came more often."""
        if self._followed is None or kind != "block" or not self._course.stated < SETTLED < len(lines):
            return False
        counter = counter_of(list(lines), SEEN - 1, [0] * len(lines))
        return counter is not None and is_named(lines[0][counter].name, words().counters)

    def _outlives(self, template: Template, counter: int) -> bool:
        """Whether these lines count one by one, by a plainer counter, for longer than the earlier part did."""
        lines = template.lines
        if self._may_be_stray([line.slots for line in lines], "block" if not lines[0].message else "line"):
            same = counter_name(lines[0].slots[counter]) == self.main
            return len(lines) > (self._course.stated + SEEN if same else FAR)
        if not self._may_outlive(template) or len(lines) <= self._course.stated:
            return False
        slot = lines[0].slots[counter]
        plainer = slot.of is not None or is_named(slot.name, words().counters)
        return plainer and one_by_one(lines, int(lines[-1].slots[counter].value)) == counter

    def _is_told(self, template: Template, counter: int) -> bool:
        """Whether the newest of these lines counts the newest step that another reader has read."""
        newest = template.lines[-1].slots[counter].value
        return (
            self._step is not None
            and self._step - 1 <= newest <= self._step
            and self._course.stated > len(template.lines)
        )

    def _settle(self, template: Template, counter: int, kind: str) -> list[StepRow]:
        """Takes lines as step lines. Returns the steps that are then known."""
        lines = [line.slots for line in template.lines]
        first = lines[0]
        for key in [key for key, known in self._by_key.items() if known is template]:
            self._by_plan.pop(key, None)
        template.decide(counter)
        names = template.lines[0].names(counter)
        evaluates = bool(names) and all(map(names_evaluation, names))  # what is above does not belong to it
        if not template.prefix and self.main is None:
            self.main, self.kind = counter_name(first[counter]), kind
            self.counts = first[counter].name == COUNTED
            self._take_inner(template)
        elif not template.prefix and (self._course.is_followed_by(lines, counter) or self._outlives(template, counter)):
            self.main, self.kind = counter_name(first[counter]), kind
            self._followed, self.took_over = None, True
            self._course.begin_anew()
        if not (template.prefix or evaluates):
            like = self._like(template) if kind == "block" else []  # the first may have other names
            others = [line for one in like for line in one.lines if one is not template]
            lead(sorted([*template.lines, *others], key=lambda line: line.place), counter, self.ahead)
        template.rows(template.lines[: template.told])  # these were given out already
        held, template.lines = template.lines[template.told :], []
        held = [line for line in held if line.process == held[0].process]
        ranks = ("", FIRST_RANK, held[0].rank) if held else ("",)
        self._by_key = {k: t for k, t in self._by_key.items() if t.counter is not None or t.lines[0].rank in ranks}
        template.names = {name for line in held for name in line.names(counter)}
        held += self._siblings(template)
        if not template.part or template.prefix:
            return self._given(template, held)
        parts = other_parts(template, self._by_key.values(), counter_name(first[counter]))
        placed = [(line.place, template, line) for line in held]
        placed += [(line.place, part, line) for part in parts for line in part.lines]
        for part in parts:
            part.lines = []
        return [row for _, each, line in sorted(placed, key=lambda one: one[0]) for row in self._given(each, [line])]

    def _counter(self, template: Template, lines: Sequence[list[Slot]], kind: str) -> int | None:
        """The place of the number that states the step in these lines; None if there is none. In lines of an evaluation
        it must be near the training's step."""
        first = lines[0]
        counter = counter_of(list(lines), SEEN - 1, [line.epoch for line in template.lines])
        if counter is None and self.main is not None:  # it went back, as the steps did
            told = (i for i in may_keep_step(template.lines) if measures(template.lines[0].names(i)))
            counter = next((i for i in told if keeps_step(template.lines, i)), None)
            template.keeps = counter is not None
        if counter is None:
            return None
        if template.lines[0].is_labelled_evaluation or is_evaluation(first, counter):
            template.prefix = "eval/"
            near = self._step is not None and lines[-1][counter].value <= self._step + 1
            return counter if near and is_named(first[counter].name, words().counters) else None
        if (self.main, self.kind) not in ((None, ""), (counter_name(first[counter]), kind)):
            newest = lines[-1][counter].value
            of_step = self.main == counter_name(first[counter]) and self._step in (newest, newest - 1)
            beside = of_step and is_named(first[counter].name, words().counters)
            measured = any(t.names for t in self.decided)  # a heading has its numbers below it
            beside = beside or (measured and keeps_step(template.lines, counter))
            if not beside and not self._course.is_followed_by(lines, counter) and not self._outlives(template, counter):
                return None  # a second count beside the one that states the step
        return counter

    def _take_inner(self, template: Template) -> None:
        """Gives held lines that count something else to the step above them."""
        inner, self._within = self._within, []
        for key, other in list(self._by_key.items()):
            if other.counter is not None or not other.lines or not self.is_beside(other.lines[0]):
                continue
            inner += other.lines
            del self._by_key[key]
            self.reject(key)
        take_inner(template.lines, sorted(inner, key=lambda line: line.place))

    def _siblings(self, template: Template) -> list[TemplateLine]:
        """The held lines of other skeletons that fit this template. These skeletons belong to it from now on."""
        like = self._like(template)
        own = {id(other) for other in like}
        self._by_key = {key: template if id(other) in own else other for key, other in self._by_key.items()}
        return [line for other in like for line in other.lines[other.told :]]

    def _given(self, template: Template, lines: list[TemplateLine]) -> list[StepRow]:
        """The rows of these lines, in the order in which they came."""
        rows = template.rows(sorted(lines, key=lambda line: line.place))
        if rows and not template.prefix:
            self._newest_place = max(line.place for line in lines)
            self._step = rows[-1].step
            for row in rows:
                self._course.add(row.step, row.cells)
        return rows
