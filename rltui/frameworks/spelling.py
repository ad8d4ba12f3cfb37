"""Names as people write them: `Mean Reward`, `meanReward`, `avg-reward`, `Reward (mean)`, `charts/avg_reward` are one.

A name is its words, whatever their order, in the spelling of `data/spellings.json`. Names of several metrics that come
to the same words stand for none of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from rltui.data_files import Record, read

Words = tuple[str, ...]
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
_MEAN = re.compile("([A-Za-z])[\u0304\u0305]")
_GREEK_WORDS = ("std", "mean", "pi", "delta", "beta", "lambda", "grad")
_GREEK = {ord(sign): f" {word} " for sign, word in zip("σμπΔβλ∇", _GREEK_WORDS, strict=True)}
_IN_BRACKETS = re.compile(r"[\[(]([^\[\]()]{1,30})[\])]")


class Spellings(Record):
    """`same`: a word and what it is spelt as (empty: it says nothing). `units`: words in brackets, or before or after a
    name, and by how much their values are scaled; `scaled`: the units of metrics that such a scale leads to.
    `groups`: first parts of a key that only sort; `other_parts`: words above settings that are no trained policy's,
    `own_parts`: words that stand above those of the training as a whole."""

    same: dict[str, str]
    units: dict[str, float]
    scaled: dict[str, tuple[str, ...]]
    groups: frozenset[str]
    other_parts: frozenset[str]
    own_parts: frozenset[str]


class Spelt(NamedTuple):
    """The words of a name in their order of the alphabet, and what turns its values into canonical ones."""

    words: Words
    scale: float = 1.0


@cache
def spellings() -> Spellings:
    """The words of the data file."""
    return read(Path(__file__).with_name("data") / "spellings.json", Spellings)


@lru_cache(maxsize=16384)
def readings(key: str) -> tuple[Spelt, ...]:
    """What a name may be: all of it, then without the first parts that only sort."""
    found = dict.fromkeys([_spelt(key)])
    rest = key
    while "/" in rest:
        group, _, rest = rest.partition("/")
        if group.lower() not in spellings().groups:
            break
        found[_spelt(rest)] = None
    return tuple(spelt for spelt in found if spelt.words)


def words_of(key: str) -> tuple[str, ...]:
    """The words of the whole name; empty if it has none, as `奖励` or a name of units alone."""
    return next((spelt.words for spelt in readings(key)), ())


def _spelt(key: str) -> Spelt:
    data, scale = spellings(), 1.0

    def bracket(match: re.Match[str]) -> str:
        nonlocal scale
        said = match[1].strip().lower()
        scale *= data.units.get(said, 1.0)
        return " " if said in data.units else f" {said} "

    text = _IN_BRACKETS.sub(bracket, _without_marks(key))
    words: list[str] = []
    for word in re.split(r"[^a-z0-9@+]+", _CAMEL.sub("_", text.replace("%", " percent ")).lower()):
        if (unit := data.units.get(word)) is not None and unit != 1 and word:
            scale *= unit
        elif word:
            words += data.same.get(word, word).split()
    return Spelt(tuple(sorted(words)), scale)


@lru_cache(maxsize=4096)
def _without_marks(key: str) -> str:
    """Letters of Latin script without what stands above or below them: `Länge` is spelt `Laenge`; words for Greek ones
    and for the bar of a mean."""
    if key.isascii():
        return key
    key = _MEAN.sub(r"\1_mean", key.translate(_GREEK))
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", key).translate(_UMLAUTS))
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def by_words(aliases: Iterable[tuple[str, str]]) -> Mapping[Words, str]:
    """Words -> what the aliases of these words stand for, if that is one thing. A single letter is one but as it is."""
    out: dict[Words, str] = {}
    disputed = set()
    for key, canonical in aliases:
        spelt = _spelt(key)
        if len("".join(spelt.words)) > 1 and spelt.scale == 1 and out.setdefault(spelt.words, canonical) != canonical:
            disputed.add(spelt.words)
    return {words: canonical for words, canonical in out.items() if words not in disputed}


def scale_fits(scale: float, unit: str) -> bool:
    """Whether values of such a scale belong to a metric of this unit."""
    return scale == 1 or unit in spellings().scaled.get(f"{scale:g}", ())
