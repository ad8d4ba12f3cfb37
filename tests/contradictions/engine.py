"""A rule holds two statements beside each other; what cannot both be true is a contradiction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.contradictions.surfaces import Said

Rule = Callable[[Said], Iterator[str]]

RULES: dict[str, Rule] = {}
"""Class of contradictions -> its rule."""


@dataclass(frozen=True)
class Contradiction:
    """`rule`: the class. `text`: both statements, and where each stands."""

    rule: str
    run: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.run}: {self.text}"


def rule(check: Rule) -> Rule:
    """Adds a rule under its name. Its docstring says what has to agree, and what may differ and why."""
    assert check.__doc__, f"{check.__name__} does not say what has to agree"
    RULES[check.__name__.replace("_", " ")] = check
    return check


def contradictions(said: Said) -> list[Contradiction]:
    """All that cannot both be true of what is said of one run."""
    from tests.contradictions import (  # noqa: F401  they add their rules
        courses,
        judge,
        messages,
        panes,
        past,
        readers,
        tables,
        unknowns,
        views,
        words,
    )

    return [Contradiction(name, said.name, text) for name, check in RULES.items() for text in check(said)]
