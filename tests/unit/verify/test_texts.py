"""Decoding keeps capitals, repeated words, long answers and empty ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rltui.verify import verify
from rltui.verify.adapters import from_names

Change = Callable[[str], str]


def decoding(change: Change) -> Callable[[Any, Any], list[str]]:
    return lambda ids, tokenizer: [change(text) for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]


def violations(change: Change) -> set[str]:
    return {c.name for c in verify(from_names({"decode": decoding(change)})) if c.mark == "!!"}


def test_whole_texts_pass() -> None:
    assert violations(str) == set()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (str.lower, "each sample by itself"),
        (lambda text: " ".join(dict.fromkeys(text.split())), "each sample by itself"),
        (lambda text: text[:2048], "a long answer"),
        (lambda text: text[0] + text[1:], "an empty answer"),
        (lambda text: text or "none", "an empty answer"),
    ],
)
def test_lost_text_is_certain(change: Change, name: str) -> None:
    assert name in violations(change)


def test_prompts_are_padded_on_the_left() -> None:
    def sliced(ids: Any, tokenizer: Any, prompt_length: int) -> list[str]:
        return [tokenizer.decode(row[prompt_length:], skip_special_tokens=True) for row in ids]

    def without_padding_first(ids: Any, tokenizer: Any, prompt_length: int) -> list[str]:
        rows = [[one for one in row if one != tokenizer.pad_token_id] for row in ids]
        return sliced(rows, tokenizer, prompt_length)

    assert {c.mark for c in verify(from_names({"decode": sliced}))} <= {"", "?", "skip"}
    marked = {c.name for c in verify(from_names({"decode": without_padding_first})) if c.mark == "!!"}
    assert "each sample by itself" in marked
