"""Lines that tell one number in words: `logging metric 'reward' = 0.3 at step 5`, `at step 5 'kl' is 0.1`."""

from __future__ import annotations

import re

from rltui.lazy_regex import lazy
from rltui.readers.console.forms import unchanged_alike
from rltui.readers.console.named_numbers import NUMBER
from rltui.readers.name_words import words

_QUOTED = lazy(r"(['\"])([A-Za-z_][\w/.@\-]*(?: [\w/.@\-]+){0,3})\1")
_TIED = lazy(rf"(?<![\w/.@\-])([A-Za-z_][\w/.@\-]*)(?:\s*(?:=|:|->)\s*| is | to )(?={NUMBER.pattern})")
_COUNT = lazy(
    r"\b((?:(?:global|train|training|optimizer)[_ ]?)?(?:step|iteration|iter|update|episode|round))\s*[=:#]?\s*"
    r"(\d{1,15}(?:\s?(?:/|of)\s?\d{1,15})?)(?![\w.])",
    re.IGNORECASE,
)
_CALL = lazy(r"^\W*(?:\w+\.)*(?:add|log|report|write)_(?:scalar|metric|value)s?\b", re.IGNORECASE)
"""A call that ends with the step: `add_scalar('reward', 0.3, 5)`."""
_LAST = lazy(r"[\s,]+(\d{1,15})\W*$")
_WORD = lazy(r"[^\W\d_]+")
LONGEST = 200


@unchanged_alike
def step_before_name(message: str) -> str:
    """Such a line as `step 5, reward: 0.3`; any other line unchanged. Besides the name, its number and the step it
    holds nothing but words for telling them."""
    if len(message) > LONGEST:
        return message
    quoted = _QUOTED.search(message)
    telling = words().telling
    first = _WORD.search(message)
    if quoted is None and (first is None or first[0].lower() not in telling) and " at " not in message:
        return message
    counts = _COUNT.findall(message)
    if len(counts) == 1:
        (word, count), rest = counts[0], _COUNT.sub(" ", message)
    elif not counts and (call := _CALL.match(message)) and (last := _LAST.search(message)):
        word, count, rest = "step", last[1], message[call.end() : last.start()]
    else:
        return message
    named = _QUOTED.search(rest) if quoted is not None else _TIED.search(rest)
    if named is None:
        return message
    name = named[2] if quoted is not None else named[1]
    rest = f"{rest[: named.start()]} {rest[named.end() :]}"
    numbers = NUMBER.findall(rest)
    said = {found.lower() for found in _WORD.findall(NUMBER.sub(" ", rest))}
    if len(numbers) != 1 or not said <= telling or (quoted is None and not said):
        return message
    return f"{word} {count}, {name}: {numbers[0]}"
