"""Numbers of a dict that a line shows, by name."""

from __future__ import annotations

import json

from rltui.lazy_regex import lazy
from rltui.readers.console.name_words import has_word, words
from rltui.readers.keys import names
from rltui.readers.literals import NO_VALUE, literal
from rltui.readers.number_text import NUMBER, unwrapped, value

_CELL = lazy(rf"['\"]([^'\"]{{1,300}})['\"]: ?['\"]?(?:\[({NUMBER})\]|({NUMBER}))['\"]?(?=[,}}\s]|$)")


_NAN = lazy(r"(?<![\w'\"])(?:nan|-?inf)(?![\w'\"])")


def dict_cells(text: str) -> dict[str, float]:
    """Key to number; what is no number is left out. Where keys of objects within come twice, those around them stand
    before them: `rewards/mean`, `lengths/mean`. So do those that say of what their numbers are."""
    if text.count("{") > 1 and (nested := _parsed(text[text.find("{") :])) is not None:
        return nested
    return {key: value(listed or text) for key, listed, text in _CELL.findall(unwrapped(text))}


def _parsed(text: str) -> dict[str, float] | None:
    """The numbers of a dict that holds others; None if it cannot be parsed."""
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
    """The name of a number without the objects that it stands in, but for those of times and of evaluations: `gen` of
    `timing` is how long that took, and `accuracy` of `eval` none of training. A bare statistic is of the last one."""
    *above, name = path.split("\0")
    telling = words().timings | words().evaluation
    first = next((i for i, part in enumerate(above) if has_word(part, telling)), None)
    if first is None and above and name.lower() in words().statistics:
        return f"{above[-1]}/{name}"
    return name if first is None or name in names("step") else "/".join([*above[first:], name])
