"""The words in names, for the readers of lines; what reads cells needs them too."""

from rltui.readers.name_words import (
    NAMES,
    TemplateWords,
    either,
    has_word,
    is_named,
    last_word,
    letter_for,
    measures,
    shown,
    words,
)

__all__ = [
    "NAMES",
    "TemplateWords",
    "either",
    "has_word",
    "is_named",
    "last_word",
    "letter_for",
    "measures",
    "shown",
    "words",
]
