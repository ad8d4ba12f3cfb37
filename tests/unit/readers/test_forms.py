"""What was read of the words of one line is read of all that differ in their digits: the same as of each by itself."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache

import pytest

from rltui.readers.console import named_numbers
from rltui.readers.console.forms import FORMS, Forms, form_of, nothing_alike, unchanged_alike
from rltui.readers.console.generic import step_line
from rltui.readers.console.layouts import headings
from rltui.readers.console.lead import plain
from rltui.readers.console.named_numbers import slots_of
from rltui.readers.console.step_template import skeleton
from rltui.readers.console.units import with_units
from tests.reading_styles.styles import log

_DIGIT = re.compile(r"\d")


@cache
def lines(seeds: range) -> list[str]:
    return [line for seed in seeds for line in log(seed).text.splitlines()[:12]]


def alike(line: str, source: random.Random) -> str:
    """The line with other digits: none that makes or ends a zero before others."""
    return _DIGIT.sub(lambda found: found[0] if found[0] == "0" else str(source.randint(1, 9)), line)


READERS: dict[str, tuple[Callable[[str], object], Callable[[str], object]]] = {
    "numbers": (slots_of, lambda text: list(named_numbers._slots_in(text))),
    "headings": (headings, headings.__wrapped__),  # type: ignore[attr-defined]
    "step lines": (step_line, step_line.__wrapped__),  # type: ignore[attr-defined]
    "units": (with_units, with_units.__wrapped__.__wrapped__),
    "plain text": (plain, plain.__wrapped__),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("what", READERS)
def test_as_each_line_by_itself(what: str) -> None:
    quick, by_itself = READERS[what]
    source = random.Random(7)
    for line in lines(range(4_000, 4_120)):
        for other in [line, *(alike(line, source) for _ in range(4))]:
            assert repr(quick(other)) == repr(by_itself(other)), other


def test_skeletons_keep_the_numbers_of_names() -> None:
    assert skeleton("step 3 pass@1: 0.5") == skeleton("step 41 pass@1: 0.25")
    assert skeleton("step 3 p95/len=12") != skeleton("step 3 p50/len=12")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 1,234 tokens", "at 0,234 tokens"),
        ("x 12", "x 123"),
        ("t=1767000000", "t=1867000000"),
        ("loss 0.5", "loss 5"),
        ("loss -0.5", "loss 0.5"),
        ("reward_1 0.5", "reward_2 0.5"),
        ("pass@1 0.5", "pass@8 0.5"),
    ],
)
def test_what_reads_otherwise_has_another_form(one: str, other: str) -> None:
    assert form_of(one) != form_of(other)


def test_few_forms_are_kept() -> None:
    kept: Forms[int] = Forms()
    for i in range(3 * FORMS):
        kept.keep(str(i), i)
    assert len(kept) <= FORMS


def test_what_is_found_is_read_anew() -> None:
    asked: list[str] = []

    @nothing_alike
    def numbers(text: str) -> list[str]:
        asked.append(text)
        return re.findall(r"[7-9]", text)

    @unchanged_alike
    def shown(text: str) -> str:
        asked.append(text)
        return text.replace("k", "000")

    assert numbers("a 7") == ["7"]
    assert numbers("a 8") == ["8"]
    assert numbers("b 1") == numbers("b 2") == []
    assert (shown("1k"), shown("2k"), shown("3 m"), shown("4 m")) == ("1000", "2000", "3 m", "4 m")
    assert asked == ["a 7", "a 8", "b 1", "1k", "2k", "3 m"]
