"""Lines of one wording that state steps: which of their numbers is the counter, what is known of them, and the rows
that they give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from math import nan

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.forms import Forms, form_of
from rltui.readers.console.line_rounds import Rounds, rounds_before, rounds_beside
from rltui.readers.console.named_numbers import NUMBER, Slot, is_whole, slots_of, told_by
from rltui.readers.console.plain_lines import counts_within
from rltui.readers.epochs import CountsByEpoch, round_of
from rltui.readers.keys import place_of_step
from rltui.readers.name_words import either, has_word, is_named, last_word, shown, words

BY_COURSE = 5
"""Lines after which a number without a known name is a counter, if it rises evenly from line to line."""


NEARER = 1.5
"""Two counters of the whole run reach their totals together. If one is this many times as near to its total, it counts
inside the other."""
WITHIN = 130
"""Most lines inside one step: after that many, a number with the name of a step is not waited for any longer."""
MISSED = 3
"""Most strides between two lines: lines between them may have other words."""
NAMED_TWICE = "number with the name of another one in its line"
"""Why a number is left out."""
_SET_RIGHT = lazy(r"(?<=[\[(<=:|]) #")
_BAR = lazy(r"\[[=>.\-\s]{5,}\]|[━╸╺╾█▉▊▋▌▍▎▏░▒▓][━╸╺╾█▉▊▋▌▍▎▏░▒▓ ]+")
"""A progress bar, which grows from line to line."""
_TAG = lazy(r"[\[(<]\s*([A-Za-z]+)\s*[\])>]\W*$")
_LABEL = lazy(r"(?<=[=:])( ?)([^\W\d][\w./@\-]*)(?=\s*(?:[|│┃,;)\]}]|$)|\s+[\w./@\-]+=)")
"""A word in place of a number: `scenario=easy_2 | loss=0.3`, `phase: warmup, loss: 0.3`."""


def counter_name(slot: Slot) -> str:
    return last_word(slot.name) or "/"


def is_about(slots: list[Slot], wanted: frozenset[str]) -> bool:
    """Whether a name holds one of these words and is not a sentence."""
    return any(has_word(slot.name, wanted) and not has_word(slot.name, words().prose) for slot in slots)


def is_evaluation(slots: list[Slot], counter: int) -> bool:
    return any(has_word(slot.name, words().evaluation) for slot in slots[: counter + 1])


def promising(slots: list[Slot]) -> bool:
    """Whether a line can be a step line: it has a counter, and a named number."""
    if counts(slots) and any(s.name for s in slots):
        return True
    return any(_by_course(slots, i) for i in range(len(slots)))


def counts(slots: list[Slot]) -> bool:
    """Whether a whole number has a name for steps or a total."""
    return any(is_whole(s) and (s.of is not None or may_count(s)) for s in slots)


def _by_course(slots: list[Slot], i: int) -> bool:
    """Whether a number may be a counter without a known name: it comes first or has an unknown name, and other numbers
    are metrics."""
    slot = slots[i]
    if not is_whole(slot) or (not slot.name and i):
        return False
    known = words()
    others_count = (known.items, known.places, known.evaluation, known.durations, known.amounts)
    if any(has_word(slot.name, w) for w in others_count):
        return False
    if has_word(slot.name, known.training) or has_word(slot.name, known.statistics):
        return False
    others = [s for j, s in enumerate(slots) if j != i]
    return is_about(others, known.training) and not any(may_count(s) for s in others)


def counted_unnamed(message: str) -> list[Slot]:
    """The numbers of a line that begins with a whole one without a name, which may count it, and then holds what is
    measured: `1 | reward 0.3`. Empty for any other line."""
    slots = slots_of(message)
    return slots if len(slots) > 1 and not slots[0].name and _by_course(slots, 0) else []


def epoch_beside(slots: list[Slot], counter: int) -> int | None:
    """Place of the whole number that tells the epoch, or else the round, in which the counter of a line counts; None if
    there is none."""
    others = [(i, slot.name) for i, slot in enumerate(slots) if i != counter and is_whole(slot)]
    epoch = next((i for i, name in others if last_word(name) == "epoch"), None)
    if epoch is None and _is_plain(slots[counter]) and (named := round_of(name for _, name in others)) is not None:
        epoch = next(i for i, name in others if name == named)
    return epoch


def may_count(slot: Slot) -> bool:
    """Whether a number has a name for steps or other progress; not `n_steps`, which is an amount."""
    return _is_plain(slot) or (is_named(slot.name, words().weak_counters) and not has_word(slot.name, words().amounts))


def _is_plain(slot: Slot) -> bool:
    return is_named(slot.name, words().counters) and not has_word(slot.name, words().amounts)


def _measured(slots: list[Slot]) -> bool:
    """Whether several named numbers look like measurements, whatever their names: they have decimals."""
    return sum("." in slot.text and not has_word(slot.name, words().prose) for slot in slots) > 1


def rises(lines: list[list[Slot]]) -> bool:
    """Whether a whole number in these lines may still be a counter: it rose, or it has the name of a step and did not
    change."""
    return any(
        all(len(line) > i and is_whole(line[i]) for line in lines)
        and (lines[-1][i].value > lines[0][i].value or (_is_plain(slot) and lines[-1][i].value == lines[0][i].value))
        for i, slot in enumerate(lines[0])
    )


def counter_of(lines: list[list[Slot]], fewest: int, epochs: list[int], over: bool = False) -> int | None:
    """Place of the number that counts the steps; None if there is none. It is whole, never falls (but may start again
    if the epoch rises), rose at least `fewest` times, and has the name of a step or a total. One whose name says that
    it counts over all (`global_step`) wins, then the one that rises most often, then the one with the plainer name,
    then the one whose name comes first among the keys of steps, as in a table with these columns. One that counts
    inside the steps of another is taken only if that one is not found. Else it is a number that rises evenly
    (`BY_COURSE`). `epochs`: of each line, from the heading above it. `over`: no more lines come."""
    first = lines[0]
    found: list[tuple[bool, bool, int, int, int, int]] = []
    for i, slot in enumerate(first):
        if not all(len(line) > i and is_whole(line[i]) for line in lines):
            continue
        if slot.of is not None and all(line[i].value == line[i].of for line in lines):
            continue  # a bar at its end
        plain, weak = _is_plain(slot), may_count(slot)
        planned = slot.of is not None and not has_word(slot.name, either("items", "shares", "inner"))
        if not (plain or weak or planned):
            continue
        others = [s for j, s in enumerate(first) if j != i and s.name and not may_count(s)]
        wanted = either("training", "durations") if plain else words().training
        if not is_about(others, wanted) and not (plain and len(lines) >= BY_COURSE and _measured(others)):
            continue
        epoch = epoch_beside(first, i)
        if epoch is not None and not all(len(line) > epoch and is_whole(line[epoch]) for line in lines):
            epoch = None
        if epoch is None:
            epoch = rounds_before(lines, i)
        above = epochs if epoch is None else [line[epoch].value for line in lines]
        values = [(e, line[i].value) for e, line in zip(above, lines, strict=True)]
        rises = sum(1 for a, b in pairwise(values) if b > a)
        if not (plain or weak) and is_about(first[:i], words().training) and rises < BY_COURSE - 1:
            continue  # after the numbers it may be a share of something: `rewards [..] (1/2 valid)`
        if rises >= fewest and all(b >= a for a, b in pairwise(values)):
            named = 0 if plain else 1 if slot.of is not None else 2
            part_of_all = not (plain and has_word(slot.name, words().overall))
            found.append((_is_inner(lines[-1], i), part_of_all, -rises, named, place_of_step(shown(slot.name)), i))
    if found:
        inner, *_, best = min(found)
        surely = _is_plain(first[best]) and not inner
        return best if surely or len(lines) >= patience(lines, over) else None
    even = [i for i in range(len(first)) if _by_course(first, i) and _even(lines, i, epochs)]
    return min(even, key=lambda i: (not _is_plural(first[i]), i), default=None)


def _is_inner(slots: list[Slot], i: int) -> bool:
    """Whether a number counts inside a step that another number with the name of a step states: its own name says so,
    or it is nearer to the end of a smaller total."""
    slot, known = slots[i], words().inner
    for other in slots:
        if other is slot or not is_whole(other) or not _is_plain(other):
            continue
        if has_word(slot.name, known) and not has_word(other.name, known):
            return True
        if last_word(other.name) in words().outer and last_word(slot.name) in words().steps:
            continue  # `iter 3/15 step 2/6`: it counts the rounds of these steps
        if slot.of and other.of and slot.of < other.of and slot.value * other.of > NEARER * other.value * slot.of:
            return True
    return False


def patience(lines: list[list[Slot]], over: bool = False) -> int:
    """How many lines to wait for if a number with the name of a step has risen at most once: the others may count
    inside a step, `step 3/30, micro 1/4`. If it has no total, the wait lasts until the others would start again."""
    stands = [
        slot
        for i, slot in enumerate(lines[0])
        if _is_plain(slot) and all(len(line) > i and is_whole(line[i]) for line in lines)
        if slot.value <= lines[-1][i].value <= slot.value + 1
    ]
    if any(slot.of is not None and slot.value < slot.of for slot in stands):
        return WITHIN
    if over:
        return 0
    others = [i for i, slot in enumerate(lines[0]) if slot not in stands]
    longest = max((lines[0][i].of or _cycle(lines, i) for i in others), default=0)
    return min(2 * longest + 2, WITHIN) if stands and longest else 0


def _cycle(lines: list[list[Slot]], i: int) -> int:
    """How many parts of a step a number without a total counts, and one more: it goes up one by one, `mb 0` to `mb 3`,
    and may start again. 0 if it does not."""
    if not all(len(line) > i and is_whole(line[i]) for line in lines):
        return 0
    counts = [int(line[i].value) for line in lines]
    steady = all(b - a == 1 or b <= 1 for a, b in pairwise(counts)) and counts[0] <= 1
    return max(counts) + 2 if steady and max(counts) < WITHIN else 0


def _is_plural(slot: Slot) -> bool:
    """Whether the name of a number is that of a counter in the plural, `iterations`; a rate may rise as evenly."""
    return last_word(slot.name).removesuffix("s") in either("counters", "weak_counters")


def _even(lines: list[list[Slot]], i: int, epochs: list[int]) -> bool:
    """Whether a number rises evenly over enough lines, except for a few missing lines. It may start again with an
    epoch."""
    if len(lines) < BY_COURSE or not all(len(line) > i and is_whole(line[i]) for line in lines):
        return False
    rises = zip(pairwise(lines), pairwise(epochs), strict=True)
    strides = [b[i].value - a[i].value for (a, b), (old, new) in rises if new <= old or b[i].value > a[i].value]
    usual = min(strides, default=0.0)
    return usual > 0 and 2 * strides.count(usual) >= len(strides) and max(strides) <= MISSED * usual


class StepRow(Struct, frozen=True):
    """The row of a step line. `total`: the planned steps, if stated. `lines`: numbers of the lines that it was made of,
    if known. `time`: of the line with the step, NaN without a time stamp. `aside`: it does not change the log's current
    step. `lost`: how many of its numbers have no name; `twice`: how many have the name of another one. `message`: its
    text, "" for a block or an unknown line. `training`: the one that its lead names, if it is not in the text. `form`:
    what tells such lines from others (see `courses`), if it is known without the text."""

    step: int
    cells: dict[str, float]
    total: int | None = None
    lines: tuple[int, ...] = ()
    time: float = nan
    aside: bool = False
    lost: int = 0
    twice: int = 0
    message: str = ""
    training: str = ""
    form: str = ""


class TemplateLine(Struct):
    """A line that may be a step line: its numbers (`slots`), those of `name: number` lines right `below` it, and those
    right `above` that belong to no other line, with the names of those that are `passed`: words stand between.
    `message`: its text, "" for a block or a table row. `place`: its number among all held lines. `rank`, `process`: who
    wrote it. `epoch`: of the heading above it. `lines`: line numbers in the file. `time`: when it was written.
    `training`: the one that its words name. `over`: the step that was known as it came.
    `ends`: it is a block whose heading says that the step is over. `inner`: it may count inside a step, which the next
    step shows. `parts`: the names below it that lines about a part of the step told."""

    slots: list[Slot]
    message: str = ""
    place: int = 0
    rank: str = ""
    epoch: int = 0
    process: str = ""
    below: dict[str, float] = field(default_factory=dict)
    above: dict[str, float] = field(default_factory=dict)
    above_lines: tuple[int, ...] = ()
    passed: frozenset[str] = frozenset()
    titles: Rounds = field(default_factory=dict)
    lines: tuple[int, ...] = ()
    time: float = nan
    training: str = ""
    over: int | None = None
    ends: bool = False
    inner: bool = False
    parts: frozenset[str] = frozenset()

    def head(self, counter: int) -> str:
        """Its words up to the counter; "" if there is no whole number."""
        if counter >= len(self.slots) or not is_whole(self.slots[counter]):
            return ""
        if not self.message:
            return key_of("", self.slots[: counter + 1])
        return self.rank + ":" + skeleton(self.message[: self.slots[counter].end])

    @property
    def is_labelled_evaluation(self) -> bool:
        """Whether a label says that its numbers are from an evaluation: `split=val`."""
        return any(has_word(word, words().evaluation) for _, word in _LABEL.findall(self.message))

    def names(self, counter: int | None) -> set[str]:
        """The names of its numbers, without that of the counter."""
        return {slot.name for i, slot in enumerate(self.slots) if i != counter and slot.name}


class Template(Struct):
    """What is known of a skeleton. `counter`: the place of its counter. `lines`: held back until that is known. `told`:
    how many of them were already given out, as the log was quiet."""

    lines: list[TemplateLine] = field(default_factory=list)
    counter: int | None = None
    epoch: int | None = None
    prefix: str = ""  # put before the names of its numbers
    keeps: bool = False  # its lines tell more of the step that others state
    plan: int | None = None  # the total of its counter
    part: str = ""  # the part of the step, before its counter: `critic step 3`
    shared: frozenset[str] = frozenset()  # names that lines of another part have too
    told: int = 0
    head: str = ""  # the words up to the counter
    names: set[str] = field(default_factory=set)  # of its other numbers
    epochs: CountsByEpoch = field(default_factory=CountsByEpoch)  # the counts so far

    def copy(self) -> Template:
        """A copy that takes lines without changing this one."""
        lines = [replace(line, below=dict(line.below)) for line in self.lines]
        return replace(self, lines=lines, names=set(self.names), epochs=self.epochs.copy())

    def count(self, line: TemplateLine) -> int:
        """The count of a line."""
        return int(line.slots[self.counter or 0].value)

    def passes(self, count: int) -> int:
        """Takes a line of a settled form, of the same epoch as the line before. Returns its step."""
        return self.epochs.goes_on(count)

    def decide(self, counter: int) -> None:
        """Sets the place of the counter."""
        first = self.lines[0]
        self.epoch = epoch_beside(first.slots, counter)
        if self.epoch is None:
            self.epoch = rounds_before([line.slots for line in self.lines], counter)
        self.counter, self.head, self.plan = counter, first.head(counter), first.slots[counter].of
        self.part = part_of(first.slots[counter].name)

    def fits(self, line: TemplateLine) -> bool:
        """Whether a line with other words belongs to this template: it begins alike, counts on from the newest line,
        and has the same names or metrics."""
        if not self._begins(line) or (line.is_labelled_evaluation and not self.prefix):
            return False
        names = line.names(self.counter)
        shared = names & self.names
        if len(shared) > 1 and len(names - shared) < 2:
            return True
        near = self.epoch is not None or self.is_next(line) or self._begins_round(line)
        return near and (bool(shared) or is_about(line.slots, words().training))

    def _begins(self, line: TemplateLine) -> bool:
        """Whether a line has the same words up to the counter, and the same plan."""
        if self.counter is None or not self.head or line.head(self.counter) != self.head:
            return False
        return line.slots[self.counter].of == self.plan

    def _begins_round(self, line: TemplateLine) -> bool:
        beside = partial(rounds_beside, line.slots, self.counter or 0, line.titles)
        return self.epochs.begins_round(self.count(line), beside)

    def is_next(self, line: TemplateLine) -> bool:
        """Whether a line begins alike and counts the newest step or the next."""
        if not self._begins(line):
            return False
        last = self.epochs.last
        ahead = 0 if last is None else self.count(line) - last[1]
        return 0 <= ahead <= 2 * max(self.epochs.stride, 1)

    def rows(self, lines: Iterable[TemplateLine]) -> list[StepRow]:
        """The rows of its lines, in their order."""
        out = []
        for line in lines:
            slots, counter = line.slots, self.counter
            if counter is None or len(slots) <= counter or not is_whole(slots[counter]):
                continue
            count, total = int(slots[counter].value), slots[counter].of
            epoch, epochs, rounds = line.epoch or None, None, None
            if self.epoch is None and epoch is None:
                rounds = self.epochs.round_beside(count, partial(rounds_beside, slots, counter, line.titles))
                self.epoch = rounds if isinstance(rounds, int) else None
            at = self.epoch if self.epoch is not None and self.epoch < len(slots) else None
            if at is not None:
                epoch, epochs = int(slots[at].value), slots[at].of
            elif rounds is not None:
                epoch = line.titles.get(rounds)
            step = self.epochs.step(line.epoch if epoch is None and rounds is None else epoch, count, total)
            if self.keeps:
                step = count if line.over is None else line.over
            if self.epochs.base and total is not None:
                total = total * epochs if epochs else None
            if len(self.names) < 400:
                self.names |= line.names(counter)
            epoch_at = at if at is not None and last_word(slots[at].name) == "epoch" else None
            own = cells_of(slots, (counter, epoch_at), self.prefix)
            cells = own | line.below | own  # what the line itself tells counts
            plan = None if self.prefix else total
            begin = min(counter, next((i for i, slot in enumerate(slots) if slot.name), counter))
            lost = sum(slot.lost for slot in slots[begin + 1 :])
            twice = named_twice(slots, (counter, at), self.prefix, own)
            if self.shared:
                cells = {f"{self.part}/{name}" if name in self.shared else name: x for name, x in cells.items()}
            told = StepRow(step, cells, plan, line.lines, line.time, self.keeps, lost, twice, line.message)
            out.append(replace(told, training=line.training) if line.training else told)
        return out


def part_of(name: str) -> str:
    """The part of a step in the name of a counter; "" if there is none."""
    before = name.replace("_", " ").rpartition(" ")[0].lower()
    return before if before in words().parts else ""


def part_tag(before: str) -> str:
    """The part of a step that a tag before its line names, `[critic]`; "" if there is none."""
    found = _TAG.search(before)
    return found[1].lower() if found is not None and found[1].lower() in words().parts | words().phases else ""


def skeleton(message: str) -> str:
    """A message with a mark in place of each number, label and progress bar, and without the blanks that align them.
    Words that say evaluation stay, as such lines are different ones."""
    form = form_of(message)
    known = _SKELETONS.get(form)
    if known is None:
        marked = NUMBER.sub("#", _BAR.sub("=", message))
        known = _SET_RIGHT.sub("#", " ".join(_LABEL.sub(_label, marked).split()))
        if not any(map(str.isdecimal, known)):  # otherwise a name holds a number
            _SKELETONS.keep(form, known)
    return known


_SKELETONS: Forms[str] = Forms()


def _label(found: re.Match[str]) -> str:
    return found[0] if has_word(found[2], words().evaluation) else f"{found[1]}@"


def key_of(kind: str, slots: list[Slot]) -> str:
    """The template key of a block or row: equal if the names of their numbers are equal."""
    return "\0".join([kind, *(slot.name for slot in slots)])


def cells_of(slots: list[Slot], without: tuple[int | None, ...], prefix: str) -> dict[str, float]:
    """The named numbers; of two with one name the first counts. A number with a total counts only if it is a share."""
    cells: dict[str, float] = {}
    for name, x in _named(slots, without, prefix):
        cells.setdefault(name, x)
    for name in [one for one in cells if one.endswith("_mean") and f"{one[:-5]} mean" in cells]:
        del cells[name]  # of a list, which may be cut short: its own mean is stated beside it
    return cells


def named_twice(slots: list[Slot], without: tuple[int | None, ...], prefix: str, cells: dict[str, float]) -> int:
    """How many of these numbers are not among their `cells`, as an earlier one with another value has the name."""
    if len(slots) <= len(cells):
        return 0
    return sum(cells.get(name, x) != x for name, x in _named(slots, without, prefix) if x == x)


def _named(slots: list[Slot], without: tuple[int | None, ...], prefix: str) -> Iterator[tuple[str, float]]:
    for i, slot in enumerate(slots):
        if not (slot.name and slot.text) or i in without or is_named(slot.name, words().places):
            continue
        if is_whole(slot) and counts_within(slot.name) and slot.name.lower() != "pass":  # that may be a rate of 1
            continue
        name = slot.name if prefix and has_word(slot.name, words().evaluation) else prefix + slot.name
        if (x := told_by(slot)) is not None:
            yield name, x
