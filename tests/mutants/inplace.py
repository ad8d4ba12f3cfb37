"""Another text of a module or a data file, in a process that has loaded it: its functions get other code, its constants
other values. That costs a hundredth of a process of its own."""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rltui.data_files import READERS
from rltui.rules.base import REGISTERED
from tests.conftest import REPO

Function = types.FunctionType
Edit = tuple[Callable[[], None], Callable[[], None]]
"""Make it and take it back."""


def functions(holder: object, seen: set[int] | None = None) -> Iterator[tuple[str, Function]]:
    """Functions of a module or a class and those within their decorators, by a name that a second copy of the module
    has too."""
    seen = set() if seen is None else seen
    for name, value in list(vars(holder).items()):
        yield from _within(name, value, getattr(holder, "__name__", ""), seen)


def _within(name: str, value: Any, module: str, seen: set[int]) -> Iterator[tuple[str, Function]]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Function):
        yield name, value
        for number, cell in enumerate(value.__closure__ or ()):
            yield from _within(f"{name}>{number}", cell.cell_contents, module, seen)
    elif isinstance(value, type) and value.__module__ == module:
        for inner, member in list(vars(value).items()):
            yield from _within(f"{name}.{inner}", member, module, seen)
    for inside in ("__wrapped__", "func", "fget", "__func__"):
        made = None if isinstance(value, type) else getattr(value, inside, None)
        if isinstance(made, Function):
            yield from _within(f"{name}/{inside}", made, module, seen)


def edits(path: str, text: str) -> tuple[list[Edit], set[types.CodeType]]:
    """What another text of a module changes in it, and the code of the functions that are changed or use what is.
    Raises whatever importing it raises."""
    name = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    module = importlib.import_module(name)
    made = types.ModuleType(name)
    made.__dict__.update({"__package__": module.__package__, "__file__": module.__file__})
    registered, readers = list(REGISTERED), list(READERS)
    try:
        exec(compile(text, str(module.__file__), "exec"), made.__dict__)
    finally:
        REGISTERED[:], READERS[:] = registered, readers
    out: list[Edit] = []
    used: set[types.CodeType] = set()
    theirs = dict(functions(made))
    for where, own in functions(module):
        if own.__module__ == name and where in theirs and own.__code__ != theirs[where].__code__:
            out.append(_code(own, theirs[where].__code__))
            used.add(own.__code__)
        if (
            own.__module__ == name
            and where in theirs
            and _plain(own.__defaults__) != _plain(theirs[where].__defaults__)
        ):
            out.append(_value(own, "__defaults__", theirs[where].__defaults__))
            used.add(own.__code__)
    changed = {
        constant
        for constant, value in vars(module).items()
        if constant.strip("_").isupper() and constant in vars(made) and _plain(value) != _plain(vars(made)[constant])
    }
    for constant in changed:
        value = getattr(module, constant)
        holders = [module, *(m for m in list(sys.modules.values()) if constant in _imported(m).get(name, ()))]
        out += [_value(holder, constant, getattr(made, constant)) for holder in holders]
        for function in (f for holder in holders for _, f in functions(holder)):
            if any(default is value for default in function.__defaults__ or ()):
                usual = tuple(getattr(made, constant) if d is value else d for d in function.__defaults__ or ())
                out.append(_value(function, "__defaults__", usual))
                used.add(function.__code__)
        used |= {f.__code__ for holder in holders for _, f in functions(holder) if constant in _names(f.__code__)}
    return out, used


@functools.cache
def _imported(module: types.ModuleType) -> dict[str, set[str]]:
    """Module of the package -> names that this module of it takes from there while it is imported."""
    path = getattr(module, "__file__", None)
    if not module.__name__.startswith("rltui.") or path is None:
        return {}
    out: dict[str, set[str]] = {}
    for node in ast.parse(Path(path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            out.setdefault(node.module, set()).update(alias.name for alias in node.names if alias.asname is None)
    return out


def _plain(value: object) -> object:
    return repr(value)


def _names(code: types.CodeType) -> set[str]:
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return {*code.co_names, *(name for one in inner for name in _names(one))}


def _code(function: Function, code: types.CodeType) -> Edit:
    before = function.__code__
    return lambda: setattr(function, "__code__", code), lambda: setattr(function, "__code__", before)


def _value(module: object, name: str, value: object) -> Edit:
    before = getattr(module, name)
    return lambda: setattr(module, name, value), lambda: setattr(module, name, before)


@contextmanager
def changed(made: list[Edit]) -> Iterator[None]:
    """While it lasts nothing kept from before or after is used."""
    try:
        for make, _ in made:
            make()
        _forget()
        yield
    finally:
        for _, back in made:
            back()
        _forget()


def take(path: str, text: str) -> None:
    """Another text of a file of the package, for good: for a process that is forked for it. What was made of a data
    file while modules were imported stays as it was."""
    if path.endswith(".py"):
        for make, _ in edits(path, text)[0]:
            make()
    else:
        file, usual = REPO / path, Path.read_bytes
        usual_text = Path.read_text

        def read_bytes(asked: Path) -> bytes:
            return text.encode() if asked == file else usual(asked)

        def read_text(asked: Path, *how: Any, **more: Any) -> str:
            return text if asked == file else usual_text(asked, *how, **more)

        Path.read_bytes, Path.read_text = read_bytes, read_text  # type: ignore[method-assign]
    _forget("rltui")


_CACHES: list[Any] = []


def _forget(within: str = "rltui.evidence rltui.diagnosis") -> None:
    """Empties the caches of these packages."""
    if not _CACHES:
        kind = type(functools.lru_cache(lambda: None))
        found = (one for one in gc.get_objects() if isinstance(one, kind))
        _CACHES.extend(c for c in found if str(getattr(c, "__module__", "")).startswith(tuple(within.split())))
    for cache in _CACHES:
        if within == "rltui" or cache not in READERS:
            cache.cache_clear()
