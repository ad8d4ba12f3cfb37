"""The words in names of metrics, times, counts and statistics (`console/template_words.json`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from rltui.data_files import Record, kept, read
from rltui.lazy_regex import lazy

NAMES = 2048
"""The most names that are cached: consecutive lines have the same names."""
_WORD = lazy(r"[^\W\d_]+")


class TemplateWords(Record):
    """Words in names.

    Counters: `counters` (surely), `weak_counters` (perhaps), `steps` (never inside a step), `inner` (before a count
    inside a step), `outer` (of a loop around the steps), `work` (what was done for a step), `doing` (what is being done
    for one), `amounts` (before an amount that is not a counter: `n_steps`), `settings` (before a number of steps that
    is a setting: `warmup_steps`), `out_of` (between a count and its total). Metrics: `training`, `durations`,
    `statistics`, `memory`, `timings` (title of durations), `remaining` (forecast or other times), `shares`
    (`correct 12/64`), `limited` (their upper limit follows: `len 351/1024`), `by_group` (one value for each parameter
    group; the first counts), `no_part` (in brackets after a reward, but not a part of it), `contrasts` (kinds of
    responses: `length 311 (correct 290, wrong 340)`). Lines about something else: `evaluation`, `items` of data,
    `places` in the cluster, `prose`, `bookkeeping` (what a tool notes and nobody measures), `texts` (above a sample or
    code), `speakers` (before a turn of a chat: those of `texts` that label no numbers). `tests`: words for an
    evaluation that may also name a program. `held_out`: data that is not trained on, as the label of an evaluation.
    `groups`: to whom the numbers after it in a line belong; `critics`: those of `groups` that are not the policy.
    `benchmarks`: problem sets that are never trained on; `problem_sets`: others. `of_training`: a title with one ends
    an evaluation. `findings`: words for results of an evaluation. `parts`: parts of a step, above or before their
    numbers. `phases`: work inside a step, in titles of lines. `telling`: words of a sentence that only states a name,
    its number and the step. `trainings`: kinds of trainings, in the words before their steps; `preparations`:
    trainings that come before another one. `one_of_many`: before the number of one sample of a step.
    `identities`: what distinguishes the runs of one log, in the titles above them; `beginnings`: before them in a
    title; `relaunches`: before the number of a launch of the same run;
    `rounds`: further names of a counter of the rounds of an outer loop, beside the step of a row.
    `overall`: in the name of a counter that never begins anew. `ends`: words for the end of a step. `gathering`: in the
    name of a bar for work on answers or files, whatever numbers it shows."""

    counters: frozenset[str]
    steps: frozenset[str]
    weak_counters: frozenset[str]
    outer: frozenset[str]
    work: frozenset[str]
    doing: frozenset[str]
    training: frozenset[str]
    durations: frozenset[str]
    timings: frozenset[str]
    statistics: frozenset[str]
    evaluation: frozenset[str]
    tests: frozenset[str]
    held_out: frozenset[str]
    groups: frozenset[str]
    critics: frozenset[str]
    benchmarks: frozenset[str]
    problem_sets: frozenset[str]
    of_training: frozenset[str]
    items: frozenset[str]
    one_of_many: frozenset[str]
    overall: frozenset[str]
    ends: frozenset[str]
    places: frozenset[str]
    out_of: frozenset[str]
    prose: frozenset[str]
    parts: frozenset[str]
    bookkeeping: frozenset[str]
    amounts: frozenset[str]
    settings: frozenset[str]
    by_group: frozenset[str]
    shares: frozenset[str]
    limited: frozenset[str]
    remaining: frozenset[str]
    no_part: frozenset[str]
    phases: frozenset[str]
    contrasts: frozenset[str]
    inner: frozenset[str]
    identities: frozenset[str]
    beginnings: frozenset[str]
    rounds: frozenset[str]
    relaunches: frozenset[str]
    speakers: frozenset[str]
    texts: frozenset[str]
    memory: frozenset[str]
    findings: frozenset[str]
    telling: frozenset[str]
    trainings: frozenset[str]
    preparations: frozenset[str]
    gathering: frozenset[str]


@kept
def words() -> TemplateWords:
    return read(Path(__file__).with_name("console") / "template_words.json", TemplateWords)


@cache
def either(*kinds: str) -> frozenset[str]:
    """The words of several kinds, always as the same set object, because `has_word` is cached by it."""
    return frozenset[str]().union(*(getattr(words(), kind) for kind in kinds))


_CAMEL = lazy("(?<=[a-z][a-z])(?=[A-Z])")
"""The place between the words of `meanReward`."""
_LETTERS = ((0, 0xA000, 0x20000), (0x1F000, 0x20000, 0x2A700))
"""(first sign, end of the signs, first letter that replaces them): rare Chinese letters, which occur in no name."""
_RARE = lazy("[\U00020000-\U0002b6ff]")
"""All of those letters."""


def letter_for(sign: str) -> str:
    """The letter that replaces a sign or digit while a line is read; the sign itself if there is none."""
    if sign.isalpha():
        return sign
    code = ord(sign)
    return next((chr(first + code - begin) for begin, end, first in _LETTERS if begin <= code < end), sign)


@lru_cache(maxsize=NAMES)
def shown(name: str) -> str:
    """A name with its own signs restored in place of the letters that `letter_for` put there."""
    return name if _RARE.search(name) is None else "".join(map(_sign_of, name))


def _sign_of(letter: str) -> str:
    for begin, end, first in _LETTERS:
        if first <= ord(letter) < first + end - begin:
            sign = chr(begin + ord(letter) - first)
            return letter if sign.isalpha() else sign
    return letter


@lru_cache(maxsize=NAMES)
def last_word(name: str) -> str:
    """The last word of a name, in lower case."""
    found = _words_of(name)
    return found[-1].lower() if found else ""


@lru_cache(maxsize=NAMES)
def has_word(name: str, wanted: frozenset[str]) -> bool:
    """Whether a word of a name is one of these."""
    return any(word.lower() in wanted for word in _words_of(name))


def _words_of(name: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", shown(name)).replace("_", " "))


def is_named(name: str, wanted: frozenset[str]) -> bool:
    """Whether the last word of a name is one of these."""
    return last_word(name) in wanted


def measures(names: Iterable[str], *kinds: str) -> bool:
    """Whether one of these names is that of a metric. `kinds`: the kinds of words that count, if any are given. A
    sentence does not name a metric, even if it is about loss."""
    known, prose = either(*(kinds or ("training", "durations", "evaluation"))), words().prose
    return any(has_word(name, known) and not has_word(name, prose) for name in names)
