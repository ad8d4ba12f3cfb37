"""The words of this program: what each means, and which words are not used for it."""

from __future__ import annotations

from pathlib import Path

from rltui.data_files import Record, kept, read
from rltui.prose import sentence


class Term(Record):
    """`json`: what JSON writes, if that is another word or one that a screen also shows. `avoid`: words that no text
    uses for it."""

    term: str
    means: str
    json: str = ""
    avoid: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.means or any(mark in self.means for mark in (";", ". ")):
            raise ValueError(f"{self.term}: its meaning is one sentence")


class Chapter(Record):
    title: str
    terms: tuple[Term, ...]


class Glossary(Record):
    """`instead`: words that belong to no term, with the plain words that replace them."""

    chapters: tuple[Chapter, ...]
    instead: dict[str, str]

    def __post_init__(self) -> None:
        written = [term.json for term in self.terms if term.json]
        if len(set(written)) != len(written):
            raise ValueError("two terms have one word in JSON")

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(term for chapter in self.chapters for term in chapter.terms)

    @property
    def unwanted(self) -> dict[str, str]:
        """Word that no text uses -> the word that replaces it."""
        return {**{word: term.term for term in self.terms for word in term.avoid}, **self.instead}


@kept
def glossary() -> Glossary:
    return read(Path(__file__).parent / "data" / "glossary.json", Glossary)


def called(json: str) -> str:
    """The word that texts use for a value of JSON: `note` for `info`. A value without a term is its own word."""
    return next((term.term for term in glossary().terms if term.json == json), json)


def as_page() -> str:
    """The glossary as a page of the manual."""
    lines = ["# The words of rltui"]
    for chapter in glossary().chapters:
        lines += ["", f"## {chapter.title}", "", "| word | means |", "|---|---|"]
        lines += [f"| {_named(term)} | {sentence(term.means)} |" for term in chapter.terms]
    return "\n".join(lines) + "\n"


def _named(term: Term) -> str:
    return term.term if term.json in ("", term.term) else f"{term.term} (JSON: `{term.json}`)"
