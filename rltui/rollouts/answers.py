"""Whether the answer of a sample equals the reference answer in its dump, and whether the reward agrees.

Only clear comparisons are judged: a number with a number, a choice ("B") with a choice. The names of references are
data (`formats/fields.json`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rltui.plots.numbers import number
from rltui.rollouts.formats.base import Raw
from rltui.rollouts.formats.fields import as_text, table
from rltui.text import clean

_TAGGED = re.compile(r"<answer>([^<]{0,400})</answer>", re.I)
_HASHES = re.compile(r"####[ \t]{0,8}([^\n]{1,100})")
_SAID = re.compile(
    r"\b(?i:answer|result)\*{0,4}(?: is|:| =)[ \t]{0,4}:?[ \t*]{0,6}\$?"
    r"([-+]?\d[\d,]*(?:\.\d+)?|\([A-J]\)|[A-J](?![\w']| \w))"
)
_BOXED = r"\boxed{"
_WRAPPED = re.compile(r"\\(?:text|mathrm|mathbf)\{([^{}]*)\}")
_FRACTION = re.compile(r"(-?)\\d?frac\{(-?\d{1,9})\}\{(-?\d{1,9})\}|(-?)(\d{1,9})/(\d{1,9})")
_NUMBER = re.compile(r"[-+]?\d{1,15}(?:\.\d{1,15})?")
_CHOICE = re.compile(r"\(?([A-J])\)?\.?")
LOOKED_AT = 20_000
"""Only this many characters at the end of a text are searched: the answer is there, and a long loop before it costs no
time."""
SHOWN = 40
"""The most characters of an answer that a sentence shows."""


class AnswerCheck(NamedTuple):
    """An answer from the text, its reference, and whether they are equal."""

    answer: str
    reference: str
    right: bool


def final_answer(text: str) -> str | None:
    """The answer in a text: the last `\\boxed{}`, else the last `<answer>`, else the last `####`, else what follows
    "the answer is". None if there is none."""
    text = text[-LOOKED_AT:]
    at = text.rfind(_BOXED)
    if at >= 0:
        return _braced(text, at + len(_BOXED))
    for pattern in (_TAGGED, _HASHES, _SAID):
        found = pattern.findall(text)
        if found:
            return str(found[-1])
    return None


def _braced(text: str, start: int) -> str | None:
    depth = 1
    for at in range(start, min(len(text), start + 400)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[start:at]
    return None


def value(text: str) -> float | str | None:
    """A number, or the letter of a choice; None for any other text."""
    plain = _WRAPPED.sub(r"\1", text).strip().strip("$ \t\n").rstrip(".")
    plain = plain.replace("\\!", "").replace("\\,", "").replace(",", "").replace("\\$", "").strip("$ ")
    if match := _FRACTION.fullmatch(plain):
        sign, above, below = (match[1], match[2], match[3]) if match[2] else (match[4], match[5], match[6])
        return None if int(below) == 0 else (-1 if sign else 1) * int(above) / int(below)
    if _NUMBER.fullmatch(plain):
        return float(plain)
    choice = _CHOICE.fullmatch(plain)
    return choice[1] if choice else None


def reference(raw: Raw) -> str | None:
    """The reference answer that the dump holds beside a sample."""
    for name in table().reference:
        held: Any = raw.extra.get(name, raw.components.get(name))
        if isinstance(held, Mapping):
            held = next((held[key] for key in table().reference if key in held), None)
        if isinstance(held, list) and len(held) == 1:
            held = held[0]
        text = as_text(held) if isinstance(held, str | int | float) and not isinstance(held, bool) else None
        if text is not None:
            return text
    return None


def verdict(raw: Raw) -> AnswerCheck | None:
    """Whether the sample's answer equals the reference; None if that is unclear."""
    if not raw.completion:
        return None
    wanted = reference(raw)
    given = final_answer(raw.completion) if wanted is not None else None
    if wanted is None or given is None:
        return None
    known, found = value(wanted), value(given)
    if known is None:
        known = value(final_answer(wanted) or "")
    if known is None or found is None or isinstance(known, str) != isinstance(found, str):
        return None
    same = known == found if isinstance(known, str) else abs(known - float(found)) <= 1e-6 * max(1.0, abs(known))
    return AnswerCheck(_short(given), _short(wanted), same)


def _short(text: str) -> str:
    return clean(text, SHOWN)


def follows(right: Sequence[float], wrong: Sequence[float]) -> float | None:
    """How often a right answer has more reward than a wrong one; a tie counts half. 1: the reward follows the answer.
    0.5: the reward does not depend on it. `right`, `wrong`: rewards. None if one of them is empty."""
    if not right or not wrong:
        return None
    ranked = sorted(wrong)
    above = sum(bisect_left(ranked, one) + bisect_right(ranked, one) for one in right)
    return above / (2 * len(right) * len(wrong))


def judged(samples: Iterable[tuple[int, Raw, float | None]]) -> tuple[list[float], list[float], str]:
    """Returns the rewards of right answers, those of wrong ones, and, in words, the sample whose reward contradicts its
    answer most: a right one with the lowest reward, else a wrong one with the highest. `samples`: place, sample and
    reward."""
    found: dict[bool, list[tuple[float, int, AnswerCheck]]] = {True: [], False: []}
    for place, raw, reward in samples:
        checked = None if reward is None else verdict(raw)
        if checked is not None and reward is not None:
            found[checked.right].append((reward, place, checked))
    right, wrong = found[True], found[False]
    told = ""
    if right and wrong:
        least, most = min(right), max(wrong)
        reward, place, checked = least if least[0] <= min(wrong)[0] else most
        told = (
            f"sample {place + 1} answers {checked.answer}, the reference is {checked.reference}, "
            f"and its reward is {number(reward)}"
        )
    return [one[0] for one in right], [one[0] for one in wrong], told
