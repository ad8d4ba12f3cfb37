"""Probes of the decoding: it must not lose what the reward needs, and not keep what the reward must not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from rltui.verify.adapters import Adapters
from rltui.verify.check import Check, Mark, guarded

STAGE = "generation"
PAD, EOS, OPEN_TAG, CLOSE_TAG = "<pad>", "<eos>", "<answer>", "</answer>"
MARKS = ("<think>", "</think>")
WORDS = ("the", "answer", "is", "42", "first", "add", "them")


class StubTokenizer:
    """The part of a tokenizer that decoding needs. Its special tokens are pad, eos and two custom tags."""

    def __init__(self, marks: tuple[str, str]) -> None:
        self.special = (PAD, EOS, OPEN_TAG, CLOSE_TAG)
        self.tokens = [*self.special, *marks, *WORDS]
        self.pad_token, self.eos_token = PAD, EOS
        self.pad_token_id, self.eos_token_id = 0, 1
        self.all_special_ids = list(range(len(self.special)))
        self.all_special_tokens = list(self.special)

    def ids(self, text: str) -> list[int]:
        return [self.tokens.index(word) for word in text.split()]

    def decode(self, ids: Any, skip_special_tokens: bool = False, **_: object) -> str:
        numbers = [int(i) for i in (ids.tolist() if hasattr(ids, "tolist") else ids)]
        kept = [i for i in numbers if not (skip_special_tokens and i in self.all_special_ids)]
        return " ".join(self.tokens[i] for i in kept)

    def batch_decode(self, sequences: Any, skip_special_tokens: bool = False, **_: object) -> list[str]:
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self.tokens[int(i)] for i in ids]


def probes(adapters: Adapters) -> Iterator[Check]:
    """All probes of `decode(ids, tokenizer)`."""
    for name, probe in (("decode", _shapes), ("custom tags", _tags)):
        yield from guarded(STAGE, name, partial(probe, adapters))


def _ask(adapters: Adapters, tokenizer: StubTokenizer, texts: Sequence[str]) -> list[str]:
    """The decoded texts. The ids are padded on the right, with one eos before the padding."""
    function = adapters.functions["decode"]
    assert function is not None
    rows = [tokenizer.ids(f"{text} {EOS}") for text in texts]
    width = max(map(len, rows))
    got = function([row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows], tokenizer)
    if not isinstance(got, list | tuple) or len(got) != len(texts) or not all(isinstance(t, str) for t in got):
        raise TypeError(f"expected a list of {len(texts)} strings, got {type(got).__name__}")
    return [" ".join(text.split()) for text in got]


def _shapes(adapters: Adapters) -> Iterator[Check]:
    first, last = adapters.reasoning or MARKS
    tokenizer = StubTokenizer((first, last))
    answer = "the answer is 42"
    cases = {
        "no marks": answer,
        "complete block": f"{first} first add them {last} {answer}",
        "opened, never closed": f"{first} first add them",
        "closed, never opened": f"first add them {last} {answer}",
    }
    got = dict(zip(cases, _ask(adapters, tokenizer, list(cases.values())), strict=True))
    for case, text in got.items():
        how = f"from {cases[case]!r}"
        left = [t for t in (PAD, EOS) if t in text]
        if left:
            yield Check(STAGE, case, "!!", f"{text!r}: {' and '.join(left)} reach the reward", how)
            continue
        fault = _contract(case, text, answer, (first, last)) if adapters.reasoning else _kept(case, text)
        yield Check(STAGE, case, "!!" if fault else "", f"{text!r}{': ' + fault if fault else ''}", how)


def _kept(case: str, text: str) -> str:
    return "" if text else "the text is lost"


def _contract(case: str, text: str, answer: str, marks: tuple[str, str]) -> str:
    """What is wrong with the text that decoding kept; empty if nothing. Complete block: only what follows must stay.
    Opened, never closed: nothing. No marks: all of it."""
    if case == "opened, never closed":
        return "incomplete reasoning is kept" if text else ""
    if any(mark in text for mark in marks):
        return "marks are left in"
    if not text:
        return "plain text is lost" if case == "no marks" else "the answer is lost"
    if case == "closed, never opened":
        return "" if text.endswith(answer) else "the answer is lost"
    return "" if text == answer else "more or less than the answer is kept"


def _tags(adapters: Adapters) -> Iterator[Check]:
    """Whether skip_special_tokens removes tags of the task that the tokenizer counts as special."""
    tokenizer = StubTokenizer(adapters.reasoning or MARKS)
    text = _ask(adapters, tokenizer, [f"{OPEN_TAG} 42 {CLOSE_TAG}"])[0]
    mark: Mark = "!!" if not text else "?" if OPEN_TAG not in text or CLOSE_TAG not in text else ""
    word = "" if not mark else ": skip_special_tokens removes custom tags. Does the reward look for them?"
    yield Check(STAGE, "custom tags", mark, f"{text!r}{word}", "tags registered as special tokens")
