"""Numbers laid out below each other: one pair a line, in the layouts that people use, and blocks of such lines."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection
from functools import lru_cache
from math import nan

from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.dict_numbers import dict_cells
from rltui.readers.console.forms import RECENT, nothing_alike
from rltui.readers.console.lead import without_lead
from rltui.readers.console.named_numbers import NUMBER, Slot, slots_of
from rltui.readers.console.plain_lines import pairs, told_whole
from rltui.readers.console.sections import sectioned, timed
from rltui.readers.name_words import either, has_word, is_named, last_word, measures, words
from rltui.readers.number_text import NUMBER as NUMBER_TEXT
from rltui.readers.number_text import ties_number, value
from rltui.readers.units import has_number

MOST_PAIRS = 400
"""Most pairs of one block, so that a log that is one long block does not fill memory."""

MOST_COUNTS = 3
"""Most counts that a heading names."""
LONG = 5
"""Fewest blanks in a name that is longer than those of other lines."""
HEADLINE = 100
"""Most characters of a line that announces what follows."""
WORD = lazy(r"[^\W\d_]+")
_PICTURE = (
    r"[=-]{1,2}>|[»›]|>{1,3}\s|[\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]"
)
_PICTURES = lazy(rf"^\s*(?:(?:{_PICTURE})\s*)+(?=[^\W\d])")
"""Arrows and pictures before a name."""
_MARKS = lazy(rf"^(?:[#•*·▸├└╰┣┗│┃─━»›\s-]|{_PICTURE})*")
"""Marks and pictures that may come before the lines below a step."""
_MARK = lazy(r"^\s*(?:#{1,6}|[├└╰┣┗][─━]+)\s+")
BOLD = lazy(r"(?:\*\*|`)([^*`]{1,60}?:?)(?:\*\*|`)(?=\s*[:=\d-]|\s)")
_BORDERED = lazy(r"^\s*[|│┃║]\s*(.*?)\s*[|│┃║]?\s*$")
_CELLS = lazy(
    rf"^([^\W\d][\w/.@%()\- ]{{0,60}}?)\s*[|│┃║]\s*({NUMBER.pattern})"
    r"(?:\s?([a-zA-Z]{1,6}(?:/[a-zA-Z]{1,6})?)(?=\s*(?:[|│┃║]|$)))?"
    rf"(?:\s*[|│┃║](?!\s*{NUMBER.pattern}\s*(?:[|│┃║]|$))[^|│┃║]*)*$"
)
"""What follows the number is not another number: a change in percent, a note."""
_WHOSE = lazy(r"^\s*([A-Za-z]+):\s+(?=[^\W\d])")
REMARK = lazy(r"(?<=\d)\s+[(\[][^()\[\]]{1,40}[)\]]\s*$")
"""A remark in brackets after a number: `tokens   261.3 (max 1,024)`."""
_SET_APART = lazy(
    rf"^\s*([^\W\d_][\w/.\-]*(?: [^\W\d_][\w/.\-]*){{0,3}}(?: ?\([^\W\d]+\)| ?\[(?:[^\W\d]+|%)\])?)"
    rf"(?:\s{{2,}}|\t)\s*({NUMBER.pattern})\s?(%|[a-zA-Z]{{1,6}}(?:/[a-zA-Z]{{1,6}})?)?(?:\s+[▲▼△▽↑↓→↗↘=~+-])?$"
)
"""A unit may follow the number, and a mark for its direction."""
_KEYED = lazy(rf"^\s*([^\W\d_]\w*(?:/[\w.@\-]+)+)\s+({NUMBER.pattern})$")
"""A key of a tracker and its number: `train/reward 0.3`."""
_ALIGNED = lazy(
    rf"^\s*([^\W\d_][\w/.\-]*(?: [\w/.()\-]+){{0,9}})\s?[:=]\s{{2,}}({NUMBER.pattern})"
    r"\s?(%|[a-zA-Z]{1,7}(?:/[a-zA-Z]{1,6})?)?$"
)
"""A name of many words, with blanks that align the numbers of neighbouring lines: sentences have none."""
_LEADERS = lazy(r"\s*\.{3,}\s*|\s+_{3,}\s+")
_HEADING = lazy(
    r"^(?:[^\w]*\[[\w .\-]{1,40}\])?[^\w]*([^\W\d_][^\W\d]*(?:[ _][^\W\d_]+){0,2})[\s:#=]+(\d{1,15})"
    r"(?:\s?(?:/|of)\s?(\d{1,15}))?(?:(?: [^\W\d_]+){1,2})?"
    r"(?: \(\d[\d.]*\s?(?:s|sec|seconds|ms|min)\)|(?<=\w) in \d[\d.]*\s?(?:s|sec|seconds|ms|min))?[^\w]*$"
)
_OUT_OF = lazy(r"(?<=\d) ((?:[^\W\d]+ )?[^\W\d]+) (?=\d)")
"""Between a count and its total, in the words of a language."""
_BARE_COUNT = lazy(r"^[^\w\[(]*(?P<open>[\[(])?\s?(\d{1,9})\s?/\s?(\d{1,9})\s?(?(open)[\])])[^\w%]*$")
"""A count alone in its line: `[3/30]`, `--- 3/30 ---`."""
_CALLED = lazy(
    r"^(?P<frame>[^\w\[(]{2,})?\W*(?P<before>(?:[^\W\d][\w/\-]*\s){0,4})\W*?(?P<open>[\[(])?"
    r"(?P<name>[^\W\d_][^\W\d]*(?:[ _][^\W\d_]+)?)[\s:#=]+(?P<count>\d{1,15})(?:\s?(?:/|of)\s?(?P<total>\d{1,15}))?"
    r"(?(open)[\])])\s*(?P<behind>(?:[^\W\d][\w/\-]*\s?){0,3})(?P<end>[^\w]*)$"
)
"""A count among the words of a title: `=== ROLLOUT DETAILS (Step 3) ===`, `[Iteration 3] Summary:`."""
_HEADINGS = lazy(r"\s*[|│,;·•(]\s*|\s+[-–—/>]+\s+|\]\s*\[|(?<=\d)\s+(?=[^\W\d])")
"""Separators of the counts in a heading that names several."""
_LABEL = lazy(r"^[^\w]*[^\W\d_][^\W\d]*(?:[ _][^\W\d_][^\W\d]*){0,2}(?:[ :#]+\d{1,4}(?:/\d{1,4})?)?[^\w]*$")
_BRACKETED = lazy(r"^(.*\w)\s+[\[(]([^\[\]()]{1,40})[\])][^\w]*$")
_FRACTION = lazy(r"^(?:([^\W\d_]+)[\s:=]+)?(\d{1,6}(?:\.\d+)?)\s?(%)?(?: done| complete)?$")
_RANGE = lazy(r"^[^\W\d_]+ \d{1,12}\s?[-–]\s?\d{1,12}$")
"""Which items a step is about: `samples 64-127`."""
ROUNDED = 0.011
"""What a percentage without decimals may be rounded by."""
_WHEN = lazy(r"^[^\w]*(?:\d{4}-\d\d-\d\d[ T]?)?(?:\d{1,2}:\d\d:\d\d(?:[.,]\d+)?)?[^\w]*$")
"""A time after the counts of a heading."""
_TITLE = lazy(r"^[^\w\[]*(?:([^\W\d][\w/\-]*(?: [^\W\d][\w/\-]*){0,2}):|\[([^\W\d][\w/\- ]{0,30})\])[\s=#*:\-]*$")
_BETWEEN_RULES = lazy(r"^[^\w\[\](){}<>\"']{2,}\s([^\W\d][\w/\-]*(?: [^\W\d][\w/\-]*)?)\s[^\w\[\](){}<>\"']{2,}$")
"""A title within a rule, or between two: `-- rollout --------`."""
_TIES = r"(?:(?:\]|\)|\*\*|`)\s?[:|]?|:\*\*|\s*:|\s?[|│»]|\s*(?:[-=]>|[→⇒])|\s+[–—-]|\s*\.{3,})\s+"
"""Between a title and the pairs of its line: `policy: loss=0.1`, `policy -> loss=0.1`, `[policy] loss=0.1`."""
_TITLED = lazy(rf"^[^\w]*([^\W\d][\w/\-]*(?: [^\W\d][\w/\-]*)?){_TIES}(?=[^\W\d][\w/.@\-]*\s?[=:]|\{{['\"])")
_TITLED_APART = lazy(
    rf"^[^\w]*([^\W\d][\w/\-]*)(?:\]?(?:\s{{2,}}|\t)|{_TIES})"
    rf"(?=[^\W\d][\w/.@\-]*(?: [^\W\d][\w/.@\-]*)?(?:\s?[=:]\s*|\s+){NUMBER_TEXT})"
)
"""A title before pairs without a sign: `policy   loss 0.1  kl 0.01`."""
_AGAIN = lazy(r"(\s*)([^\W\d_]{2,20}) (\d{1,15})\s?(?:[:|]|-(?=\s))\s*(?=[^\W\d_])(.*\d.*)")
_RULE = lazy(r"[^\w]+$")
_TABLE_HEAD = lazy(r"\s*(?:[|│┃║]\s*)?[^\W\d]+(?:\s{2,}|\s*[|│┃║]\s*)[^\W\d]+(?:\s*[|│┃║])?\s*$")
_FILLED_BAR = lazy(
    r"^\s*(\d+)/(\d+)\s+(?:\[[=>.\-#\s]*\]|[━╸╺█▉▊▋▌▍▎▏░= ]+|-(?=\s+[\d:.]+\s?(?:s|h|m)\b))"
    r"(?:[\s\-]*(?:ETA:\s*)?[\d:.]+\s?(?:[mnuµ]?s|h|m)?"
    r"(?:/(?:step|epoch|sample|batch|it))?)*\s*-\s+(?!ETA\b)(?=[^\W\d_])"
)
"""The progress bar that Keras prints before the numbers of an epoch."""
_ARROW = lazy(r"(?<=[^\W\d_])\s*(?:[-=]>|[→⇒])\s*(?=[-+]?\d)")
"""Between a name and its number: `loss -> 0.3`."""
_MEMBER = lazy(r"['\"]\s*:(?!\s*\{)")
_DICT = lazy(r"[,;|]?\s*\b\w+\s*[:=]\s*\{[^{}]*\}")
_DASHES = lazy(r"\s+-\s+")
_STATED = r"[^\W\d]\w*(?:\s*[:=]\s*|\s)"
_SPREAD = lazy(
    rf"(?P<name>[^\W\d][\w/.@\-]*(?: [\w/.@\-]+){{0,4}}?)(?P<tied>\s*[:=]\s*)(?P<number>{NUMBER_TEXT})"
    rf"(?:\s*(?:±|\+/-|\+-)\s*(?P<std>{NUMBER_TEXT}))?"
    rf"(?:\s*[\[(]\s*(?P<more>{_STATED}{NUMBER_TEXT}(?:[,;|/]?\s*{_STATED}{NUMBER_TEXT}){{0,9}})\s*[\])])?"
)
"""A named number, and after it its spread: `Reward: 0.1 ± 0.5 [min -0.1, max 1.0]`."""
_MORE = lazy(rf"([^\W\d]\w*)(?:\s*[:=]\s*|\s)({NUMBER_TEXT})")


@lru_cache(maxsize=RECENT)
def without_marks(message: str) -> str:
    """A line without the marks before its first word."""
    return _MARKS.sub("", message)


def pair_cells(message: str) -> dict[str, float] | None:
    """The numbers of a line that holds only named numbers; empty for any other line; None for a line that is printed
    again later."""
    cells = _pair_cells(message)
    return None if cells is None else dict(cells)


@lru_cache(maxsize=RECENT)
def _pair_cells(message: str) -> dict[str, float] | None:
    if message.rstrip().endswith("}"):
        return logged_cells(message) or with_dicts(message)
    if "}" in message and (told := with_dicts(message)):
        return told
    if not has_number(message):
        return {}
    message = spread(BOLD.sub(r"\1", _MARK.sub("", _PICTURES.sub("", message))))
    if bordered := _BORDERED.match(message):
        message = bordered[1]
        if one := _CELLS.match(message):
            return {timed(one[1].strip(), one[3] or ""): value(one[2])}
    if filled := _FILLED_BAR.match(message):
        if filled[1] != filled[2]:
            return None
        parts = [pairs(part) for part in _DASHES.split(message[filled.end() :])]
        return {name: x for part in parts for name, x in part.items()} if all(parts) else {}
    if set_apart := _SET_APART.match(message) or _SET_APART.match(REMARK.sub("", message)):
        return {timed(set_apart[1], set_apart[3] or ""): value(set_apart[2])}
    if long := long_named(message):
        return long
    if keyed := _KEYED.match(message):
        return {keyed[1]: value(keyed[2])}
    if "..." in message or "___" in message or _ARROW.search(message):
        message = _ARROW.sub(": ", _LEADERS.sub(": ", message))
    return pairs(message) or told_whole(message, least=2 - (bordered is not None))


def long_named(message: str) -> dict[str, float]:
    """The number of a line whose name has many words: `KL between old and new distribution:      0.005`; else
    empty."""
    found = _ALIGNED.match(message)
    if found is None or found[1].count(" ") < LONG:
        return {}
    return {timed(found[1], found[3] or ""): value(found[2])}


def spread(message: str) -> str:
    """A line in which each number of a spread gets its own name, as `slots_of` names them: `Reward: 0.1, Reward std:
    0.5` for `Reward: 0.1 ± 0.5`."""
    spreads = any(mark in message for mark in ("±", "+-", "+/-", "(", "["))
    return _SPREAD.sub(_apart, message) if spreads and ties_number(message) else message


def _apart(found: re.Match[str]) -> str:
    more = [] if found["std"] is None else [("std", found["std"])]
    more += _MORE.findall(found["more"]) if found["more"] else []
    if not more or not all(name.lower() in words().statistics for name, _ in more):
        return found[0]
    whole = f"{found['name']}{found['tied']}{found['number']}"
    return ", ".join([whole, *(f"{found['name']} {name}: {number}" for name, number in more)])


def logged_cells(message: str) -> dict[str, float]:
    """The numbers of a line that is only a dict of metrics; empty for any other line."""
    text = without_lead(message).rstrip()
    if not text.startswith(("{'", '{"')) or not text.endswith("}"):
        return {}
    cells = dict_cells(text)
    return cells if len(cells) == len(_MEMBER.findall(text)) and measures(cells) else {}


def with_dicts(message: str) -> dict[str, float]:
    """The numbers of a line of named numbers, some of them in a dict: `loss: 0.1, rewards: {'right': 0.3, 'format':
    0.8}`; empty for any other line."""
    plain = _DICT.sub("", message)
    beside = pairs(plain) if plain != message else {}
    members = sum(len(_MEMBER.findall(found[0])) for found in _DICT.finditer(message))
    cells = {slot.name: slot.value for slot in slots_of(message) if slot.name} if beside else {}
    return cells if len(cells) == len(beside) + members and measures(cells) else {}


@lru_cache(maxsize=RECENT)
def title(message: str) -> str:
    """The title for some of the lines below: `policy:`, `[critic]`, `-- policy ---`; empty for any other line."""
    found = _TITLE.match(message)
    if found is not None:
        return (found[1] or found[2]).strip(" /")
    ruled = _BETWEEN_RULES.match(message.strip()) if len(message) < HEADLINE else None
    return ruled[1] if ruled is not None and not has_word(ruled[1], either("texts", "items", "places", "prose")) else ""


@lru_cache(maxsize=RECENT)
def titled(message: str) -> tuple[str, str]:
    """The title before the pairs of a line, and the pairs: `policy: loss=0.1 lr=1e-6`. ("", line) if it has no
    title."""
    found = _TITLED.match(message)
    if found is None and (apart := _TITLED_APART.match(message)) is not None and not pair_cells(message):
        found = apart if pair_cells(message[apart.end() :]) else None
    if found is None or has_word(found[1], words().items):
        return "", message
    return found[1], message[found.end() :]


def without_count(message: str, is_step: Callable[[int], bool]) -> str:
    """A line that repeats the count of the step above it, without that count: `Train: loss 0.3` for
    `Train 50: loss 0.3`."""
    again = _AGAIN.match(message)
    if again is None or not is_step(int(again[3])) or again[2].lower() in words().steps | words().inner:
        return message  # another count, or one that happens to be the same inside the step
    return f"{again[1]}{again[2]}: {again[4]}"


@lru_cache(maxsize=RECENT)
def is_frame(message: str) -> bool:
    """Whether a line only draws a frame or names the two columns of a table: the text above it then goes on below."""
    return _RULE.match(message) is not None or _TABLE_HEAD.match(message) is not None


@lru_cache(maxsize=RECENT)
def is_behind_bar(message: str) -> bool:
    """Whether a Keras bar comes before the numbers: its counts are batches, not steps."""
    return _FILLED_BAR.match(message) is not None


def heading(message: str) -> Slot | None:
    """The count in a line that only says which step begins: `Iteration 7`, `Epoch 3/50`, `--- Round 5 ---`."""
    if bare := _BARE_COUNT.match(message):
        return Slot("", bare[2], value(bare[2]), int(bare[3]))
    message = _OUT_OF.sub(lambda one: "/" if one[1].lower() in words().out_of else one[0], message)
    found = _HEADING.match(message.replace(" @ ", " at "))
    if found is None or not _counts(found[1]) or _is_set(found[1]):
        return _called(message)
    return Slot(found[1], found[2], value(found[2]), int(found[3]) if found[3] else None)


def _counts(name: str) -> bool:
    return is_named(name, words().counters) or is_named(name, words().weak_counters)


def _is_set(name: str) -> bool:
    """Whether a name is that of a number of steps that somebody set: `warmup_steps`, `total_steps`. Written as words,
    `Total steps`, it may be the count so far."""
    amount = last_word(name).endswith("s") and has_word(name, words().settings)
    return amount or _SET_ONCE.match(name) is not None


_SET_ONCE = lazy(r"(?i)(?:total_(?!env|time)[a-z_]*s|(?:start|resume|initial)(?:ing|ed)?_[a-z_]+)$")


def _called(message: str) -> Slot | None:
    """The count in a title whose other words announce what is below: they are in a frame, before a colon, or words for
    results. None if they name a sample or an item."""
    found = _CALLED.match(message) if len(message) < HEADLINE else None
    if found is None or not found["open"] or not _counts(found["name"]):
        return None
    said = f"{found['before']}{found['behind']}".strip()
    known = words()
    framed = found["frame"] is not None and len(found["end"].strip()) > 1
    if not (framed or found["end"].lstrip().startswith(":") or has_word(said, known.findings)):
        return None
    others = either("texts", "items", "places")
    if not said or has_word(said, others if framed else others | known.prose):
        return None
    name = f"{said} {found['name']}"
    total = found["total"]
    return Slot(name, found["count"], value(found["count"]), int(total) if total else None)


@nothing_alike
def headings(message: str) -> list[Slot]:
    """The counts of a heading, one or several: `Epoch 1/2 | Batch 3/60`. Empty for any other line. The name of its
    group may come before it: `trainer: Finished step 3`."""
    led = _WHOSE.match(message)
    if led is not None and led[1].lower() in words().groups:
        message = message[led.end() :]
    if (one := heading(message)) is not None:
        return [one]
    told = _BRACKETED.match(message)
    if (
        told is not None
        and (one := heading(told[1])) is not None
        and (beside := _beside_count(one, told[2])) is not None
    ):
        return [one, *beside]
    if told is not None and heading(told[2]) is None and _is_label(told[2]):
        message = told[1]
        if (one := heading(message)) is not None:
            return [one]
    parts = _HEADINGS.split(message) if len(message) < HEADLINE else []
    counts = [heading(part) for part in parts]
    slots = [slot for slot in counts if slot is not None]
    if len(parts) < 2 or not slots or len({slot.name for slot in slots}) < len(slots) or len(slots) > MOST_COUNTS:
        return []
    last = max(i for i, slot in enumerate(counts) if slot is not None)
    labels = [i for i, slot in enumerate(counts) if slot is None]
    if labels and not any(is_named(slot.name, words().counters) for slot in slots):
        return []
    return slots if all(_is_label(parts[i]) if i < last else _WHEN.match(parts[i]) for i in labels) else []


def _beside_count(count: Slot, bracketed: str) -> list[Slot] | None:
    """The number in brackets after the only count of a heading, if it states the same in another way: the epoch so far,
    `Step 3 (epoch 0.06)`. Empty for the part that is done, `Step 3/50 (6.0%)`, or a range. None for any other text."""
    if _RANGE.match(bracketed):
        return []
    if (found := _FRACTION.match(bracketed)) is None:
        return None
    name, number = found[1] or "", float(found[2]) / (100.0 if found[3] else 1.0)
    if last_word(name) == "epoch" and not found[3]:
        return [Slot("epoch", found[2], number)]
    done = None if count.of is None else count.value / max(1, count.of)
    return [] if not name and done is not None and abs(done - number) < ROUNDED else None


def _is_label(part: str) -> bool:
    """Whether a part of a heading announces what is below or names a part of the run: `Summary`, `Stage 2`."""
    others = either("texts", "items", "places", "prose", "evaluation", "benchmarks")
    return _LABEL.match(part) is not None and not has_word(part, others)


class PairBlock:
    """Pairs of neighbouring lines, until a name comes again or another line comes between. `title`: that of the newest
    line. `title_above`: the title in a line above, for all lines without their own."""

    def __init__(self) -> None:
        self._slots: dict[tuple[str, str], Slot] = {}  # by title and name
        self.title = self.title_above = ""
        self.lines: tuple[int, ...] = ()  # their numbers in the file
        self.time = nan  # time of the first line with a time stamp

    def copy(self) -> PairBlock:
        twin = copy.copy(self)
        twin._slots = dict(self._slots)
        return twin

    def entitle(self, title: str) -> None:
        """Takes a title in a line of its own, for the lines below; "" ends the title before."""
        self.title = self.title_above = title

    @property
    def slots(self) -> dict[str, Slot]:
        names = sectioned(self._slots)
        named = zip(names, self._slots.values(), strict=True)
        return {name: slot if slot.name == name else replace(slot, name=name) for name, slot in named}

    @property
    def measured(self) -> bool:
        """Whether its lines hold measurements."""
        return measures(name for _, name in self._slots)

    @property
    def is_open(self) -> bool:
        return bool(self._slots)

    def has(self, name: str, x: float) -> bool:
        """Whether a number below the newest title has this name and value."""
        own = self._slots.get((self.title, name))
        return own is not None and own.value == x

    def begins_anew(self, names: list[str]) -> bool:
        """Whether a line with these names belongs to the next block."""
        again = any((self.title, name) in self._slots for name in names)
        counts = bool(self.title) and any(name in names and is_named(name, words().counters) for _, name in self._slots)
        return again or counts or len(self._slots) >= MOST_PAIRS

    def add(self, slots: list[Slot], line: int, time: float) -> None:
        self._slots |= {(self.title, slot.name): slot for slot in slots}
        self.lines = (*self.lines, line)
        self.time = self.time if self.time == self.time else time

    def drop(self, names: Collection[str]) -> None:
        """Removes numbers that turn out to belong to something else."""
        self._slots = {key: slot for key, slot in self._slots.items() if key[1] not in names}

    def take(self) -> tuple[list[Slot], tuple[int, ...], float]:
        """The block so far, with its line numbers and time. A new, empty block begins."""
        taken = list(self.slots.values()), self.lines, self.time
        self._slots, self.lines, self.time = {}, (), nan
        self.entitle("")
        return taken


def as_slots(cells: dict[str, float]) -> list[Slot]:
    """Named numbers as slots of a line."""
    return [Slot(name, _text(x), x) for name, x in cells.items()]


def _text(x: float) -> str:
    return str(int(x)) if abs(x) < 1e15 and x == int(x) else repr(x)
