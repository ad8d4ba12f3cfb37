"""A copy of what a reader keeps, which can read on and leaves the original unchanged. It is made whenever a log that is
followed is quiet, so it has to be quick: `copy.deepcopy` takes several times as long."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from copy import copy, deepcopy
from types import FunctionType, MethodType, NoneType

from msgspec import Struct

_VALUES = frozenset((int, float, bool, str, bytes, NoneType, frozenset, FunctionType, range))
"""Never changed in place, and hold nothing that is."""


def twin(x: object, known: dict[int, object]) -> object:
    """The copy. Frozen records are shared. `known`: identity of an object -> its copy, for what has one already."""
    kind = type(x)
    if kind in _VALUES:
        return x
    if id(x) in known:
        return known[id(x)]
    made = _MAKERS.get(kind)
    if made is not None:
        return made(x, known)
    if isinstance(x, Struct):
        return _record(x, known)
    if kind.__module__.startswith("rltui.") and hasattr(x, "__dict__") and not isinstance(x, dict | tuple):
        other = known[id(x)] = object.__new__(kind)
        vars(other).update((name, twin(held, known)) for name, held in vars(x).items())
        return other
    return deepcopy(x, known)


def _record(x: Struct, known: dict[int, object]) -> object:
    if x.__struct_config__.frozen:
        return x
    other = known[id(x)] = copy(x)
    for name in x.__struct_fields__:
        held = getattr(x, name)
        if type(held) not in _VALUES:
            setattr(other, name, twin(held, known))
    return other


def _list(x: list[object], known: dict[int, object]) -> object:
    other = known[id(x)] = x.copy()
    if not _VALUES.issuperset(map(type, other)):
        other[:] = [twin(one, known) for one in x]
    return other


def _dict(x: dict[object, object], known: dict[int, object]) -> object:
    other = known[id(x)] = x.copy()
    if not _VALUES.issuperset(map(type, other.values())):
        other.update((key, twin(held, known)) for key, held in x.items())
    return other


def _tuple(x: tuple[object, ...], known: dict[int, object]) -> object:
    return x if _VALUES.issuperset(map(type, x)) else tuple(twin(one, known) for one in x)


def _deque(x: deque[object], known: dict[int, object]) -> object:
    other = known[id(x)] = deque((twin(one, known) for one in x), x.maxlen)
    return other


def _flat(x: set[object] | Counter[object], known: dict[int, object]) -> object:
    other = known[id(x)] = x.copy()
    return other


def _method(x: MethodType, known: dict[int, object]) -> object:
    return MethodType(x.__func__, twin(x.__self__, known))


_MAKERS: dict[type, Callable[..., object]] = {
    list: _list,
    dict: _dict,
    tuple: _tuple,
    deque: _deque,
    set: _flat,
    Counter: _flat,
    MethodType: _method,
}
