"""The numbers of a dict in a line, by name."""

from __future__ import annotations

import json

from rltui.lazy_regex import lazy
from rltui.readers.keys import names
from rltui.readers.literals import NO_VALUE, literal
from rltui.readers.name_words import has_word, words
from rltui.readers.number_text import NUMBER, unwrapped, value

_CELL = lazy(rf"['\"]([^'\"]{{1,300}})['\"]: ?['\"]?(?:\[({NUMBER})\]|({NUMBER}))['\"]?(?=[,}}\s]|$)")


_NAN = lazy(r"(?<![\w'\"])(?:nan|-?inf)(?![\w'\"])")


def dict_cells(text: str) -> dict[str, float]:
    """Key -> number; other values are left out. If keys of inner dicts occur twice, the outer keys are put before them:
    `rewards/mean`, `lengths/mean`. So are outer keys that name a time or an evaluation."""
    if text.count("{") > 1 and (nested := _parsed(text[text.find("{") :])) is not None:
        return nested
    return {key: value(listed or text) for key, listed, text in _CELL.findall(unwrapped(text))}


def _parsed(text: str) -> dict[str, float] | None:
    """The numbers of a dict that holds other dicts; None if it cannot be parsed."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = literal(_NAN.sub("None", unwrapped(text)))
        except NO_VALUE:
            return None
    if not isinstance(found, dict):
        return None
    cells: dict[str, float] = {}
    stack: list[tuple[str, object]] = [(str(key), member) for key, member in reversed(found.items())]
    while stack:
        key, member = stack.pop()
        if isinstance(member, dict):
            stack += [(f"{key}\0{name}", inner) for name, inner in reversed(member.items())]
        elif isinstance(member, int | float) and not isinstance(member, bool):
            cells[key] = float(member)
    own = list(map(_own, cells))
    unique = len(set(own)) == len(own)
    return dict(zip(own if unique else (key.replace("\0", "/") for key in cells), cells.values(), strict=True))


def _own(path: str) -> str:
    """The name of a number without the keys of outer dicts. Keys of times and evaluations stay: `gen` in `timing` is a
    duration, and `accuracy` in `eval` is not that of training. A plain statistic (`mean`) keeps the last outer key."""
    *above, name = path.split("\0")
    telling = words().timings | words().evaluation
    first = next((i for i, part in enumerate(above) if has_word(part, telling)), None)
    if first is None and above and name.lower() in words().statistics:
        return f"{above[-1]}/{name}"
    return name if first is None or name in names("step") else "/".join([*above[first:], name])
