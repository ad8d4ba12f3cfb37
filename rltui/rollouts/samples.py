"""The samples of a run in numbers, for rules, tables and screens.

Functions of one text come first. They return None if the text is too short to judge. Then come `SampleStats`, the
numbers of one step, and `Samples`, what a diagnosis may use: a few steps. The choice of steps depends only on which
steps have dumps, so that a followed run and one that is read at once get the same diagnosis. Thresholds and markers are
data (`samples.json`), from the rules `degenerate-samples`, `eos-mismatch` and `reward-mode-share`. Shares are of the
samples examined, 0..1.
"""

from __future__ import annotations

import json
import re
import unicodedata
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from rltui.data_files import Record, kept, read
from rltui.rollouts.pipeline_marks import Setup

_WORD = re.compile(r"\w+|[^\w\s]")
_LOOKED_AT = 20_000  # characters of one text: a loop shows well before that
_RUN = re.compile(r"(\S)\1{7,}")
EARLIER = 4
"""At most `EARLIER + 1` evenly spread dumps are read, including the first."""
NEWEST = 3
"""This many of the newest dumps are also read: a level counts only after it has held for two or three dumps."""


class Limits(Record):
    """The thresholds and markers of `samples.json`. Shares are 0..1; `examined` counts samples of one step."""

    examined: int
    ngram: int
    repeated_share: float
    compression_ratio: float
    character_run: int
    min_ngrams: int
    scripts: int
    letters_per_script: int
    maths_scripts: frozenset[str]
    same_script: dict[str, str]
    tags: tuple[str, ...]
    end_markers: tuple[str, ...]
    turn_markers: tuple[str, ...]
    tool_turns: tuple[str, ...]
    artefacts: tuple[str, ...]
    doubled_templates: tuple[str, ...]
    histogram_values: int
    histogram_bins: int


@kept
def limits() -> Limits:
    return read(Path(__file__).with_name("samples.json"), Limits)


def is_empty(text: str) -> bool:
    """Whether a text holds nothing but white space."""
    return not text or text.isspace()


def repeat_share(text: str) -> float | None:
    """The share of word 4-grams that repeat an earlier one: 0 for none, near 1 for a loop. None if there are fewer than
    `min_ngrams`."""
    words = _WORD.findall(text[:_LOOKED_AT])
    size = limits().ngram
    grams = list(zip(*(words[i:] for i in range(size)), strict=False))
    return None if len(grams) < limits().min_ngrams else 1 - len(set(grams)) / len(grams)


def most_repeated(text: str) -> tuple[str, int] | None:
    """The most frequent word 4-gram of a text and its count; None if none occurs twice."""
    words = _WORD.findall(text[:_LOOKED_AT])
    size = limits().ngram
    counts = Counter(tuple(words[i : i + size]) for i in range(len(words) - size + 1))
    if not counts or counts.most_common(1)[0][1] < 2:
        return None
    gram, times = counts.most_common(1)[0]
    return " ".join(gram), times


def compression_ratio(text: str) -> float | None:
    """The number of bytes divided by that after zlib: 1.5 to 3 for prose, above 10 for a loop. None below 100 bytes."""
    data = text[:_LOOKED_AT].encode("utf-8", "replace")
    return len(data) / len(zlib.compress(data, 1)) if len(data) >= 100 else None


def longest_run(text: str) -> tuple[str, int]:
    """The character with the longest run of at least 8, and the run's length; ("", 0) if there is none."""
    runs = [(match[1], match.end() - match.start()) for match in _RUN.finditer(text[:_LOOKED_AT])]
    return max(runs, key=lambda run: run[1], default=("", 0))


def is_repeated(text: str, share: float | None, ratio: float | None) -> bool:
    """Whether a text is degenerate: too many repeated 4-grams, a too high compression ratio, or one character too often
    in a row."""
    loops = share is not None and share > limits().repeated_share
    compresses = ratio is not None and ratio > limits().compression_ratio
    return bool(loops or compresses or longest_run(text)[1] > limits().character_run)


