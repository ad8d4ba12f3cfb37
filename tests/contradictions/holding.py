"""The assertion of the engine's tests."""

from __future__ import annotations

import pytest

from tests.contradictions.engine import contradictions
from tests.contradictions.open_classes import OPEN
from tests.contradictions.surfaces import Said


def hold(said: Said) -> None:
    """Fails if what is said of the run contradicts itself."""
    found = contradictions(said)
    if settled := [str(one) for one in found if one.rule not in OPEN]:
        pytest.fail("\n".join(settled), pytrace=False)
    if found:
        entries = sorted({OPEN[one.rule] for one in found})
        pytest.xfail(f"audit {', '.join(entries)}: " + "; ".join(map(str, found[:3])))
