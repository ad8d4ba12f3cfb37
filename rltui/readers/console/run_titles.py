"""Titles by which a log names the run that begins below them: `=== seed 7 ===`, `Task: gsm8k`, `[run 2/5] lr=1e-5`,
`Starting experiment foo_lr3e-6`. Which runs there are is told by them and by the steps below (`run_sections`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rltui.lazy_regex import any_of, lazy
from rltui.readers.console.lead import plain, without_lead
from rltui.readers.console.notes import split_prefix
from rltui.readers.name_words import either, words

MOST_LETTERS = 80
"""Most letters of a title behind its first name of what tells runs apart, and half of those before it."""
_RULE = lazy(r"(?P<rule>[=#*\-~_>+]{2,}|#|\[)\s*(?=\w)")
_END = lazy(r"[\s=#*\-~_<+.!:]+$")
_BRACKETED = lazy(r"\(\s*([A-Za-z ]+)\)")
"""A remark: `(resumed)`."""
_ITEM = lazy(r"(?P<name>[^\W\d]\w*)(?:(?P<mark>\s*[:=#]\s*)|\s+)(?P<value>[^\s,;|()\[\]:=]+(?: of \d+)?)")
_GAP = lazy(r"[\s,;|()\[\]:\-]*")
_OF = re.compile(r"(\d+)(?:/| of )\d+")


@cache
def _marks() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """A word of a title, in small letters, and a line with one of these words near its begin and its end."""
    word = any_of(sorted(words().identities)).encode() + rb"[ \t:=#]"
    line = rb"[^\r\n]{0,%d}\b%b[^\r\n]{0,%d}(?=\r?\n)" % (MOST_LETTERS // 2, word, MOST_LETTERS)
    return re.compile(word), re.compile(line)


def titles(text: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """The titles among these lines: where the line of each begins, and what it says."""
    (word, line), small, at = _marks(), text.lower(), 0
    while (said := word.search(small, at)) is not None:
        at, least = said.end(), max(0, said.start() - MOST_LETTERS // 2 - 1)
        begin = max(text.rfind(end, least, said.start()) for end in (b"\n", b"\r")) + 1
        found = line.match(small, begin) if begin or not least else None
        if found is not None:
            at = found.end()
            if names := title_of(text[begin:at]):
                yield begin, names


def names_a_run(text: bytes) -> bool:
    """Whether a title is among these lines."""
    return any(names for _, names in titles(text))


def title_of(line: bytes) -> dict[str, str]:
    """What a title says of its run, as name -> value: `{"seed": "7"}`, `{"run": "2", "lr": "1e-5"}`. Empty for any
    other line."""
    text = plain(split_prefix(line.decode("utf-8", "replace"))[1]).strip()
    return _title(text) or _title(without_lead(text).strip())


def _title(text: str) -> dict[str, str]:
    begin = _RULE.match(text)
    text = _END.sub("", _BRACKETED.sub("", text[begin.end() if begin is not None else 0 :]))
    said = text.split()
    skip = next((i for i, word in enumerate(said) if word.lower() not in words().beginnings | words().prose), 0)
    began = bool(skip) and said[0].lower() in words().beginnings
    return _items(" ".join(said[skip:]) if began else text, begin is not None or began)


def _items(text: str, is_title: bool) -> dict[str, str]:
    """The names and values that all of a text consists of; empty if there is anything else, or none of them tells runs
    apart. `is_title`: it stands between rules, or says that something begins."""
    known, told, at = words(), dict[str, str](), 0
    counted = either("counters", "weak_counters", "outer")
    while at < len(text):
        found = _ITEM.match(text, at)
        if found is None:
            return {}
        name = found["name"].lower()
        identifies = name in known.identities
        marked = found["mark"] is not None
        if not identifies and (not marked or name in counted or name in known.training - known.by_group):
            return {}
        if not told and not (identifies and (marked or is_title or _OF.fullmatch(found["value"]))):
            return {}
        value = _OF.sub(r"\1", found["value"]).strip("'\"`")
        told[name] = value
        gap = _GAP.match(text, found.end())
        at = found.end() if gap is None else gap.end()
        if gap is not None and at < len(text) and not gap[0]:
            return {}
    seeds_only = not is_title and not told.keys() - {"seed"}
    return {} if seeds_only else told
