"""Completions that are not right, made from an example of the user: what a policy finds when it is paid for the wrong
thing."""

from __future__ import annotations

import re

ABSENT = ("", "nan", "inf", "1e999", "1/0", "a word")
"""In the place of an answer: what parsers and comparisons of numbers fall over. Of one with digits a parser may take
the first part."""
NEAR = 0.1
"""Numbers that differ by less than this share may both be right, as some rewards allow a tolerance."""
WHOLE = re.compile(r"(?<![\d.,])\d+")
"""The part before the point of a number."""
WORD = 4
"""Letters of a word whose half is no usual short form of it, as y is of yes."""
MANY = 89


def texts(truth: str, right: str, wrong: str) -> dict[str, tuple[str, bool]]:
    """By name, each with whether it is certainly not right: those that the truth and the right answer allow."""
    out = {
        "empty": ("", True),
        "only blanks": (" \n\t ", True),
        "cut in its first third": (right[: max(1, len(right) // 3)], True),
        "without words": ("\x00\ufffd" * 8 + "{[(<" * 8, True),
        "very long": (f"{wrong} " * 2000, True),
        "right, between wrong answers": ("\n".join([wrong] * 5 + [right] + [wrong] * 5), True),
    }
    if truth and truth in out["cut in its first third"][0]:
        del out["cut in its first third"]
    if truth and truth in right:
        for name, (other, certain) in _others(truth).items():
            if not _equal(other, truth):
                out[f"an answer {name}"] = (right.replace(truth, other), certain)
        for other in ABSENT:
            if not _equal(other, truth):
                out[f"the answer {other or 'left out'}"] = (
                    right.replace(truth, other),
                    not set(other) & set("0123456789"),
                )
    if truth.isdecimal() and truth in right:
        first, _, last = right.rpartition(truth)
        numbers = [str(n) for n in range(1, MANY) if n != int(truth)]
        numbers.insert(len(numbers) // 2, truth)
        out["every answer in turn"] = (f"{first}{' '.join(numbers)}{last}", True)
    return {name: (text, certain) for name, (text, certain) in out.items() if text != right}


def _others(truth: str) -> dict[str, tuple[str, bool]]:
    """Answers that look like the truth, each with whether it certainly has another meaning. A unit, a sign before a
    word and the short form of a word may have the same."""
    value, wholes = _number(truth), list(WHOLE.finditer(truth))
    words = "".join(truth.split()).isalpha()
    out: dict[str, tuple[str, bool]] = {
        "that is half of the truth": (truth[: len(truth) // 2], words and len(truth) >= WORD)
    }
    if wholes:
        end = wholes[-1].end()
        out["longer than the truth"] = (f"{truth[:end]}7{truth[end:]}", True)
    elif words:
        out["longer than the truth"] = (f"{truth}{truth}", len(truth) > 1)
    if value is not None:
        out["with a sign before it"] = (_turned(truth), True)
        out["with a fraction"] = (f"{truth}.5" if truth.lstrip("-+").isdecimal() else truth, True)
        return {name: (other, _far(other, value)) for name, (other, _) in out.items()}
    return out


def _turned(truth: str) -> str:
    """With the other sign."""
    return truth[1:] if truth[0] == "-" else f"-{truth.removeprefix('+')}"


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _equal(one: str, other: str) -> bool:
    a, b = _number(one), _number(other)
    return one.strip() == other.strip() or (a is not None and a == b)


def _far(text: str, value: float) -> bool:
    """Whether the number of the text is beyond any tolerance for the value; also if it is none."""
    found = _number(text)
    return found is None or not abs(found - value) <= NEAR * max(abs(found), abs(value))
