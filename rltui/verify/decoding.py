"""Probes of the decoding: it must keep what the reward needs, and remove what the reward must not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from inspect import signature
from typing import Any

from rltui.verify.adapters import Adapters
from rltui.verify.check import Check, Mark, guarded

STAGE = "generation"
PAD, EOS, BOS, OPEN_TAG, CLOSE_TAG = "<pad>", "<eos>", "<bos>", "<answer>", "</answer>"
MARKS = ("<think>", "</think>")
WORDS = ("the", "answer", "is", "42", "first", "add", "them")
SAMPLES = ("One two three two", "four Five", "six seven eight nine ten")
LONG = 3000
"""Words of a long answer."""
ASKED = ("what is a", "tell us", "how much is it")
"""What three prompts ask, each of another length, and what three samples answer: no word is in two of them."""


class StubTokenizer:
    """The part of a tokenizer that decoding needs. Its special tokens are pad, eos, bos and two custom tags."""

    def __init__(self, marks: tuple[str, str]) -> None:
        self.special = (PAD, EOS, BOS, OPEN_TAG, CLOSE_TAG)
        words = dict.fromkeys((*WORDS, *" ".join((*SAMPLES, *ASKED)).split()))
        self.tokens = [*self.special, *marks, *words]
        self.pad_token, self.eos_token, self.bos_token = PAD, EOS, BOS
        self.pad_token_id, self.eos_token_id, self.bos_token_id = 0, 1, 2
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
    """All probes of `decode(ids, tokenizer)`, or of `decode(ids, tokenizer, prompt_length)`, whose ids hold the prompts
    too."""
    for name, probe in (
        ("decode", _shapes),
        ("each sample by itself", _each),
        ("length", _lengths),
        ("custom tags", _tags),
    ):
        yield from guarded(STAGE, name, partial(probe, adapters))


def _ask(adapters: Adapters, tokenizer: StubTokenizer, texts: Sequence[str], ends: bool = True) -> list[str]:
    """The decoded texts. The ids are padded on the right, with one eos before the padding, and prompts before them
    on the left. `ends`: false of answers that were cut at the length limit."""
    function = adapters.functions["decode"]
    assert function is not None
    rows = [tokenizer.ids(f"{text} {EOS}" if ends else text) for text in texts]
    width = max(map(len, rows))
    ids = [row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows]
    if _takes_prompts(function):
        asked = [tokenizer.ids(f"{BOS} {ASKED[i % len(ASKED)]}") for i in range(len(ids))]
        longest = max(map(len, asked))
        asked = [[tokenizer.pad_token_id] * (longest - len(before)) + before for before in asked]
        got = function([before + row for before, row in zip(asked, ids, strict=True)], tokenizer, longest)
    else:
        got = function(ids, tokenizer)
    kind = type(got).__name__
    got = [got] if isinstance(got, str) else list(got)
    if len(got) != len(texts) or not all(isinstance(t, str) for t in got):
        raise TypeError(f"expected a list of {len(texts)} strings, got {kind}")
    return [" ".join(text.split()) for text in got]


def _takes_prompts(function: Any) -> bool:
    try:
        held = signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return False
    needed = [
        one for one in held if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    return len(needed) >= 3


def _each(adapters: Adapters) -> Iterator[Check]:
    """Whether each sample is returned whole and in its place: samples that end, and samples that are cut at the
    limit."""
    tokenizer = StubTokenizer(adapters.reasoning or MARKS)
    for name, ends in (("", True), (", cut at the limit", False)):
        got = _ask(adapters, tokenizer, SAMPLES if ends else [SAMPLES[2]] * 2, ends)
        wanted = list(SAMPLES) if ends else [SAMPLES[2]] * 2
        how = f"from {wanted!r}"
        if got == wanted:
            yield Check(STAGE, f"each sample by itself{name}", "", f"{len(got)} texts, each as it was written", how)
            continue
        yield Check(STAGE, f"each sample by itself{name}", "!!", f"{got!r}{_lost(got, wanted)}", how)


def _lengths(adapters: Adapters) -> Iterator[Check]:
    """An answer of the end alone, beside one that is long. Every run has both."""
    tokenizer = StubTokenizer(adapters.reasoning or MARKS)
    long = " ".join((WORDS * LONG)[:LONG])
    try:
        got = _ask(adapters, tokenizer, ["", long])
    except (Exception, SystemExit) as error:
        value = f"raises {type(error).__name__}: one such response ends the run"
        yield Check(STAGE, "an empty answer", "!!", value, "the end token alone, beside a long answer")
        return
    yield Check(STAGE, "an empty answer", "!!" if got[0] else "", f"{got[0][:60]!r}", "the end token alone: no text")
    kept = len(got[1].split())
    yield Check(STAGE, "a long answer", "" if got[1] == long else "!!", f"{kept} words", f"all {LONG}, as written")


def _lost(got: Sequence[str], wanted: Sequence[str]) -> str:
    """The common mistake that explains the texts; empty if none does."""
    words = [text.split() for text in wanted]
    guesses = {
        "the last token is lost": [" ".join(row[:-1]) for row in words],
        "the first token is lost": [" ".join(row[1:]) for row in words],
        "each has the text of the first sample": [wanted[0]] * len(wanted),
        "they are in another order": list(reversed(wanted)),
    }
    told = next((said for said, guess in guesses.items() if list(got) == guess), "")
    if not told and any(BOS in text for text in got):
        told = "the token of the beginning is left in"
    if not told and any(word in text.split() for text in got for word in " ".join(ASKED).split()):
        told = "the prompt is left in"
    if not told and any(mark in text for text in got for mark in (PAD, EOS)):
        told = "padding or the end token is left in"
    return f": {told}" if told else ""


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
        fault = _contract(case, text, answer, (first, last)) if adapters.reasoning else _kept(cases[case], text)
        yield Check(STAGE, case, "!!" if fault else "", f"{text!r}{': ' + fault if fault else ''}", how)


def _kept(written: str, text: str) -> str:
    if not text:
        return "the text is lost"
    return "" if text == written else "it is not the whole text (REASONING says that a block is removed)"


def _contract(case: str, text: str, answer: str, marks: tuple[str, str]) -> str:
    """What is wrong with the text that decoding kept; empty if nothing. After a complete block only the text that
    follows it must stay. If a block is opened and never closed, nothing must stay. Without marks, the whole text."""
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
    """Whether skip_special_tokens removes tags of the task that the tokenizer treats as special."""
    tokenizer = StubTokenizer(adapters.reasoning or MARKS)
    text = _ask(adapters, tokenizer, [f"{OPEN_TAG} 42 {CLOSE_TAG}"])[0]
    mark: Mark = "!!" if not text else "?" if OPEN_TAG not in text or CLOSE_TAG not in text else ""
    word = "" if not mark else ": skip_special_tokens removes custom tags. Does the reward look for them?"
    yield Check(STAGE, "custom tags", mark, f"{text!r}{word}", "tags registered as special tokens")