def is_token_zero(text: str) -> bool:
    """Whether a text is a single punctuation mark repeated four times or more ("!!!!"): token 0, which NaN logits
    sample."""
    stripped = text.strip()
    return len(stripped) >= 4 and len(set(stripped)) == 1 and not stripped[0].isalnum()


def malformed_tag(text: str, prompt: str | None = None) -> str | None:
    """The first known tag (`<think>`, `<answer>`, ...) that is opened but not closed, closed but not opened, or closed
    before it is opened; None if there is none. A tag that the end of the prompt opens counts as opened."""
    tail = (prompt or "")[-200:].rstrip()
    for tag in limits().tags:
        opening, closing = f"<{tag}>", f"</{tag}>"
        opened = text.count(opening) + tail.endswith(opening)
        closed = text.count(closing)
        if opened != closed or (opened and text.find(closing) < text.find(opening)):
            return str(tag)
    return None


def tool_calls(text: str) -> tuple[int, int]:
    """How many calls a text opens with `<tool_call>`, and how many of them cannot be run because they are not closed,
    or are neither a JSON object with a name (and arguments that are JSON) nor `<function=...>`."""
    calls = text.split("<tool_call>")[1:]
    return len(calls), sum(not _is_call(call) for call in calls)


def _is_call(after: str) -> bool:
    body, closed, _ = after.partition("</tool_call>")
    body = body.strip()
    if not closed or not body:
        return False
    if body.startswith("<function="):
        return True
    try:
        call = json.loads(body)
        if isinstance(call, dict) and isinstance(call.get("function"), dict):  # the form of chat APIs
            call = call["function"]
            if isinstance(call.get("arguments"), str) and call["arguments"].strip():
                json.loads(call["arguments"])
    except (ValueError, RecursionError):
        return False
    return isinstance(call, dict) and isinstance(call.get("name"), str)


def past_end(text: str) -> str | None:
    """The end-of-turn marker, or the user turn, after which the text continues: generation did not stop where it
    should. None if there is none. A marker at the very end is fine, and so is a tool's answer after it."""
    stripped = text.rstrip()
    if any(marker in stripped for marker in limits().tool_turns):
        return None
    for marker in limits().end_markers:
        at = stripped.find(marker)
        if 0 <= at < len(stripped) - len(marker):
            return marker
    return next((marker.strip() for marker in limits().turn_markers if marker in stripped), None)


def decoder_artefact(text: str) -> str | None:
    """The first sign of padding or wrong decoding in a text: a pad token, bytes that are not text, a tokenizer's mark
    for a space. None if there is none."""
    return next((mark for mark in limits().artefacts if mark in text), None)


def non_ascii_share(text: str) -> float | None:
    """The share of characters that are not ASCII; None for an empty text."""
    return None if not text else 1 - len(text.encode("ascii", "ignore")) / len(text)


def scripts(text: str) -> int:
    """The number of writing systems with at least three different letters in the text. Greek counts as maths, Japanese
    as Chinese."""
    letters = Counter(_script(c) for c in set(text[:_LOOKED_AT]) if c.isalpha())
    return sum(1 for script, count in letters.items() if script and count >= limits().letters_per_script)


def main_script(text: str) -> str:
    """The writing system of most letters in the last 4,000 characters of a text; "" if they have no letters."""
    end = text[-4000:]
    if end.isascii():
        return "LATIN" if any(map(str.isalpha, end)) else ""
    letters = Counter(script for c in end if c.isalpha() and (script := _script(c)))
    return letters.most_common(1)[0][0] if letters else ""


def in_other_script(text: str, prompt: str | None) -> bool:
    """Whether the main writing system of a text differs from that of its prompt."""
    if not prompt or (text.isascii() and prompt.isascii()):
        return False
    asked, given = main_script(prompt), main_script(text)
    return bool(asked and given) and asked != given


