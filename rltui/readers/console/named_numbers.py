"""The numbers in a line of words, each with the name that the line gives it.

A number takes the name before it; a plain `std` or `max` belongs to the name before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.console.forms import RECENT, Forms, form_of
from rltui.readers.console.sections import TIME, TIMED, as_time, section_of, sectioned, timed
from rltui.readers.name_words import NAMES, either, has_word, is_named, words
from rltui.readers.number_text import NUMBER as NUMBER_TEXT
from rltui.readers.number_text import value

MAX_SLOTS = 200
"""Most numbers of one line that are looked at."""
NUMBER = lazy(r"(?<![\w.])" + NUMBER_TEXT)
_BY_ANSWER = r"(?:tokens?|toks?)/(?:resp(?:onse)?|completion|comp|sample|seq|answer|traj|rollout|generation|gen)"
UNIT = lazy(
    r"(?:[%µA-Za-z]{1,8}(?:/[A-Za-z]{1,8})?|/[A-Za-z]{1,8}(?!\w*\s*[:=]?\s*[-+.]?\d))?"
    r"(?: (?:[KMGT]i?B|(?:tokens?|toks?|samples?|seqs?|it|steps?)/s(?:ec)?"
    r"|(?:s|secs?)/(?:it|iter|step|update|iteration)|s|secs?|seconds"
    rf"|{_BY_ANSWER})"
    r"(?![\w/])(?!\s*[:=]?\s*[-+.]?\d))?"
)
"""After a blank or a slash it is a unit only if no number follows, as it would then be the name of that number:
`tok/s 512`, `p1 0.3/p2 0.4`."""
_RATE = lazy(r"\s*([A-Za-z]{1,8}/(?:s|sec|second)|(?:s|secs?)/(?:it|iter|step|update|iteration))$")
_LENGTH = lazy(rf"\s*({_BY_ANSWER})$")
"""A unit that alone says what is measured: `335 tok/resp`."""
_ALONE = lazy(r"\s*(?:[|│,;·•)\]]|-\s|$)|\s+[\w/.\-]+\s*[:=]")
"""What may follow a number that is named by its unit: no word that would be its name, as in `5h elapsed`."""
_LAST = lazy(r"\s*[)\]](?:\W*[A-Za-z]+[ =:#]{1,2}\d{1,15}(?:\s?/\s?\d{1,15})?)?\W*$")
"""The end of a line, or only its step: `reward 0.3 (12.3s) @ step 4`."""
_CLAUSE = lazy(r"[|│,;·•]")
_SEPARATOR = lazy(
    r"[|│┃║•·,;\[\](){}<>\t→]|\s{2,}|\s[-–—=>/]+\s|:\s+(?=\S)|:(?=[A-Za-z])|(?<!\b[A-Z][a-z][a-z])(?<!\b[A-Z][a-z][a-z][a-z])\.\s"
)
_TIED = lazy(r"(?:[\s:=~≈#\[({'\"]|->|=>|→)+$")
_ARGUMENT = lazy(r"(?:^|([,|;\t])\s*)([^\W\d][\w/.@\-]*(?: [\w/.@\-]+){0,4}):?\s*([,|;\t])\s*$")
"""A name with the same separator from its number as between all parts of the line: `step | 5 | loss | 0.3`."""
_LINKS = lazy(r"^(?:(?:with|and|the|an?|of|at)\s+)+(?=\w)")
"""Words of a sentence before a name."""
_VERB = lazy(r"(?<=\w)(?:\s+(?:is|was|of|at|now|reached))+$")
"""Words of a sentence after a name."""
_NAME = lazy(r"^\W*((?:\d+(?=[^\W\d]))?[^\W\d][\w/.@\-]*(?: [\w/.@\-]+){0,4})$")
_ASSIGNED = lazy(r"[\w\"'](?:\s|,\s*)((?:\d+(?=[^\W\d]))?[^\W\d][\w/.@\-]*)\s*=\s*$")
"""The name before the last of several `name=`."""
_IN_BRACKETS = lazy(
    r"^(.*\w)(?:(\((?:[^\W\d][^()=:]{0,30}|%)\)|\[[^\W\d][^\[\]=:]{0,30}\])|\s+(\((?:[^\W\d][^()=:/]{0,30}|%)\)"
    r"|\[(?:[^\W\d][^\[\]=:]{0,30}|%)\]))(?:\s*[:=]\s*|\s+)$"
)
"""A name with its unit, statistic or argument in brackets: `elapsed time (ms): 12`, `KL(pi||ref): 0.5`, `E[R]=1`."""
_CONDITION = lazy(
    r"(?<=\w)(\s?[(\[](?:[^()\[\]<>≤≥]{0,30}(?:[<>]=?|[≤≥])\s*[-+]?\d[\d.]*\s?%?|[nkN]\s?=\s?\d+)[)\]])"
    r"(?=\s*[:=]|\s+[-+]?\d)"
)
"""The number in a condition of a name, or a number of samples: `fraction (reward > 0.5): 0.4`, `std (n=8): 0.3`."""
_NORM = lazy(r"(?<!\w)(\|{1,2})([^\W\d]\w*)\1(?:\s*[:=]\s*|\s+)$")
"""A norm: `|g|=0.5`."""
_SIZE = lazy(r"(?:^|[\s,;(])(\|{1,2})([A-Za-z]|grad)\1(?:\s*[:=]\s*|\s+)$")
"""A norm of one letter, if bars also separate names: `kl 0.1 | |y| 337`."""
_DATE = lazy(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?(?:Z|[+-]\d\d:?\d\d)?")
_AT = lazy(r"([^\W\d]\w*)@$")
"""A name that goes on with a number: `pass@8`."""
_NO_NUMBER = lazy(r"\b(?:of|no|any|with|without|for)\s+$")
"""Words before a `nan` that is an adjective: `number of nan iterations`."""
_IN_NAME = lazy(r"\d+[^\W\d]\w*=")
"""A name that begins with a digit: `5HT=0.9`."""
_LISTED = frozenset(("", ",", "), ("))
"""What is between the numbers of a list."""
_WORDED = lazy(r"[^\W_]|[(\[<:/±]\s*$")
"""Text that says something about the number after it, or that it goes on."""
_BECOMES = frozenset(("→", "->", "=>", "⟶", "➜", "➔"))
"""Between an old value and the new one: `loss 0.5 → 0.4`."""
_PASSED = frozenset(("elapsed", "took", "duration"))
"""Words before a clock that shows how long something took."""
_TIMES = {"k": 1e3, "K": 1e3, "M": 1e6}
_REWARDS = frozenset(("reward", "rewards", "rew", "return", "score"))
_OPENED = lazy(r"\s?[(\[{]\s?[^\W\d]")
_CLOSED = lazy(r"[)\]}]")
BEHIND = lazy(r"\s+([^\W\d_]+)\b")


class Slot(Struct, frozen=True):
    """A number of a line: its name ("" if it has none), its text, and its value with the factor of its unit. `of`: the
    number after a slash, as in `7/300`. `end`: where it ends in the line. `lost`: it has no name but may be a
    measurement."""

    name: str
    text: str
    value: float
    of: int | None = None
    end: int = 0
    lost: bool = False


class _Plan(Struct, frozen=True):
    """Which numbers of a line become which slots; the same for all lines of one form. For each slot: name, place of its
    number, whether a full stop follows that, place of its total, place of the number that it ends with, how many
    characters before the end of that, and whether it is lost."""

    each: tuple[tuple[str, int, bool, int | None, int, int, bool], ...]

    @classmethod
    def of(cls, message: str, slots: tuple[Slot, ...]) -> _Plan | None:
        """The plan of a line; None if a slot is not simply a number of the line, or if a name holds a digit."""
        if any(any(map(str.isdecimal, slot.name)) for slot in slots):
            return None
        numbers = [(match[0], match.end()) for match in NUMBER.finditer(message)]
        ends = {end: i for i, (_, end) in enumerate(numbers)}
        each = []
        for slot in slots:
            last = ends.get(slot.end, ends.get(slot.end + 1))
            own = last if last is None or slot.of is None else last - 1
            if last is None or own is None or own < 0:
                return None
            stopped = numbers[own][0] == f"{slot.text}."
            total = None if slot.of is None else last
            each.append((slot.name, own, stopped, total, last, numbers[last][1] - slot.end, slot.lost))
        plan = cls(tuple(each))
        return plan if plan.slots(message) == slots else None

    def slots(self, message: str) -> tuple[Slot, ...]:
        numbers = [(match[0], match.end()) for match in NUMBER.finditer(message)]
        out = []
        for name, own, stopped, total, last, before, lost in self.each:
            text = numbers[own][0][:-1] if stopped else numbers[own][0]
            of = None if total is None else int(value(numbers[total][0].rstrip(".")))
            out.append(Slot(name, text, value(text), of, numbers[last][1] - before, lost))
        return tuple(out)


_PLANS: Forms[_Plan | bool] = Forms()
"""Form -> plan. True: the form was seen once. False: it can have no plan."""


def slots_of(message: str) -> list[Slot]:
    """The numbers of a line, with the names before them. A list, `rewards: [0.1, 0.3]`, becomes its mean."""
    return list(_slots_of(message))


@lru_cache(maxsize=RECENT)
def _slots_of(message: str) -> tuple[Slot, ...]:
    """`slots_of`, with the plan of a line of the same form if there is one."""
    form = form_of(message)
    plan = _PLANS.get(form)
    if isinstance(plan, _Plan):
        return plan.slots(message)
    slots = _slots_in(message)
    if plan is not False:  # the first line of a form may be the only one
        _PLANS.keep(form, True if plan is None else _Plan.of(message, slots) or False)
    return slots


def _slots_in(message: str) -> tuple[Slot, ...]:
    out: list[Slot] = []
    sections: list[str] = []  # the section of each number: `actor: loss=0.1 lr=1e-6 | critic: loss=0.2`
    end, subject, section = 0, "", ""
    whole = ""  # the name whose parts are in the open brackets
    parts_of: dict[int, str] = {}
    listed: list[float] = []
    coming: list[str] = []  # names of the numbers after the next slashes
    known = words()
    conditions = [found.span() for found in _CONDITION.finditer(message)]
    for match in NUMBER.finditer(message):
        if len(out) >= MAX_SLOTS:
            break
        if conditions and any(begin < match.start() < over for begin, over in conditions):
            continue
        if match.start() < end or ("=" in message and _IN_NAME.match(message, match.start())):
            continue
        if date := _DATE.match(message, match.start()):
            end = date.end()
            continue
        if _is_word(message, match.start()):
            continue
        gap = message[end : match.start()]
        written, stop = match[0], match.end()
        if written.endswith("."):  # the end of a sentence: `Step: 10. Reward: 0.5.`
            written, stop = written[:-1], stop - 1
        unit = UNIT.match(message, stop)
        end = unit.end() if unit else stop
        factor = _TIMES.get(unit[0], 1.0) if unit else 1.0
        if (
            (gap.strip() == "/" or gap.strip().lower() in words().out_of)
            and out
            and is_whole(out[-1])
            and written.replace(",", "").isdecimal()
            and not (coming or _several(out[-1].name))
        ):
            out[-1] = replace(out[-1], of=int(value(written)), end=stop, lost=False)
            continue
        if gap.strip() in _BECOMES and out and out[-1].name and not is_named(out[-1].name, words().counters):
            number = float(f"{value(written) * factor:.15g}")
            out[-1] = replace(out[-1], text=written, value=number, end=match.end(), lost=False)
            continue
        if gap == ":" and out and has_word(out[-1].name, _PASSED):
            seconds = 60 * out[-1].value + value(match[0])
            out[-1] = replace(out[-1], text=f"{seconds:.12g}", value=seconds, end=match.end())
            continue
        if gap == ":" and out:  # a clock: 00:12:33
            out[-1] = replace(out[-1], name="", lost=False)
            out.append(Slot("", match[0], value(match[0]), end=match.end()))
            sections.append("")
            continue
        if listed and gap.strip() in _LISTED:
            listed.append(value(match[0]))
            if has_word(out[-1].name, words().by_group):
                continue
            out[-1] = _mean_of(out[-1], listed, match.end())
            continue
        if out and (word := _shared(out[-1], gap)):  # `12/64 correct (18.8 %)`
            out[-1] = replace(out[-1], name=word, lost=False)
            if gap.rstrip().endswith("(") and message[end - 1] == "%":
                continue
        listed = [value(match[0])] if gap.endswith(("[", "[(")) else []
        above, section = section, section_of(gap, section)
        if section and section != above:
            subject = section
        name = _name(gap)
        if name in known.prose and name not in known.counters:
            name = ""
        if whole and _CLOSED.search(gap):
            subject, whole = whole, ""
        elif _OPENED.match(gap) and not is_named(subject, either("counters", "weak_counters")):
            whole = subject
        name = timed(name, unit[0] if unit else "")
        if name and whole and not name.startswith(TIMED):
            parts_of[len(out)] = whole
        if not name and unit and out:
            name = _by_unit(unit[0], gap, message, end, section, out[-1].name)
        parts = name.split()
        if gap.strip() in ("±", "+/-", "+-") and subject:
            name = f"{subject} std"
        elif parts and parts[-1].lower() in words().statistics:
            subject = " ".join(parts[:-1]) or subject
            name = f"{subject} {parts[-1]}" if subject else name
        elif name:
            subject = name
        number, text = value(written), written
        if factor != 1.0:
            number = float(f"{number * factor:.15g}")
            text = str(int(number)) if number.is_integer() else text  # `step 0.5k`
        coming = coming if gap.strip() == "/" else []
        if not name and gap.strip() == "/" and out:
            if several := _several(out[-1].name) or _two(out[-1], text):
                out[-1], coming = replace(out[-1], name=several[0]), several[1:]
            name = coming.pop(0) if coming else ""
        further = bool(out) and gap.strip() == "/" and bool(out[-1].name)  # the total after a slash
        lost = not name and bool(out) and not further and not (message[end - 1] == "%" and gap.endswith("("))
        out.append(Slot(name, text, number, end=match.end(), lost=lost))
        sections.append(section)
    if out and (word := _shared(out[-1], message[end:])):
        out[-1] = replace(out[-1], name=word, lost=False)
    out = _with_parts(out, parts_of)
    names = sectioned((section, slot.name) for section, slot in zip(sections, out, strict=True))
    return tuple(slot if slot.name == name else replace(slot, name=name) for slot, name in zip(out, names, strict=True))


def _with_parts(slots: list[Slot], parts_of: Mapping[int, str]) -> list[Slot]:
    """The numbers, with those in brackets after a reward named as its parts, `reward 0.4 (correct 0.3, format 0.1)`.
    Only if there are several and none is a statistic or another kind of metric. After other numbers, brackets with
    kinds of responses belong to that number: `length 311 (correct 290, wrong 340)`."""
    if not parts_of:
        return slots
    known = words()
    out = list(slots)
    other = either("statistics", "no_part", "counters", "weak_counters", "durations")
    for whole in set(parts_of.values()):
        inner = [i for i, of in parts_of.items() if of == whole]
        if not is_named(whole, _REWARDS):
            told_apart = len(inner) > 1 and all(slots[i].name.lower() in known.contrasts for i in inner)
            for i in inner if told_apart else ():
                out[i] = replace(slots[i], name=f"{whole}/{slots[i].name}")
            continue
        if len(inner) < 2 or any(has_word(slots[i].name, other) for i in inner):
            continue
        for i in inner:
            if not has_word(slots[i].name, _REWARDS):
                out[i] = replace(slots[i], name=f"{whole}/{slots[i].name}")
    return out


def _shared(count: Slot, behind: str) -> str:
    """The word after a count with its total, if it names a share: `12/64 correct`; else ""."""
    word = BEHIND.match(behind) if count.of is not None and not count.name else None
    return word[1] if word is not None and word[1].lower() in words().shares else ""


_TWO = lazy(r"(.*[^\W\d] )([^\W\d][\w\-]*)/([^\W\d][\w\-]*)")


def _two(slot: Slot, text: str) -> list[str]:
    """The names in `loss pg/vf -0.06/0.65`, of which both numbers have a fraction; empty for any other name."""
    found = _TWO.fullmatch(slot.name) if "." in slot.text and "." in text else None
    return [] if found is None else [found[1] + found[2], found[1] + found[3]]


def _several(name: str) -> list[str]:
    """The names in a name with several statistics, as in `reward mean/std 0.2/0.4`; empty for any other name."""
    *others, last = name.replace("/", " / ").split(" / ")
    said = [last]
    while others and others[-1].lower() in words().statistics:
        said.insert(0, others.pop())
    before, _, first = (others[-1] if others else "").rpartition(" ")
    if first.lower() in words().statistics:
        said.insert(0, first)
        others[-1] = before
    of = "/".join(others)
    if len(said) < 2 or not of or any(one.lower() not in words().statistics for one in said):
        return []
    return [f"{of} {one}" for one in said]


def _by_unit(unit: str, gap: str, message: str, end: int, section: str, newest: str) -> str:
    """The name of a number that has only a unit of time or rate; "" if it gets none. It is the time of the section or
    of what the line counts, if one is named: `rollout: 512 samples, 20s`. In brackets at the end of a line it is the
    time of the step, unless the `newest` name before it is that of a time."""
    before = _CLAUSE.split(gap)[-1]
    if (length := _LENGTH.match(unit)) is not None and not any(map(str.isalnum, before)):
        return str(length[1])
    seconds = unit.strip() in ("s", "sec")
    if before.strip() in ("(", "[") and seconds:
        alone = _LAST.match(message, end) is not None and not has_word(newest, either("durations", "timings"))
        return TIME if alone else ""
    if _WORDED.search(before) is not None or _ALONE.match(message, end) is None:
        return ""
    if seconds:
        counted = BEHIND.match(gap)
        of_count = newest if counted and counted[1].lower() in words().items | words().amounts else ""
        done = next((title for title in (section, of_count) if title.lower() in words().phases), "")
        return as_time(done) if done else TIME
    rate = _RATE.match(unit)
    return "" if rate is None else str(rate[1])


def _is_word(message: str, at: int) -> bool:
    """Whether a number is part of a name or sentence: the 8 of `pass@8`, the `nan` of `number of nan iterations`."""
    before = message[max(0, at - 40) : at]
    if before.endswith("@"):
        named = _AT.search(before)
        return named is not None and not has_word(named[1], words().evaluation | words().counters)
    return message[at] in "nNiI" and _NO_NUMBER.search(before) is not None


def _mean_of(first: Slot, listed: list[float], end: int) -> Slot:
    mean = sum(listed) / len(listed)
    name = first.name if not first.name or len(listed) > 2 else f"{first.name}_mean"
    return replace(first, name=name, text=repr(mean), value=mean, end=end)


@lru_cache(maxsize=NAMES)
def _name(gap: str) -> str:
    """The words right before a number; "" if there are none, or too many for a name."""
    tied = _TIED.sub("", gap)
    if size := _SIZE.search(gap):
        return f"{size[1]}{size[2]}{size[1]}"
    if (at := next((m for m in _CONDITION.finditer(gap + "0") if gap[m.end() :].strip(" :=") == ""), None)) is not None:
        own = _name(gap[: at.start()] + ":")
        return own + at[1] if own and "=" not in at[1].replace("<=", "").replace(">=", "") else own
    if (set_apart := _ARGUMENT.search(gap)) and set_apart[1] in (None, set_apart[3]):
        return str(set_apart[2])
    if tied == gap:  # joined to the text before it, as in `v2`
        return ""
    if size := _NORM.search(gap):
        return f"{size[1]}{size[2]}{size[1]}"
    if gap.count("=") > gap.count("=>") + 1 and (one := _ASSIGNED.search(gap)):
        return str(one[1])
    if tied.endswith((")", "]")) and (said := _IN_BRACKETS.match(gap)) and (inner := _name(said[1] + ":")):
        return inner + (said[2] or f" ({said[3][1:-1]})")
    found = _NAME.match(_VERB.sub("", _LINKS.sub("", _SEPARATOR.split(tied)[-1].strip(" '\"*-"))))
    return str(found[1]) if found and not found[1].endswith(".py") else ""


def is_whole(slot: Slot) -> bool:
    """Whether a number is whole, so that it may count something."""
    return slot.text.replace(",", "").isdecimal() and slot.value < 1e15


def told_by(slot: Slot) -> float | None:
    """The value of a slot. With a total it is a share if its name says so, `correct 12/64`, and the value below a limit
    if that says so, `len 351/1024`; else None."""
    if slot.of is None or has_word(slot.name, words().limited):
        return slot.value
    share = 0 < slot.of >= slot.value and has_word(slot.name, words().shares)
    return slot.value / slot.of if share else None
