"""Helpers for all records. Most are msgspec structs, which are ten times faster to make than dataclasses, both when a
module is imported and when it runs. The few dataclasses need more than msgspec offers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, overload

from msgspec import Struct

T = TypeVar("T")


class cached(Generic[T]):  # noqa: N801  written and read like `property`
    """A property that is computed when it is first read. Before Python 3.12, `functools.cached_property` takes a lock
    each time, which costs more than computing most of these values."""

    def __init__(self, ask: Callable[[Any], T]) -> None:
        self.ask, self.name, self.__doc__ = ask, ask.__name__, ask.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> cached[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached[T] | T:
        if instance is None:
            return self
        known: T = self.ask(instance)
        instance.__dict__[self.name] = known
        return known


def names(record: object) -> tuple[str, ...]:
    """The names of the fields of a record or of its class, in order. Empty if it is not a record."""
    if isinstance(record, Struct) or (isinstance(record, type) and issubclass(record, Struct)):
        return record.__struct_fields__
    return tuple(f.name for f in dataclasses.fields(record)) if dataclasses.is_dataclass(record) else ()


def is_record(value: object) -> bool:
    """Whether a value has named fields: a msgspec record or a dataclass instance, not a class."""
    return isinstance(value, Struct) or (dataclasses.is_dataclass(value) and not isinstance(value, type))


def as_dict(record: object) -> dict[str, Any]:
    """Name -> value for the fields of a record. Records in the fields also become dicts, at any depth."""
    return {name: _plain(getattr(record, name)) for name in names(record)}


def _plain(value: Any) -> Any:
    if is_record(value):
        return as_dict(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