def distinct(texts: Iterable[str], sizes: Sequence[int]) -> list[float | None]:
    """The share of distinct word n-grams among all n-grams of these texts (distinct-n, Li et al. 2016), for each n in
    `sizes`; None if there are no n-grams."""
    seen: list[set[Any]] = [set() for _ in sizes]
    totals = [0] * len(sizes)
    for text in texts:
        words = _WORD.findall(text[:_LOOKED_AT])
        for i, n in enumerate(sizes):
            grams = words if n == 1 else list(zip(*(words[k:] for k in range(n)), strict=False))
            totals[i] += len(grams)
            seen[i].update(grams)
    return [len(found) / total if total else None for found, total in zip(seen, totals, strict=True)]


def mode_share(values: Sequence[float]) -> tuple[float, float] | None:
    """The most common value (rounded to six digits) and its share; None without values."""
    if not values:
        return None
    value, count = _rounded(values).most_common(1)[0]
    return value, count / len(values)


def _rounded(values: Iterable[float]) -> Counter[float]:
    """How often each value occurs, with values rounded to six digits."""
    counts: Counter[float] = Counter()
    for value, count in Counter(values).items():
        counts[round(value, 6)] += count
    return counts


class Bar(Struct, frozen=True):
    """One bar of a histogram: `count` values from `low` to `high` (equal for a single value), `truncated` of them from
    truncated responses."""

    low: float
    high: float
    count: int
    truncated: int = 0


def histogram(values: Sequence[float], truncated: Sequence[bool | None] | None = None) -> tuple[Bar, ...]:
    """Bars from low to high: one for each value if there are at most `histogram_values`, else `histogram_bins` bars of
    equal width."""
    if not values:
        return ()
    of_cut = [value for value, cut in zip(values, truncated or (), strict=False) if cut]
    counts, cut = _rounded(values), _rounded(of_cut)
    distinct = sorted(counts)
    if len(distinct) <= limits().histogram_values:
        return tuple(Bar(value, value, counts[value], cut[value]) for value in distinct)
    bins = limits().histogram_bins
    low, width = distinct[0], (distinct[-1] - distinct[0]) / bins
    places = [0] * bins
    cut_at = [0] * bins
    for value, count in counts.items():
        place = min(bins - 1, int((value - low) / width))
        places[place] += count
        cut_at[place] += cut[value]
    return tuple(Bar(low + i * width, low + (i + 1) * width, places[i], cut_at[i]) for i in range(bins))


