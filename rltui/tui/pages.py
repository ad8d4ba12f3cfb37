"""Pages of text that the worker reads: rules and knowledge, the user's settings, what works on this machine."""

from __future__ import annotations


def explanation(word: str) -> str:
    """What is known of a rule, a metric or a knowledge page; "rules": the list of all."""
    from rltui.report.explain import as_text

    unknown = f"nothing is known of {word}: neither a rule nor a page, and the vocabulary does not know such a metric"
    return as_text(None if word == "rules" else word) or unknown


def settings(word: str) -> str:
    """The user's settings, and whether they are valid."""
    from rltui.report.settings_text import checked, shown

    return f"{shown()}\n\n{checked()}"


def doctor(word: str) -> str:
    """What works in this terminal and on this machine, and why something does not."""
    from rltui.doctor import checks, render

    return render(checks())
