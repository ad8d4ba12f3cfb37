"""One word for one thing: no text that a user reads holds a word that the glossary does not want."""

from __future__ import annotations

import re

import pytest

from rltui.cli import main
from rltui.manual.glossary import glossary
from tests.unit.text.visible import QUOTED, everything

UNWANTED = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, glossary().unwanted))})(?![\w-])", re.IGNORECASE)


def unwanted(text: str) -> list[str]:
    """The unwanted words of a text, with the ones to use; quotes and code may hold what they like."""
    return [
        f"{found[0]} -> {glossary().unwanted[found[0].lower()]}" for found in UNWANTED.finditer(QUOTED.sub("", text))
    ]


def test_no_text_uses_another_word_than_the_glossary() -> None:
    wrong = [
        f"{place}: {word}   in: {text[:100]}"
        for place, text in everything()
        if not place.endswith("glossary.json")
        for word in unwanted(text)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.long
def test_the_texts_are_those_of_help_and_of_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    """The walk sees what is shown: a sentence of the help, of a rule's page, of the keys, of an error."""
    seen = "\n".join(text for _, text in everything())
    assert main(["help", "limits"]) == 0
    assert capsys.readouterr().out.splitlines()[2] in seen
    for text in ("next critical finding", "Entropy collapsed", "Reads a run to its end and prints the diagnosis."):
        assert text in seen


@pytest.mark.parametrize("word", glossary().unwanted)
def test_an_unwanted_word_is_seen(word: str) -> None:
    assert unwanted(f"This is {word}.")
    assert not unwanted(f"This is {word}ly.")
    assert not unwanted(f"It quotes `{word}`.")


def test_no_wanted_word_is_unwanted() -> None:
    assert not [term.term for term in glossary().terms if unwanted(term.term) or unwanted(term.means)]
    assert not [word for word in glossary().instead.values() if unwanted(word)]
