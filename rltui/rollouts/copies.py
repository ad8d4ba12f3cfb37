"""What the samples of a step show about the pipeline: copied texts, wrongly built prompts, missing rewards. Patterns
are data (`samples.json`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rltui.rollouts.answers import reference
from rltui.rollouts.formats.base import Raw
from rltui.rollouts.pipeline_marks import Setup
from rltui.rollouts.samples import limits
from rltui.text import clean

LONG = 200
"""Samples with at least this many characters do not have the same text by chance."""
PROMPT_END = 4000
"""This many characters are searched at the beginning and at the end of a prompt."""
SHOWN = 60


class AtPlace(NamedTuple):
    """A sample with its place in the step, its group and its reward."""

    place: int
    raw: Raw
    group: str | None
    reward: float | None


def setup(samples: Sequence[AtPlace]) -> Setup:
    """What these samples of one step show about the pipeline."""
    copied, copied_as, long, texts = _copies(samples)
    asked = [one for one in samples if one.raw.prompt]
    doubled = {one.place: mark for one in asked if (mark := doubled_template(one.raw.prompt or ""))}
    known = [one for one in asked if reference(one.raw) is not None]
    shown = {one.place: said for one in known if (said := shown_solution(one.raw))}
    bare = [one.place for one in samples if one.reward is None]
    rewarded = len(samples) - len(bare)
    return Setup(
        long,
        copied,
        copied_as,
        texts,
        len({one.raw.prompt for one in asked}) or None,
        len({reference(one.raw) for one in known}),
        len(doubled) / len(asked) if asked else None,
        _first(doubled),
        len(shown) / len(known) if known else None,
        _first(shown),
        len(bare) / len(samples) if rewarded else None,
        f"sample {bare[0] + 1} has none" if bare and rewarded else "",
        len({one.raw.group for one in samples if one.raw.group is not None}),
    )


def _first(found: Mapping[int, str]) -> str:
    for place, said in found.items():
        return f"sample {place + 1} has “{clean(' '.join(said.split()), SHOWN)}” in its prompt"
    return ""


def _copies(samples: Sequence[AtPlace]) -> tuple[float | None, str, int, dict[int, int]]:
    texts: dict[int, int] = {}
    within: dict[str, dict[int, list[int]]] = {}
    long = 0
    for one in samples:
        text = one.raw.completion
        if text is None or len(text) < LONG:
            continue
        long += 1
        key = hash(text)
        texts.setdefault(key, one.place)
        if one.group is not None:
            within.setdefault(one.group, {}).setdefault(key, []).append(one.place)
    several = [held for held in within.values() if sum(map(len, held.values())) > 1]
    total = sum(len(places) for held in several for places in held.values())
    alike = [places for held in several for places in held.values() if len(places) > 1]
    named = f"samples {alike[0][0] + 1} and {alike[0][1] + 1} are the same text" if alike else ""
    return (sum(map(len, alike)) / total if total else None), named, long, texts


@lru_cache(maxsize=1)
def _doubled() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, limits().doubled_templates))


def doubled_template(prompt: str) -> str | None:
    """The text at which a chat template begins inside a turn of another one in a prompt, or at which its first token is
    doubled; None if there is none."""
    ends = prompt if len(prompt) <= 2 * PROMPT_END else f"{prompt[:PROMPT_END]} … {prompt[-PROMPT_END:]}"
    return next((match[0] for pattern in _doubled() if (match := pattern.search(ends))), None)


_SAID = (
    r"(?i)\b(?:answer|solution|result|ground[ _]truth|label|reference)s?\b[^\w\n]{0,6}(?:is|are)?[^\w\n]{0,12}(?<!\w)"
)


def shown_solution(raw: Raw) -> str | None:
    """The text in a prompt that gives away its own reference answer; None if there is none."""
    wanted = (reference(raw) or "").strip()
    if not wanted or len(wanted) > 200:
        return None
    said = _SAID + re.escape(wanted) + r"(?![\w.]*\w)"
    match = re.search(said, (raw.prompt or "")[-PROMPT_END:])
    return match[0] if match else None


def repeated_from(earlier: Sequence[tuple[int | None, Setup]], now: Setup) -> tuple[float, int | None, str]:
    """The share of long texts that an earlier dump also holds, the step from which most of them come, and one example
    in words."""
    found: Counter[int] = Counter()
    example: dict[int, str] = {}
    for key, place in now.texts.items():
        for number, (step, before) in enumerate(earlier):
            if key in before.texts:
                found[number] += 1
                same = f"sample {place + 1} is sample {before.texts[key] + 1} of step {step}"
                example.setdefault(number, same)
                break
    if not found or not now.texts:
        return 0.0, None, ""
    most = found.most_common(1)[0][0]
    return found.total() / len(now.texts), earlier[most][0], example[most]
