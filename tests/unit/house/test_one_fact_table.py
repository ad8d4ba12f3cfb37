"""Directions, bests, levels and noise are worked out below `rltui/evidence` and nowhere above it (AUDIT V6, V7)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.conftest import REPO

PACKAGE = REPO / "rltui"
ABOVE = ("diagnosis", "session", "compare", "report", "events", "watch", "tui", "cli")
MEASURED = frozenset(
    {
        *("argmax", "argmin", "nanargmax", "nanargmin", "mean", "nanmean", "average", "fmean", "median", "nanmedian"),
        *("quantile", "nanquantile", "percentile", "std", "nanstd", "var", "stdev", "pstdev", "polyfit", "corrcoef"),
        *("theil_sen", "trend", "mann_kendall_p", "onset", "turn", "block_levels", "running_medians", "sd_d", "sd_m"),
        *("smooth", "standard_error", "flat", "noise", "carry", "window_rows", "linear_regression", "correlation"),
    }
)
"""Calls that make a direction, a level, a best or a noise of values."""

EXCEPTIONS = {
    "diagnosis/constants.py": "which values the constants of loss and advantage take: no course of a metric",
    "diagnosis/insight.py": "what moved around one moment that the reader asks about, which no look has as a fact",
    "diagnosis/life.py": "dates the turn of a finding's own metric within the rows since it was noticed",
    "diagnosis/tail.py": "of runs of which only the ends are read, without numpy: never a verdict",
    "diagnosis/worth.py": "the slope that is carried on to the planned end, with its interval: a forecast, not a fact",
    "compare/build.py": "the middle one of several runs' bests",
    "compare/configurations.py": "means over runs of one configuration, and the usual number of steps",
    "compare/fair.py": "shares of the way inside and outside the band of other runs",
    "compare/signals.py": "means over several runs' bests, rank correlation over runs",
    "events/digest.py": "power of the machine, and gaps between the times of rows",
    "report/summaries.py": "the three windows of every column, named or not: those of the facts",
    "tui/charts.py": "drawing: smoothing that the user asks for",
}
"""Modules that may, and why. One that no longer does so is to be taken off."""


def modules(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def measured(tree: ast.Module) -> set[str]:
    """Names of `MEASURED` that the module calls as a function or as a method of an array, or that it imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            on = getattr(getattr(node.func, "value", None), "id", "")
            found |= {name} & MEASURED if on not in ("look", "facts") else set()
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rltui.evidence"):
            found |= {alias.name for alias in node.names} & MEASURED
    return found


@pytest.fixture(scope="module")
def above() -> dict[str, set[str]]:
    return {name: found for name, tree in modules(*ABOVE) if (found := measured(tree))}


def test_no_second_computation_above_the_facts(above: dict[str, set[str]]) -> None:
    assert {name: sorted(found) for name, found in above.items() if name not in EXCEPTIONS} == {}


def test_every_exception_is_still_one(above: dict[str, set[str]]) -> None:
    assert sorted(set(EXCEPTIONS) - set(above)) == []


def test_rules_ask_for_traits_of_what_is_open_beside_them() -> None:
    """Levels of open findings by id: only in the two questions of `rules/base.py`."""
    named = [
        f"{name}:{node.lineno}"
        for name, tree in modules("rules")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "open" and getattr(node.value, "id", "") == "look"
        if name != "rules/base.py"
    ]
    assert named == []


def test_a_rule_asks_only_whether_it_is_open_itself() -> None:
    wrong = []
    for name, tree in modules("rules"):
        for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            own = {
                call.args[0].value
                for call in function.decorator_list
                if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Constant)
            }
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                if getattr(call.func, "id", "") == "held" and isinstance(call.args[1], ast.Constant):
                    asked = call.args[1].value
                    wrong += [f"{name}:{call.lineno}: {asked}"] if own and asked not in own else []
    assert wrong == []
