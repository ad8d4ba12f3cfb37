"""The words of names: what training, clocks, counts and statistics are called (`template_words.json`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from rltui.data_files import Record, kept, read
from rltui.lazy_regex import lazy

NAMES = 2048
"""So many names of numbers are kept: those of one line are those of the next."""
_WORD = lazy(r"[^\W\d_]+")


class TemplateWords(Record):
    """Words of names: what counts (surely, perhaps; `steps`: and nothing within one), what training, clocks and
    statistics are called, and what tells that a line counts something else: `evaluation`, `items` of data, `places`
    in the cluster. `tests`: of the words for an evaluation those that a program may be called, too; `benchmarks`:
    sets of problems that nobody trains on. `of_training`: in a title, that the evaluation above it is over;
    `out_of` stands between a count and its total; `prose`: words of sentences, which make no name; `parts`: of a
    step, over or before their numbers; `bookkeeping`: names of what a tool notes and nobody measures; `amounts`:
    words before what is counted, not what counts (`n_steps`); `by_group`: what an optimizer has for each group of
    parameters, the first of which counts; `shares`: what is told out of so many, `correct 12/64`; `timings`: over
    what took so long; `remaining`: of other times, of a forecast above all; `no_part`: of what may stand in
    brackets behind a reward and is no part of it; `phases`: what is done within a step, as the title of its line
    says; `contrasts`: kinds of answers for which a number is told apart, `length 311 (correct 290, wrong 340)`;
    `inner`: words before what counts within a step; `texts`: in a line over a sample or code; `memory`: of how much
    of that is used; `findings`: of what an evaluation tells when it is over."""

    counters: frozenset[str]
    steps: frozenset[str]
    weak_counters: frozenset[str]
    training: frozenset[str]
    durations: frozenset[str]
    timings: frozenset[str]
    statistics: frozenset[str]
    evaluation: frozenset[str]
    tests: frozenset[str]
    benchmarks: frozenset[str]
    of_training: frozenset[str]
    items: frozenset[str]
    places: frozenset[str]
    out_of: frozenset[str]
    prose: frozenset[str]
    parts: frozenset[str]
    bookkeeping: frozenset[str]
    amounts: frozenset[str]
    by_group: frozenset[str]
    shares: frozenset[str]
    remaining: frozenset[str]
    no_part: frozenset[str]
    phases: frozenset[str]
    contrasts: frozenset[str]
    inner: frozenset[str]
    texts: frozenset[str]
    memory: frozenset[str]
    findings: frozenset[str]


@kept
def words() -> TemplateWords:
    return read(Path(__file__).with_name("template_words.json"), TemplateWords)


@cache
def either(*kinds: str) -> frozenset[str]:
    """The words of several kinds, always in the same set: `has_word` remembers by that."""
    return frozenset[str]().union(*(getattr(words(), kind) for kind in kinds))


_LETTERS = ((0, 0xA000, 0x20000), (0x1F000, 0x20000, 0x2A700))
"""Signs from, up to, and the first of the letters for them: rare ones of Chinese, that no name is made of."""
_RARE = lazy("[\U00020000-\U0002b6ff]")
"""All of those letters."""


def letter_for(sign: str) -> str:
    """The letter that stands for a sign or digit while a line is read; the sign itself if it has none."""
    if sign.isalpha():
        return sign
    code = ord(sign)
    return next((chr(first + code - begin) for begin, end, first in _LETTERS if begin <= code < end), sign)


@lru_cache(maxsize=NAMES)
def shown(name: str) -> str:
    """A name with its signs where letters stand for them."""
    return name if _RARE.search(name) is None else "".join(map(_sign_of, name))


def _sign_of(letter: str) -> str:
    for begin, end, first in _LETTERS:
        if first <= ord(letter) < first + end - begin:
            sign = chr(begin + ord(letter) - first)
            return letter if sign.isalpha() else sign
    return letter


@lru_cache(maxsize=NAMES)
def last_word(name: str) -> str:
    """The last word of a name, in small letters."""
    found = _WORD.findall(shown(name).replace("_", " "))
    return str(found[-1]).lower() if found else ""


@lru_cache(maxsize=NAMES)
def has_word(name: str, wanted: frozenset[str]) -> bool:
    """Whether a word of a name is one of these."""
    return any(word.lower() in wanted for word in _WORD.findall(shown(name).replace("_", " ")))


def is_named(name: str, wanted: frozenset[str]) -> bool:
    """Whether the last word of a name is one of these."""
    return last_word(name) in wanted


def measures(names: Iterable[str]) -> bool:
    """Whether one of these names is one of training: a sentence has none, be it about loss."""
    of_training, prose = either("training", "durations", "evaluation"), words().prose
    return any(has_word(name, of_training) and not has_word(name, prose) for name in names)
