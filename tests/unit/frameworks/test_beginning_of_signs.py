"""Signs of a framework are ruled out by the plain text that they begin with: never one that a key shows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.frameworks.detect import _beginning
from rltui.frameworks.load import dialect, dialect_names
from rltui.readers.console.notes import _rules


def signs() -> list[str]:
    found = [dialect(name).signs for name in dialect_names()]
    return sorted({p for s in found for p in (*s.keys, *s.not_keys, *s.need_keys, *s.all_keys, *s.config, *s.weak)})


@pytest.mark.parametrize(
    ("pattern", "beginning"),
    [
        ("^loss/kl$", "loss/kl"),
        (r"^train/memory\(GiB\)$", "train/memory(GiB)"),
        (r"^objective/kl\d?_avg$", "objective/kl"),
        ("^(?:train/)?kl$", ""),
        ("^a|b$", ""),
        ("^rate?$", ""),
        ("kl_error$", ""),
        ("^perf/(a|b)$", "perf/"),
        ("(?i)^loss$", ""),
    ],
)
def test_the_beginning_is_what_each_match_begins_with(pattern: str, beginning: str) -> None:
    assert _beginning(pattern) == beginning


def test_half_of_the_signs_have_one() -> None:
    assert sum(bool(_beginning(one)) for one in signs()) > len(signs()) / 3


@given(st.data())
def test_no_key_that_matches_is_ruled_out(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(signs()))
    key = data.draw(st.from_regex(pattern))
    if re.search(pattern, key):
        assert key.startswith(_beginning(pattern))


def test_each_rule_of_notes_is_a_regular_expression() -> None:
    for rule in _rules():
        for pattern in (rule.pattern, rule.unless):
            if pattern is not None:
                pattern.search("")
