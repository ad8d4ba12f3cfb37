"""Step lines of any wording, learnt from how they recur.

A line becomes a skeleton: its numbers are slots, its words stay. A skeleton that recurs while one whole number in it
only rises, and that names other numbers, is a step line, whatever words stand around them:
`GRPO step 10/500 | loss: 0.0 | mean_reward: -1.0`, `Epoch:[1/1](12/9751), Reward: -2.3`, `[7/300] loss=0.1 reward=0.2`,
`Iteration 7: avg_reward=0.4 (std 0.1)`, `Batch 7/300 | reward mean=0.9 std=0.2`. A number takes the name that stands
before it; a bare `std` or `max` belongs to the name before it. Lines of `name: number` right below belong to the step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from rltui.data_files import Record, read
from rltui.lazy_regex import lazy

SEEN = 3
"""Lines of one skeleton before it counts as a step line: two rises of its counter."""
MAX_SKELETONS = 4000
"""Skeletons that are kept at once; prose makes a new one with each line."""
MAX_SLOTS = 200

_NUMBER = lazy(
    r"(?<![\w.])(?:[-+](?=[\d.ni]))?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|(?:nan|inf)(?!\w))"
)
_UNIT = lazy(r"[%µA-Za-z]{0,8}(?:/[A-Za-z]{1,8})?")
_SEPARATOR = lazy(r"[|,;\[\](){}<>\t]|\s{2,}|\s[-–—=>]+\s|:\s+(?=\S)|:(?=[A-Za-z])|\.\s")
_TIED = lazy(r"[\s:=~≈\[({]+$")
_WORD = lazy(r"[A-Za-z]+")
_NAME = lazy(r"^\W*([A-Za-z_][\w/.@\-]*(?: [\w/.@\-]+){0,4})$")
_OUT_OF = frozenset(("/", " / ", " of ", " out of "))
_PAIR = lazy(
    rf"(?:^|(?<=[,;|])|(?<=\s))\s*([A-Za-z_][\w/.@\-]*(?: [\w/.@\-()]+){{0,4}})\s*[:=]\s*"
    rf"({_NUMBER.pattern})\s?{_UNIT.pattern}(?:\s*\([\d.]+ ?%\))?(?=[,;|\s]|$)"
)
_POSTFIX = lazy(rf"[,\[]\s*([A-Za-z_][\w/.@\-]*)=({_NUMBER.pattern})")
_LOGGED = lazy(
    r"^\[?\d{4}-\d\d-\d\d[ T_]\d\d:\d\d:\d\d[.,\d]*\]?[\s|:\-]*(?:[\w.\-]{1,60}\s*[|:\-]+\s*){0,2}"
    r"\[?(?:DEBUG|INFO|WARNING|SUCCESS)\]?[\s|:\-]*(?:[\w.]{1,60}(?::[A-Za-z_<]\w{0,60}>?)?:\d+\s*[|\-]\s+)?"
)
"""What logging puts before a message: time, logger, level, place, in any order that is usual."""
_TIMES = {"k": 1e3, "K": 1e3, "M": 1e6}


class TemplateWords(Record):
    """Words of names: what counts (surely, perhaps), what training, clocks and statistics are called, and what tells
    that a line counts something else: `evaluation`, `items` of data, `places` in the cluster."""

    counters: frozenset[str]
    weak_counters: frozenset[str]
    training: frozenset[str]
    durations: frozenset[str]
    statistics: frozenset[str]
    evaluation: frozenset[str]
    items: frozenset[str]
    places: frozenset[str]


@lru_cache(maxsize=1)
def _words() -> TemplateWords:
    return read(Path(__file__).with_name("template_words.json"), TemplateWords)


@dataclass(frozen=True, slots=True)
class Slot:
    """A number of a line: its name ("" if nothing names it), its text, its value with the unit's factor. `of`: the
    number behind a slash, as in `7/300`."""

    name: str
    text: str
    value: float
    of: int | None = None


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
    """What is known of a skeleton. `lines` are held back until `counter` is known: the place of its counter, -1 if it
    can be no step line. `told`: so many of them were given already, as the log was quiet."""

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
        self._main: str | None = None  # name of the counter that tells the step
        self._step: int | None = None
        self._under: _Line | None = None  # the line above, if lines below it may belong to it
        self._under_step: int | None = None  # its step, None while that is not known

    @property
    def knows_steps(self) -> bool:
        """Whether a step line was found."""
        return self._main is not None

    @property
    def is_open(self) -> bool:
        """Whether the next line may belong to the step line above it."""
        return self._under is not None

    def close_block(self) -> None:
        """A line of words: what follows belongs to no step line."""
        self._under = None

    def line(self, message: str) -> list[StepRow] | None:
        """The steps that this line tells, those of the lines that were held back until now before it. None if no line
        of its shape can matter."""
        message = _LOGGED.sub("", message)
        skeleton = _NUMBER.sub("#", message)
        found = self._template(" ".join(skeleton.split())) if skeleton.count("#") > 1 else None
        if found is None or found.counter == -1:
            return self._below(message)
        line = _Line(slots_of(message))
        self._under, self._under_step = line, None
        if found.counter is not None:
            rows = self._rows(found, [line], found.counter)
            self._under_step = rows[-1].step if rows else None
            return rows
        if not found.lines and not _promising(line.slots):
            found.counter, self._under = -1, None
            return None
        found.lines.append(line)
        return self._decide(found) if len(found.lines) >= SEEN else []

    def settle(self) -> list[StepRow]:
        """The log is quiet: lines of a template that was seen but twice count if they name their step plainly."""
        out: list[StepRow] = []
        for template in self._templates.values():
            if template.counter is None and template.lines:
                first = template.lines[0].slots
                counter = _counter([line.slots for line in template.lines], fewest=1)
                if counter is None or not _is_named(first[counter], _words().counters):
                    continue
                if _is_about(first, _words().training) and not _is_evaluation(first, counter):
                    out += self._rows(template, template.lines[template.told :], counter)
                    template.told = len(template.lines)
        return out

    def _template(self, skeleton: str) -> _Template:
        found = self._templates.get(skeleton)
        if found is None:
            if len(self._templates) >= MAX_SKELETONS:
                self._templates = {key: t for key, t in self._templates.items() if t.counter not in (None, -1)}
            found = self._templates[skeleton] = _Template()
        return found

    def _below(self, message: str) -> list[StepRow] | None:
        """Numbers of a line right below a step line, or below one that may turn out to be one."""
        if self._under is None:
            return None
        cells = _pairs(message)
        if not cells:
            self._under = None
            return None
        if self._under_step is not None:
            return [StepRow(self._under_step, cells)]
        for name, value in cells.items():
            self._under.below.setdefault(name, value)
        return []

    def _decide(self, template: _Template) -> list[StepRow]:
        lines = [line.slots for line in template.lines]
        counter, first = _counter(lines, fewest=SEEN - 1), lines[0]
        if counter is not None and _is_evaluation(first, counter):
            near = self._step is not None and lines[-1][counter].value <= self._step + 1
            counter = counter if near and _is_named(first[counter], _words().counters) else None
            template.prefix = "eval/"
        elif counter is not None and self._main not in (None, _counter_name(first[counter])):
            counter = None  # a second count beside the one that tells the step
        if counter is None:
            if len(lines) > 2 * SEEN or not _rises(lines):
                template.counter, template.lines, self._under = -1, [], None
            return []
        template.counter = counter
        if not template.prefix and self._main is None:
            self._main = _counter_name(first[counter])
        others = [i for i, slot in enumerate(first) if i != counter and _last_word(slot.name) == "epoch"]
        template.epoch = next((i for i in others if _is_whole(first[i])), None)
        held, template.lines = template.lines[template.told :], []
        rows = self._rows(template, held, counter)
        self._under_step = rows[-1].step if rows else None
        return rows

    def _rows(self, template: _Template, lines: list[_Line], counter: int) -> list[StepRow]:
        out = []
        for line in lines:
            slots = line.slots
            if len(slots) <= counter or not _is_whole(slots[counter]):
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


def postfix(text: str) -> dict[str, float]:
    """Numbers by name behind a progress bar (`[00:10<01:30, 1.0it/s, loss=0.3]`), if they are of training."""
    cells = {name: _value(number) for name, number in _POSTFIX.findall(text)}
    return cells if any(_has_word(name, _words().training) for name in cells) else {}


def trains(name: str) -> bool:
    """Whether a progress bar of this name counts training steps."""
    if any(c.isdigit() for c in name) or _has_word(name, _words().evaluation):
        return False  # a bar within one of many rounds
    return _has_word(name, _words().counters) or "train" in name.lower()


def slots_of(message: str) -> list[Slot]:
    """The numbers of a line with the names that stand before them."""
    out: list[Slot] = []
    end, subject = 0, ""
    for match in _NUMBER.finditer(message):
        if len(out) >= MAX_SLOTS:
            break
        gap = message[end : match.start()]
        unit = _UNIT.match(message, match.end())
        end = unit.end() if unit else match.end()
        factor = _TIMES.get(unit[0], 1.0) if unit else 1.0
        if gap in _OUT_OF and out and _is_whole(out[-1]) and match[0].isdecimal():
            out[-1] = Slot(out[-1].name, out[-1].text, out[-1].value, int(match[0]))
            continue
        if gap == ":" and out:  # a clock: 00:12:33
            out[-1] = Slot("", out[-1].text, out[-1].value)
            out.append(Slot("", match[0], _value(match[0])))
            continue
        name = _name(gap)
        words = name.split()
        if gap.strip() in ("±", "+/-", "+-") and subject:
            name = f"{subject} std"
        elif words and words[-1].lower() in _words().statistics:
            subject = " ".join(words[:-1]) or subject
            name = f"{subject} {words[-1]}" if subject else name
        elif name:
            subject = name
        out.append(Slot(name, match[0], _value(match[0]) * factor))
    return out


def _pairs(message: str) -> dict[str, float]:
    """Numbers of a line that holds nothing but `name: number`, empty for any other line."""
    pairs = _PAIR.findall(message)
    if not pairs or _PAIR.sub("", message).strip(" ,;|•*-\t"):
        return {}
    return {name: _value(number) for name, number in pairs}


def _name(gap: str) -> str:
    """The words right before a number, "" if there are none, or too many to be a name."""
    tied = _TIED.sub("", gap)
    if tied == gap:  # glued to what stands before, as in `v2`
        return ""
    found = _NAME.match(_SEPARATOR.split(tied)[-1].strip(" '\"*-"))
    return str(found[1]) if found and not found[1].endswith(".py") else ""


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _is_whole(slot: Slot) -> bool:
    return slot.text.replace(",", "").isdecimal() and slot.value < 1e15


def _last_word(name: str) -> str:
    words = _WORD.findall(name.replace("_", " "))
    return str(words[-1]).lower() if words else ""


def _counter_name(slot: Slot) -> str:
    return _last_word(slot.name) or "/"


def _has_word(name: str, wanted: frozenset[str]) -> bool:
    return any(word.lower() in wanted for word in _WORD.findall(name.replace("_", " ")))


def _is_named(slot: Slot, words: frozenset[str]) -> bool:
    return _last_word(slot.name) in words


def _is_about(slots: list[Slot], words: frozenset[str]) -> bool:
    return any(_has_word(slot.name, words) for slot in slots)


def _is_evaluation(slots: list[Slot], counter: int) -> bool:
    return any(_has_word(slot.name, _words().evaluation) for slot in slots[: counter + 1])


def _promising(slots: list[Slot]) -> bool:
    """Whether a line can be a step line at all: something counts, and something is named."""
    counts = any(_is_whole(s) and (s.of is not None or _may_count(s)) for s in slots)
    return counts and sum(1 for s in slots if s.name) >= 1


def _may_count(slot: Slot) -> bool:
    return _is_named(slot, _words().counters) or _is_named(slot, _words().weak_counters)


def _rises(lines: list[list[Slot]]) -> bool:
    """Whether some whole number of these lines may still turn out to count."""
    return any(
        all(len(line) > i and _is_whole(line[i]) for line in lines) and lines[-1][i].value > lines[0][i].value
        for i in range(len(lines[0]))
    )


def _counter(lines: list[list[Slot]], fewest: int) -> int | None:
    """Place of the number that counts the steps: whole, never falling, risen at least `fewest` times, and named like
    a step or given with its total. The one that rises most often wins, then the one with the plainer name."""
    first = lines[0]
    found: list[tuple[int, int, int]] = []
    for i, slot in enumerate(first):
        if not all(len(line) > i and _is_whole(line[i]) for line in lines):
            continue
        plain, weak = _is_named(slot, _words().counters), _is_named(slot, _words().weak_counters)
        if not (plain or weak or (slot.of is not None and not _has_word(slot.name, _words().items))):
            continue
        others = [s for j, s in enumerate(first) if j != i and s.name and not _may_count(s)]
        wanted = _words().training | _words().durations if plain else _words().training
        if not any(_has_word(s.name, wanted) for s in others):
            continue
        values = [line[i].value for line in lines]
        rises = sum(1 for a, b in pairwise(values) if b > a)
        if rises >= fewest and all(b >= a for a, b in pairwise(values)):
            found.append((-rises, 0 if plain else 1 if slot.of is not None else 2, i))
    return min(found)[2] if found else None


def _cells(slots: list[Slot], without: tuple[int | None, ...], prefix: str) -> dict[str, float]:
    """The named numbers; of two with one name the first counts."""
    cells: dict[str, float] = {}
    for i, slot in enumerate(slots):
        if slot.name and i not in without and not _is_named(slot, _words().places) and slot.of is None:
            cells.setdefault(prefix + slot.name, slot.value)
    return cells
