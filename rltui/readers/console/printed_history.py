"""Which of the lists that a program prints are a history of its run. What makes rows of one is what makes them of a
file (`document_rows`); here they stand among other text, of which they must be told."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import plain, split_lead
from rltui.readers.console.named_numbers import words as template_words
from rltui.readers.console.notes import split_prefix
from rltui.readers.document_rows import Held, held
from rltui.readers.keys import first_of, names
from rltui.readers.row_kinds import hoisted, is_sample, row_words, words_of

MOST_WORDS = 6
"""Words before a list that is no part of a sentence."""
FEWEST = 5
"""Values of a course that nothing calls one."""
_LOOKED_AT = 20  # rows
_SENTENCE = lazy(r"[.;]\s")
_NAMES = lazy(r"[A-Za-z_][\w/.@%\-]*")
_LISTED_NAMES = lazy(
    r"^[\s\[(]*(?:[\"']?[A-Za-z_][\w/.@%\-]*[\"']?[\s,|;\])]+)*[\"']?[A-Za-z_][\w/.@%\-]*[\"']?[\s\])]*$"
)


def may_name(before: str) -> bool:
    """Whether the words before a list may be its name: the last of them are no sentence, and none name a prompt or a
    completion."""
    said = words_of(_SENTENCE.split(before)[-1])
    quoted = not set(names("text")).isdisjoint(words_of(before))
    return len(said) <= MOST_WORDS and template_words().prose.isdisjoint(said) and not quoted


def history(parsed: list[Any], before: str, cells: tuple[str, ...], known: Collection[str]) -> Held | None:
    """The rows of what was printed behind some words, None if they are no history of the run. `cells`: names in the
    line above; `known`: of the metrics of rows that came already."""
    document: Any = parsed[0] if len(parsed) == 1 else parsed
    if isinstance(document, list) and document and isinstance(document[0], list):
        document = _named(document, (names_in(before), cells))
    words = words_of(before)
    if not isinstance(document, list | dict):
        return None
    found = held({"_".join(words): document} if words else document)
    if found is None or found.runs or not found.rows:
        return None
    rows = found.rows[:_LOOKED_AT]
    if not words and not known and isinstance(document, dict) and _is_course(found.rows):
        return found
    return found if _is_of_run(rows, set(words), known) else None


def _named(rows: list[Any], lists: tuple[tuple[str, ...], ...]) -> Any:
    """Rows as lists with the names of their cells; None if nothing names them."""
    if rows[0] and isinstance(rows[0][0], str | list | dict):
        return rows
    fitting = next((found for found in lists if len(found) == len(rows[0]) > 1), None)
    return None if fitting is None else {"columns": list(fitting), "data": rows}


def _is_of_run(rows: list[dict[str, Any]], before: set[str], known: Collection[str]) -> bool:
    """Whether rows state their steps, or are called a history; and measure what the rows before them do, or are called
    by a word for rows."""
    if all(map(is_sample, rows)):
        return False
    words = row_words()
    measured = words.measures & {word for row in rows for key in _keys(row) for word in words_of(key)}
    called = not words.histories.isdisjoint(before)
    named = called or not words.parts.isdisjoint(before) or not before.isdisjoint(words.words["eval"])
    if not states_steps(rows):
        return called and len(rows) > 1 and bool(measured)
    there = {word for key in known for word in words_of(key)} & words.measures
    return named or (bool(measured) and (not there or not there.isdisjoint(measured)))


def _is_course(rows: list[dict[str, Any]]) -> bool:
    """Whether columns under no name are the course of a training, as Keras returns it: of the loss and of more."""
    measured = [key for key in rows[0] if not row_words().measures.isdisjoint(words_of(key))]
    return len(rows) >= FEWEST and len(measured) > 1 and any("loss" in words_of(key) for key in measured)


def states_steps(rows: list[dict[str, Any]]) -> bool:
    """Whether the first rows, or some of them, state their steps."""
    return any(first_of("step", hoisted(row)) is not None for row in rows[:_LOOKED_AT])


def _keys(row: dict[str, Any]) -> Iterator[str]:
    for key, value in row.items():
        yield str(key)
        if isinstance(value, dict):
            yield from map(str, value)


def names_in(line: str) -> tuple[str, ...]:
    """The names that a line lists and nothing else, or that stand in brackets at its end; one is a step's."""
    message = split_lead(plain(split_prefix(line[:2000])[1])).message.rstrip(" :=")
    begin = message.rfind("(") if message.endswith(")") else -1
    message = message[begin + 1 : -1] if begin > 0 else message
    found = tuple(_NAMES.findall(message)) if _LISTED_NAMES.match(message) else ()
    return found if len(found) > 1 and first_of("step", found) is not None else ()
