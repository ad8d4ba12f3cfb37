"""Escapes untrusted names and values for Markdown, so that they are shown as they are and never become markup."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[\\`*|~]|<(?=[\w/!?])|\](?=\()")  # a bracket is text unless it makes a link
_CLOSING_UNDERSCORE = re.compile(r"_+(?!\w)")  # emphasis that nothing can close is text
_ENTITY = re.compile(r"&(?=#?\w+;)")
_LEADING = re.compile(r"^(?:#{1,6}|[+-]|=+|-+|>)(?=\s|$)|^>|^\[|^\d+(?=[.)](?:\s|$))")  # what a line may not begin with
_RUNS = re.compile("`+")
_CODE = re.compile(r"“([^“”`]*[\\*~<&|][^“”`]*)”|(--(?:line|map) (?:'[^'`]*'|\"[^\"`]*\"))")
"""What is shown as it was written: a quoted line with such a character, and an option to copy."""
_PIPE = re.compile(r"(?<!\\)\|")


def one_line(text: str) -> str:
    return " ".join(text.split())


def plain(text: str) -> str:
    """Prose: one line in which pipes, backticks, brackets, emphasis, entities and leading # - + > 1. are text. A quoted
    line that holds such a character is code, so that it shows as it was written wherever it is read; so is an option to
    copy."""
    parts, end = [], 0
    text = one_line(text)
    for quote in _CODE.finditer(text):
        parts += [_escaped(text[end : quote.start()]), code(quote[1] or quote[2])]
        end = quote.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    text = _SPECIAL.sub(r"\\\g<0>", text)
    text = _CLOSING_UNDERSCORE.sub(lambda m: "\\_" * len(m[0]), text)
    text = _ENTITY.sub("&amp;", text)
    return _LEADING.sub(lambda m: f"{m[0]}\\" if m[0].isdigit() else f"\\{m[0]}", text)


def code(text: str) -> str:
    """A code span. Empty text stays empty."""
    text = one_line(text)
    if not text:
        return ""
    ticks = "`" * (1 + max((len(run) for run in _RUNS.findall(text)), default=0))
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fenced(lines: list[str]) -> list[str]:
    """A fenced block of text that none of its lines can close."""
    longest = max((len(run) for line in lines for run in _RUNS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + "text", *(line.rstrip() for line in lines), fence]


def table(head: list[str], rows: list[list[str]], align: str = "") -> list[str]:
    """A table of cells that are Markdown already. A pipe would end a cell even in code, so it is escaped there too.
    `align`: one of l and r a column, default left. No rows: nothing."""
    if not rows:
        return []
    rule = ["--:" if side == "r" else "---" for side in align.ljust(len(head), "l")]
    cells = ([_PIPE.sub(r"\|", cell) for cell in row] for row in (head, rule, *rows))
    return [f"| {' | '.join(row)} |" for row in cells]
