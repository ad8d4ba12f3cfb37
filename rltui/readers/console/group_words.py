"""Words that name the group of the numbers after them in a line: `loss=0.4 | val loss=0.9 reward=0.3`, `[critic]
loss=0.2 lr=1e-6`, `train(loss=0.1) test(loss=0.3)`. Such a word holds until the next one, or until a bar or a bracket.

An evaluation uses the same names as the training, and so do two models of one step. The names are then written out,
`val/reward`, before anything else reads the line.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from msgspec import Struct

from rltui.lazy_regex import lazy
from rltui.readers.console.forms import RECENT, unchanged_alike
from rltui.readers.console.named_numbers import NUMBER, UNIT
from rltui.readers.console.sections import part_of_step
from rltui.readers.name_words import either, has_word, is_named, words

LONGEST = 2000
"""A line with more characters is not a list of numbers."""
_WORD = lazy(r"[^\W\d_]+")
_WORDS = r"[^\W\d][\w/.@\-]*(?: [^\W\d][\w/.@\-]*){0,4}"
_NAMED = lazy(rf"(?<![\w/.@\-])({_WORDS})(?:\s*[:=]\s*|\s+)$")
"""The words before a number."""
_LABEL = lazy(rf"(?:[\[<]\s*({_WORDS})\s*[\]>]:?\s*|(?:^|(?<=[\s,|│;]))({_WORDS})(?:\s?\(\s*|\s?:\s+))$")
"""A group word that is set apart from the name after it."""
_BREAK = lazy(r"[|│┃;()\[\]<>]|\s[-–—]\s")
"""What ends a group, unless it separates all pairs of the line."""
_BAR = lazy(r"[|│┃;]|\s[-–—]\s")


class _Group(Struct):
    """A group word, and whether it is `set_apart`: from the names after it by a sign, or from the pairs before it by
    more than what separates those pairs. `first`: it begins the line."""

    word: str
    set_apart: bool
    first: bool

    @property
    def is_evaluation(self) -> bool:
        return _is_evaluation(self.word)

    @property
    def is_training(self) -> bool:
        return has_word(self.word, words().of_training)


class _Pair(Struct):
    """A named number: its name without a group word, where name and group word begin, and its group."""

    name: str
    begin: int
    opens: int
    group: _Group | None

    @property
    def key(self) -> str:
        return self.name.lower()

    def is_of_held_out(self, message: str) -> bool:
        """Whether two words name its evaluation: `greedy eval reward`."""
        said = message[self.opens : self.begin].lower().split()
        return len(said) > 1 and said[0] in words().held_out


@lru_cache(maxsize=RECENT)
@unchanged_alike
def grouped(message: str) -> str:
    """A line with its group words in the names of their numbers. It is unchanged if no name occurs in two groups and no
    evaluation is set apart from the numbers before it."""
    if len(message) > LONGEST or "{" in message or not _says_groups(message):
        return message
    pairs = _pairs(message)
    told: dict[str, set[str]] = {}
    for pair in pairs:
        told.setdefault(pair.key, set()).add("" if pair.group is None else pair.group.word.lower())
    trains = any(pair.group is not None and pair.group.is_training for pair in pairs)
    named = [(pair, name) for pair in pairs if (name := _named(pair, told[pair.key], trains)) is not None]
    inner = {id(pair.group) for pair, _ in named if pair.opens == pair.begin or pair.is_of_held_out(message)}
    for pair, name in reversed(named):
        if id(pair.group) in inner:
            message = message[: pair.opens] + name + message[pair.begin + len(pair.name) :]
    return message


def names_in(text: str) -> list[str]:
    """The names of the numbers in a text, in lower case."""
    return [pair.key for pair in _pairs(text)]


def labelled(text: str, label: str, only: Collection[str] | None = None) -> str:
    """A text with a label before the names of its numbers, or before those in `only`."""
    for pair in reversed(_pairs(text)):
        if (only is None or pair.key in only) and pair.key not in words().statistics:
            end = pair.begin + len(pair.name)
            text = text[: pair.opens] + part_of_step(label, text[pair.opens : end]) + text[end:]
    return text


def _says_groups(message: str) -> bool:
    known = either("groups", "evaluation", "held_out")
    return any(word.lower() in known for word in _WORD.findall(message))


def _named(pair: _Pair, groups: set[str], trains: bool) -> str | None:
    """The name of a pair with its group; None if it stays as it is. `groups`: those that have this name. `trains`: the
    line has a word for training too, so all its numbers belong to a group."""
    group = pair.group
    if group is None or is_named(pair.name, either("counters", "weak_counters")):
        return None
    if pair.key in words().statistics:
        return None  # it belongs to the metric before it
    shared = len(groups) > 1
    if group.is_evaluation:
        stays = either("by_group", "remaining", "memory", *(() if group.set_apart else ("durations",)))
        whole = shared or (not group.first and (group.set_apart or trains) and not has_word(pair.name, stays))
        return as_evaluated(group.word, pair.name) if whole or pair.opens < pair.begin else None
    if group.is_training and all(not of or _is_evaluation(of) or of == group.word.lower() for of in groups):
        return None
    if pair.opens < pair.begin:
        return f"{group.word}_{pair.name}" if shared else None
    return part_of_step(group.word.lower(), pair.name) if shared else None


def as_evaluated(label: str, name: str) -> str:
    """The name of a number from data with this label: `val/reward`, `eval/dev/reward`."""
    label = label.lower()
    return f"{label}/{name}" if has_word(label, words().evaluation) else f"eval/{label}/{name}"


def _is_evaluation(word: str) -> bool:
    return has_word(word, either("evaluation", "held_out"))


def _pairs(message: str) -> list[_Pair]:
    """The named numbers of a line, each with the group that holds for it."""
    gaps = _gaps(message)
    named = [gap for at, gap in gaps if at and _NAMED.search(gap)]
    barred = bool(named) and all(map(_BAR.search, named))  # bars are only between the pairs
    out: list[_Pair] = []
    group: _Group | None = None
    apart = False  # a bar or bracket came since the last pair
    for at, gap in gaps:
        found = _NAMED.search(gap)
        before = gap if found is None else gap[: found.start()]
        apart |= _BREAK.search(before) is not None
        if found is None:
            continue
        begin = at + found.start(1)
        own, rest = _split(found[1])
        label = _LABEL.search(before)
        said = "" if label is None else _group_in(label[1] or label[2])
        if said:
            group = _Group(
                said, set_apart=True, first=not message[: at + label.start()].strip(" [(<|") if label else False
            )
        elif own:
            group = _Group(own, set_apart=apart and not barred, first=not message[:begin].strip(" [(<|"))
        elif apart and not barred:
            group = None
        name = rest if own and not said else found[1]
        out.append(_Pair(name, begin + len(found[1]) - len(name), begin, group))
        apart = False
    return out


def _gaps(message: str) -> list[tuple[int, str]]:
    """The text before each number, with its place."""
    out = []
    end = 0
    for number in NUMBER.finditer(message):
        if number.start() < end:
            continue
        out.append((end, message[end : number.start()]))
        unit = UNIT.match(message, number.end())
        end = number.end() if unit is None else unit.end()
    return out


def _split(name: str) -> tuple[str, str]:
    """The group word at the beginning of a name, and the rest; ("", name) if there is none."""
    said = name.split(" ")
    if len(said) > 2 and said[0].lower() in words().held_out and said[1].lower() in words().evaluation:
        return said[0], " ".join(said[2:])  # `greedy eval reward`
    for count in (2, 1):
        if len(said) > count and (word := _group_in(" ".join(said[:count]))):
            return word, " ".join(said[count:])
    return "", name


def _group_in(label: str) -> str:
    """A label, if it is a group word; else ""."""
    known = either("groups", "evaluation", "held_out")
    return "_".join(label.split()) if label.lower() in known else ""
