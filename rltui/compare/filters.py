"""Selects the runs to compare: the newest, by state, by id or tag, by config values."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct, field

from rltui.compare.configs import as_text
from rltui.compare.read import ComparedRun

_EXPRESSION = re.compile(r"\s*([^<>=!~\s]+)\s*(<=|>=|!=|==|=|<|>|~)\s*(.+?)\s*")
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class BadFilter(ValueError):  # noqa: N818
    """A filter that cannot be parsed. The message shows how to write one."""


class Filters(Struct, frozen=True):
    """A run must pass all filters that are given. `ids` and `tags`: one of them must match, with * and ? as in a shell.
    `latest` is applied last."""

    latest: int | None = None
    state: str | None = None  # None or "any": all
    ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    where: tuple[str, ...] = field(default=())


def chosen(runs: Sequence[ComparedRun], filters: Filters) -> list[ComparedRun]:
    """The runs that pass, in their order. Raises `BadFilter`."""
    tests = [_expression(text) for text in filters.where]
    kept = [
        run
        for run in runs
        if filters.state in (None, "any", run.state)
        and (not filters.ids or any(fnmatchcase(name, p) for name in (run.id, run.path) for p in filters.ids))
        and (not filters.tags or any(fnmatchcase(word, p) for word in run.words for p in filters.tags))
        and all(test(run) for test in tests)
    ]
    if filters.latest is not None:
        newest = sorted(kept, key=lambda r: (r.updated, r.id), reverse=True)[: filters.latest]
        kept = [run for run in kept if run in newest]
    return kept


def _expression(text: str) -> Callable[[ComparedRun], bool]:
    """The test for `lr>=1e-6`, `adv_estimator=grpo`, `model~*7b*`: a canonical or raw key, a comparison, a value. A run
    without the key passes only `!=`. Raises `BadFilter`."""
    match = _EXPRESSION.fullmatch(text)
    if match is None:
        raise BadFilter(f"{text}: use KEY, a comparison (= != < <= > >= ~) and a value, as in lr>=1e-6")
    key, sign, wanted = match.groups()
    if sign in _ORDER and _number(wanted) is None:
        raise BadFilter(f"{text}: {sign} needs a number")

    def holds(run: ComparedRun) -> bool:
        value = run.settings.get(key, run.raw_config.get(key))
        if value is None:
            return sign == "!="
        if sign == "~":
            return fnmatchcase(as_text(value).lower(), wanted.lower())
        if sign in _ORDER:
            left, right = _number(value), _number(wanted)
            return left is not None and right is not None and _ORDER[sign](left, right)
        number = _number(wanted)
        equal = as_text(value).lower() == (as_text(number) if number is not None else wanted.lower())
        return equal != (sign == "!=")

    return holds


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(str(value))
    except ValueError:
        return None
