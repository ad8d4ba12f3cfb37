"""The cases of every rule, in a file by the name of its page in rltui/rules/pages: `CASES`, fault and near miss."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.unit.rules.given import Case

BY_GROUP: dict[str, tuple[Case, ...]] = {
    found.name: import_module(f"{__name__}.{found.name}").CASES for found in iter_modules(__path__)
}
CASES: tuple[Case, ...] = tuple(case for cases in BY_GROUP.values() for case in cases)