def joined(bars: Sequence[Bar], most: int) -> tuple[Bar, ...]:
    """The same histogram in at most `most` bars. Neighbours are joined; no bar is left out."""
    size = -(-len(bars) // most)
    parts = [bars[at : at + size] for at in range(0, len(bars), size or 1)]
    return tuple(
        Bar(part[0].low, part[-1].high, sum(one.count for one in part), sum(one.truncated for one in part))
        for part in parts
    )


class TextMarks(Struct, frozen=True):
    """What one completion shows. `repeat` and `compression` are None if it is too short to judge."""

    empty: bool
    repeated: bool
    repeat: float | None
    compression: float | None
    malformed: str | None  # the tag
    past_end: str | None  # the marker
    artefact: str | None  # the sign of padding or wrong decoding
    token_zero: bool
    non_ascii: float | None
    mixed_scripts: bool
    tool_calls: int = 0
    tool_calls_invalid: int = 0
    other_script: bool = False


def marks(text: str, prompt: str | None = None) -> TextMarks:
    """All marks of one completion. The prompt shows whether a tag was opened there."""
    share, ratio = repeat_share(text), compression_ratio(text)
    return TextMarks(
        is_empty(text),
        is_repeated(text, share, ratio),
        share,
        ratio,
        malformed_tag(text, prompt),
        past_end(text),
        decoder_artefact(text),
        is_token_zero(text),
        non_ascii_share(text),
        not text.isascii() and scripts(text) >= limits().scripts,
        *tool_calls(text),
        in_other_script(text, prompt),
    )


class SampleStats(Struct, frozen=True):
    """The numbers of one step's samples. Shares are 0..1; None if the dump does not show them.

    `samples`: how many there are. `examined`: how many texts were read (evenly spread, at most 512). `truncated` and
    `mode_share` cover all samples, `zero_variance` groups of two or more. `invalid_format`: malformed tags, or a reward
    component named after the format that is 0 or less. `invalid_whole`: the same without truncated responses.
    """

    step: int | None
    split: str
    samples: int
    examined: int
    empty: float | None
    repeated: float | None
    identical: float | None  # samples whose text equals that of another sample of the same group
    truncated: float | None
    invalid_format: float | None
    past_end: float | None
    artefacts: float | None  # padding or wrong decoding in the text
    token_zero: float | None
    non_ascii: float | None  # mean share of characters
    mixed_scripts: float | None
    distinct_1: float | None
    distinct_2: float | None
    compression: float | None  # median
    repeat: float | None  # mean share of repeated 4-grams
    reward_mean: float | None
    mode_value: float | None
    mode_share: float | None
    zero_variance: float | None  # share of groups
    length_mean: float | None  # tokens
    groups: int = 0  # with two or more rewards
    reward_min: float | None = None
    reward_max: float | None = None
    invalid_whole: float | None = None
    tool_calls: float | None = None  # mean number per sample
    tool_invalid: float | None = None  # share of the calls
    right: int | None = None  # samples whose answer equals their reference
    wrong: int | None = None  # samples whose answer differs from it
    follows: float | None = None  # how often a right sample has more reward than a wrong one (`answers.follows`)
    contradiction: str = ""  # a sample that its reward contradicts, in words
    other_script: float | None = None  # share with most letters in another writing system than the prompt's
    setup: Setup | None = None  # copies, prompts, missing rewards

    @property
    def copied(self) -> float | None:
        """The share of long texts that equal that of another sample of their group."""
        return self.setup.copied if self.setup else None

    @property
    def doubled_prompts(self) -> float | None:
        """The share of prompts with a chat template inside another one."""
        return self.setup.doubled if self.setup else None

    @property
    def shown_solutions(self) -> float | None:
        """The share of prompts that give away their reference."""
        return self.setup.shown if self.setup else None

    @property
    def unrewarded(self) -> float | None:
        """The share of samples without a reward, if others have one."""
        return self.setup.unrewarded if self.setup else None

    @property
    def prompts(self) -> float | None:
        """The number of different prompts."""
        return self.setup.prompts if self.setup else None


def share(flags: Iterable[bool]) -> float | None:
    """The share of flags that are set; None if there are no flags."""
    known = list(flags)
    return sum(known) / len(known) if known else None


@lru_cache(maxsize=8192)
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").split(" ")[0]
    return "" if name in limits().maths_scripts else limits().same_script.get(name, name)


class Samples(Struct, frozen=True):
    """What is known about a run's rollouts. `steps`: the steps with a dump, ascending. `stats`: the numbers of those
    that were read.

    `nameless`: the numbers of samples without a step, which only describe the run as a whole. `pending`: samples are
    still being read. `missing`: why there are none. `enable`: how to make this framework keep its rollouts.
    """

    steps: tuple[int, ...] = ()
    stats: Mapping[int, SampleStats] = field(default_factory=dict)
    nameless: SampleStats | None = None
    pending: bool = True
    missing: str = ""
    enable: str = ""

    def until(self, step: int) -> tuple[SampleStats, ...]:
        """The numbers by which to judge at a step, oldest first, without later steps."""
        return tuple(self.stats[one] for one in chosen(self.steps, step) if one in self.stats)


def chosen(steps: Sequence[int], until: int) -> tuple[int, ...]:
    """The steps to read, out of ascending `steps` up to `until`: evenly spread ones from the first one on, and the
    newest ones.

    The evenly spread ones are at multiples of a power of two, so that dumps read while the run grew are used again.
    """
    count = bisect_right(steps, until)
    stride = 1
    while (count - 1) // stride > EARLIER:
        stride *= 2
    places = {*range(0, count, stride), *range(max(0, count - NEWEST), count)}
    return tuple(steps[place] for place in sorted(places))
