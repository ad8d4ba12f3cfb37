"""Values as Python prints them (`{'loss': 0.1}`). Nothing is executed."""

from __future__ import annotations

import ast
import warnings
from typing import Any

# A completion with `\d` in it is no mistake in rltui's code, and the terminal belongs to the screen.
warnings.filterwarnings("ignore", module="<unknown>")

NO_VALUE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
"""What `literal` and `expression` raise of a text that is none."""


def literal(text: str) -> Any:
    """The numbers, strings, lists, dicts, sets and tuples that the text says."""
    return ast.literal_eval(text)


def expression(text: str) -> ast.expr:
    """The syntax tree of one expression."""
    return ast.parse(text, mode="eval").body
