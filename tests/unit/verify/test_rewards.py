"""Rewards of several kinds: a right one has no violation whatever its truth looks like, and a wrong one is seen."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from rltui.verify import verify
from rltui.verify.adapters import from_names

Reward = Callable[[str, str], float]
Examples = tuple[str, str, str]


def _number(text: str) -> float | None:
    found = re.search(r"[-+]?\d+(?:\.\d+)?", text.replace(",", ""))
    return float(found.group()) if found else None


def parsed(completion: str, truth: str) -> float:
    """The first number behind the word answer, whatever its unit is."""
    _, said, rest = completion.partition("answer ")
    return float(bool(said) and _number(rest.split("\n")[0]) == _number(truth))


def letter(completion: str, truth: str) -> float:
    found = re.search(r"answer \(?([A-E])", completion)
    return float(found is not None and found.group(1) == truth)


def _tag(completion: str) -> str:
    return next(iter(re.findall(r"answer (\S*)", completion)), "")


def distance(completion: str, truth: str) -> float:
    try:
        return -abs(float(_tag(completion)) - float(truth))
    except ValueError:
        return -1000.0


def whole_part(completion: str, truth: str) -> float:
    try:
        return float(int(float(_tag(completion))) == int(truth))
    except (ValueError, OverflowError):
        return 0.0


WRONG: dict[str, tuple[Reward, Examples]] = {
    "each mention is paid": (lambda c, t: float(c.count(f"answer {t}")), ("42", "answer 42", "answer 41")),
    "any mention is enough": (
        lambda c, t: float(t in re.findall(r"answer (\S+)", c)),
        ("42", "answer 42", "answer 41"),
    ),
    "not finite for nan": (distance, ("42", "answer 42", "answer 41")),
    "raises for a word": (lambda c, t: float(float(_tag(c)) == float(t)), ("3.5", "answer 3.5", "answer 4.5")),
    "the fraction is dropped": (whole_part, ("3", "answer 3", "answer 9")),
    "the sign is dropped": (
        lambda c, t: float(_tag(c).removeprefix("-") == t.removeprefix("-")),
        ("-7", "answer -7", "answer 8"),
    ),
    "a part of a word is enough": (lambda c, t: float(t in _tag(c)), ("cat", "answer cat", "answer dog")),
}


def violations(reward: Reward, example: Examples) -> list[str]:
    checks = verify(from_names({"reward": reward, "EXAMPLES": [example]}))
    return [f"{check.name}: {check.value}" for check in checks if check.mark == "!!"]


@pytest.mark.parametrize("truth", ["0", "1", "89", "+5", "-7", "2.0", "0.50", "1,000", "50%", "12 km", "$40"])
def test_a_reward_that_parses_is_right_for_every_kind_of_number(truth: str) -> None:
    assert violations(parsed, (truth, f"it is answer {truth}", "it is answer 3333")) == []


def test_a_reward_of_choices_is_right() -> None:
    assert violations(letter, ("B", "it is answer B", "it is answer C")) == []


def test_a_truth_of_signs_that_are_no_decimals_is_a_text() -> None:
    assert violations(lambda c, t: float(_tag(c) == t and c.count("answer") == 1), ("²", "answer ²", "answer x")) == []


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_reward_is_certain(fault: str) -> None:
    assert violations(*WRONG[fault]) != []


def test_blanks_around_an_answer_that_are_not_taken_off_are_doubtful() -> None:
    def exact(completion: str, truth: str) -> float:
        return float(f"<{truth}>" in completion and completion.count("<") == 1)

    found = verify(from_names({"reward": exact, "EXAMPLES": [("42", "it is <42>", "it is <41>")]}))
    assert [c.name for c in found if c.mark == "?"] == ["right, with blanks around its answer"]
