"""Turns fragments into sentences, so that no text is a chain of fragments with semicolons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def capital(text: str) -> str:
    """The text with a capital first letter. The other letters keep their case."""
    return text[:1].upper() + text[1:]


def ended(text: str) -> str:
    """The text with one full stop, unless it already ends like a sentence."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def counted(count: int, noun: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_THINGS = ("cell", "column", "document", "element", "event", "file", "header", "line", "record", "row", "value")
_NOUNS = {noun: f"{noun}s" for noun in _THINGS}
_NOUNS |= {"entry": "entries"}
_VERBS = {" that is ": " that are ", " that holds ": " that hold ", " that states ": " that state "}


def several(count: int, one: str) -> str:
    """A count with words that describe one thing: `1 row that is no object`, `3 rows that are no object`."""
    if count == 1:
        return f"{count} {one}"
    head, *rest = re.split(r"(?= that )", one, maxsplit=1)
    words = head.split(" ")
    at = next((i for i, word in enumerate(words) if word in _NOUNS), None)
    if at is not None:
        words[at] = _NOUNS[words[at]]
    tail = "".join(rest)
    for single, plural in _VERBS.items():
        tail = tail.replace(single, plural, 1)
    return f"{count} {' '.join(words)}{tail}"


def sentence(text: str) -> str:
    """The text as a sentence, with a capital at its start and a full stop at its end."""
    return ended(capital(text))


def sentences(*parts: str) -> str:
    """The parts that are not empty, each as its own sentence."""
    return " ".join(sentence(part) for part in parts if part)


def joined(parts: Iterable[str]) -> str:
    """`first part. Second part. Third part`: the parts that are not empty, without a full stop after the last."""
    first, *rest = [part for part in parts if part] or [""]
    return " ".join((ended(first), *map(sentence, rest[:-1]), capital(rest[-1]))) if rest else first


def headed(head: str, parts: Sequence[str]) -> str:
    """`head: first part. Second part.`"""
    first, *rest = parts
    return " ".join((f"{head}: {first}.", *map(sentence, rest)))


def each_once(texts: Iterable[str]) -> list[str]:
    """Each text once. A text is dropped if another one adds a bracket to it: `n = 2` if there is `n = 2 (below 8)`. The
    brackets of equal texts are joined: `n = 2 (below 8 and over 1)`."""
    found: dict[str, list[str]] = {}
    for text in texts:
        head, bracket, rest = text.partition(" (")
        whole = bracket and rest.endswith(")") and " (" not in rest
        said = found.setdefault(head if whole else text, [])
        said += [rest[:-1]] if whole and rest[:-1] not in said else []
    return [f"{head} ({listed(said)})" if said else head for head, said in found.items()]


def listed(texts: Sequence[str]) -> str:
    """`a, b and c`"""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else ""
