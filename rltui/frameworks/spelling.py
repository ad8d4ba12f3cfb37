"""Names as people write them: `Mean Reward`, `meanReward`, `avg-reward`, `Reward (mean)`, `charts/avg_reward` are one.

Only the words of a name count, in any order, in the spelling of `data/spellings.json`. If the names of several metrics
have the same words, these words stand for none of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from rltui.data_files import Record, read
from rltui.lazy_regex import lazy

Words = tuple[str, ...]
_CAMEL = lazy(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
_MEAN = lazy("([A-Za-z])[\u0304\u0305]")
_GREEK_WORDS = ("std", "mean", "pi", "delta", "beta", "lambda", "grad")
_GREEK = {ord(sign): f" {word} " for sign, word in zip("σμπΔβλ∇", _GREEK_WORDS, strict=True)}
_IN_BRACKETS = lazy(r"[\[(]([^\[\]()]{1,30})[\])]")
_RATE = lazy(r"(?i)\b(its?|iters?|iterations?|steps?|updates?)/(s|secs?|seconds?)\b")
"""A rate per second: `it/s` has the same words as `s/it`, but is its inverse."""


class Spellings(Record):
    """`same`: word -> its standard spelling (empty: it has no meaning). `units`: a unit in a name -> the factor for its
    values. `scaled`: such a factor -> the units of metrics to which it may belong. `groups`: first parts of a key that
    only sort. `other_parts`: words above settings of models other than the trained policy. `own_parts`: words above
    settings of the training as a whole."""

    same: dict[str, str]
    units: dict[str, float]
    scaled: dict[str, tuple[str, ...]]
    groups: frozenset[str]
    other_parts: frozenset[str]
    own_parts: frozenset[str]


class Spelt(NamedTuple):
    """The words of a name in alphabetical order, and the factor that turns its values into canonical ones."""

    words: Words
    scale: float = 1.0


@cache
def spellings() -> Spellings:
    """The words of the data file."""
    return read(Path(__file__).with_name("data") / "spellings.json", Spellings)


@lru_cache(maxsize=16384)
def readings(key: str) -> tuple[Spelt, ...]:
    """The spellings of a name: of the whole name, then without each first part that only sorts. Empty if the name has
    no words."""
    found = dict.fromkeys([_spelt(key)])
    rest = key
    while (tie := next((mark for mark in "/." if mark in rest), "")) != "":
        group, _, rest = rest.partition(tie)
        if group.lower() not in spellings().groups:
            break
        found[_spelt(rest)] = None
    return tuple(spelt for spelt in found if spelt.words)


def words_of(key: str) -> tuple[str, ...]:
    """The words of the whole name; empty if it has none, like `奖励` or a name that is only a unit."""
    return next((spelt.words for spelt in readings(key)), ())


def _spelt(key: str) -> Spelt:
    data, scale = spellings(), 1.0

    def bracket(match: re.Match[str]) -> str:
        nonlocal scale
        said = match[1].strip().lower()
        scale *= data.units.get(said, 1.0)
        return " " if said in data.units else f" {said} "

    text = _RATE.sub(r"\1 per\2", _IN_BRACKETS.sub(bracket, _without_marks(key)))
    words: list[str] = []
    for word in re.split(r"[^a-z0-9@+]+", _CAMEL.sub("_", text.replace("%", " percent ")).lower()):
        if (unit := data.units.get(word)) is not None and unit != 1 and word:
            scale *= unit
        elif word:
            words += data.same.get(word, word).split()
    return Spelt(tuple(sorted(words)), scale)


@lru_cache(maxsize=4096)
def _without_marks(key: str) -> str:
    """The name with plain Latin letters: `Länge` becomes `Laenge`. Greek letters and the bar of a mean become words."""
    if key.isascii():
        return key
    key = _MEAN.sub(r"\1_mean", key.translate(_GREEK))
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", key).translate(_UMLAUTS))
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def by_words(aliases: Iterable[tuple[str, str]]) -> Mapping[Words, str]:
    """Words -> what all aliases with these words stand for; words whose aliases disagree are left out. So are single
    letters, which count only in their exact form."""
    out: dict[Words, str] = {}
    disputed = set()
    for key, canonical in aliases:
        spelt = _spelt(key)
        if len("".join(spelt.words)) > 1 and spelt.scale == 1 and out.setdefault(spelt.words, canonical) != canonical:
            disputed.add(spelt.words)
    return {words: canonical for words, canonical in out.items() if words not in disputed}


def scale_fits(scale: float, unit: str) -> bool:
    """Whether a key with this factor can belong to a metric of this unit."""
    return scale == 1 or unit in spellings().scaled.get(f"{scale:g}", ())
