"""Labelled runs as test cases; what is known to go wrong on one is an expected failure (known_gaps.toml)."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from typing import Any

import pytest

from tests.conftest import REPO, labelled_runs


@cache
def known_gaps(what: str) -> dict[str, str]:
    """Path below the labelled runs -> why that goes wrong there. `what`: a table of known_gaps.toml."""
    tables = tomllib.loads((REPO / "tests" / "known_gaps.toml").read_text(encoding="utf-8"))
    found: dict[str, str] = tables[what]
    return found


@cache
def labels() -> tuple[dict[str, Any], ...]:
    """The labels of the runs that are there; none where this checkout has none."""
    root = labelled_runs()
    if root is None:
        return ()
    lines = (root / "LABELS.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(label for label in map(json.loads, lines) if (root / label["path"]).exists())


def cases(what: str, *without: str) -> list[Any]:
    """A test case for each label, except of paths `without`. A known gap has to fail: once it passes, that is told."""
    gaps = known_gaps(what)
    return [
        pytest.param(
            label,
            id=label["path"],
            marks=[pytest.mark.xfail(strict=True, reason=gaps[label["path"]])] if label["path"] in gaps else [],
        )
        for label in labels()
        if label["path"] not in without
    ]
